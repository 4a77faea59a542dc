# name: the tests of rdma-core's pyverbs pass, but for capabilities that we say we do not have
# run: on demand
# memory: 3G
# timeout: 1500
# judge: pyverbs_table.py
set -o pipefail
suite() { python3 -u -W ignore /hcasim/inside/suite.py /extra/pyverbs.json | tee /extra/pyverbs.log; }
bring_up_with_huge_pages() {
    echo 64 >/proc/sys/vm/nr_hugepages
    bring_up
}
# The tests of the connection manager want an address: IPoIB, and for that a subnet manager.
network() {
    modprobe ib_ipoib || return
    opensm -g 0x0002c90300000001 -B -f /tmp/opensm.log
    wait_until 30 sminfo -C mlx5_0 || return
    ip addr add 10.9.0.1/24 dev ib0 && ip link set ib0 up || return
    wait_until 20 eval 'ip link show ib0 | grep -q LOWER_UP'
}
quit() {
    pkill opensm
    sleep 0.5
    unload_drivers
}
part "the drivers come up" bring_up_with_huge_pages
part "IPoIB comes up" network
part "the tests run" suite
part "the drivers go" quit
part "nothing is left" nothing_is_held
