# name: Debian 13's kernel, 6.12, probes, talks and unloads
# kernel: 6.12
. /hcasim/inside/kernel_case.sh
