# name: the backports' kernel, 7.2, uses a drive, resets it and changes its queues while it writes
# run: on demand
# kernel: 7.2
# platform: platform/configs/nvme.toml
# machines: A
# set: timed=false
# commands: no
# timeout: 300
. /hcasim/inside/nvme_kernel_case.sh
