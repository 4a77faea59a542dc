# name: the tests of rdma-core's pyverbs pass, but for capabilities that we say we do not have
# run: by hand
# memory: 3G
# timeout: 1500
# judge: pyverbs_table.py
set -o pipefail
suite() { python3 -u -W ignore /hcasim/inside/suite.py /extra/pyverbs.json | tee /extra/pyverbs.log; }
bring_up_with_huge_pages() {
    echo 64 >/proc/sys/vm/nr_hugepages
    bring_up
}
part "the drivers come up" bring_up_with_huge_pages
part "the tests run" suite
part "the drivers go" unload_drivers
part "nothing is left" nothing_is_held
