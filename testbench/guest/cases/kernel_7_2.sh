# name: the backports' kernel, 7.2, probes, talks and unloads
# run: on demand
# kernel: 7.2
. /hcasim/inside/kernel_case.sh
