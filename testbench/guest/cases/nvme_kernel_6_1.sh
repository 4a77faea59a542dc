# name: Debian 12's kernel, 6.1, uses a drive, resets it and changes its queues while it writes
# run: on demand
# kernel: 6.1
# platform: platform/configs/nvme.toml
# machines: A
# set: timed=false
# commands: no
# timeout: 300
. /hcasim/inside/nvme_kernel_case.sh
