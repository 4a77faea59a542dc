# name: the backports' kernel, 7.2, probes, talks and unloads
# kernel: 7.2
. /hcasim/inside/kernel_case.sh
