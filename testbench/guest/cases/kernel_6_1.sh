# name: Debian 12's kernel, 6.1, probes, talks and unloads
# run: on demand
# kernel: 6.1
. /hcasim/inside/kernel_case.sh
