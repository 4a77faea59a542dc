# name: opensm brings up two cards and a switch; the tools, pingpongs and IPoIB run over them
# platform: platform/configs/fabric.toml
# timeout: 420
# capture: yes
manager=0x0002c90300000001
load_without_manager() {
    modprobe -a "${drivers[@]}" ib_ipoib || return
    wait_until 30 eval '[ "$(rdma_devices | wc -l)" = 2 ]' || fail "the cards do not appear" || return
    wait_until 10 eval 'grep -q INIT /sys/class/infiniband/mlx5_0/ports/1/state' ||
        fail "a port that nobody manages is $(cat /sys/class/infiniband/*/ports/1/state)"
}
manage() {
    opensm -g $manager -B -f /tmp/opensm.log
    wait_until 60 all_active || {
        cat /tmp/opensm.log
        return 1
    }
    ! grep -E "ERR [0-9A-F]{4}" /tmp/opensm.log
}
discover() {
    ibnetdiscover -C mlx5_0 >/tmp/topology 2>/tmp/complaints
    cat /tmp/topology /tmp/complaints
    [ ! -s /tmp/complaints ] && [ "$(grep -c ^Ca /tmp/topology)" = 2 ] &&
        grep -q '^Switch.8 .*hcasim switch' /tmp/topology
}
records() { [ "$(saquery -C mlx5_0 | tee /dev/fd/2 | grep -c 'NodeRecord dump')" = 3 ]; }
lid_of() { printf '%d' "$(cat "/sys/class/infiniband/$1/ports/1/lid")"; }
ping_by_datagrams() {
    ibping -S -C mlx5_0 &
    local server=$! status=0
    sleep 0.5
    ibping -c 5 -C mlx5_1 -L "$(lid_of mlx5_0)" || status=$?
    kill $server
    return $status
}
# What the switch counts at the ports of two cards; its port 0 has no link.
counters_of_the_switch() {
    local guid lid before after
    guid=$(sed -n 's/^switchguid=\(0x[0-9a-f]*\).*/\1/p' /tmp/topology)
    perfquery -C mlx5_0 -G "$guid" 1 | tee /dev/stderr | grep -q 'PortRcvPkts:\.*[1-9]' || return
    perfquery -C mlx5_0 -x -G "$guid" 2 | tee /dev/stderr | grep -q 'PortXmitPkts:\.*[1-9]' || return
    perfquery -C mlx5_0 -a -G "$guid" | grep -q 'PortSelect:\.*255' || return
    perfquery -C mlx5_0 -R -G "$guid" 2 || return # back to zero
    after=$(perfquery -C mlx5_0 -G "$guid" 2 | sed -n 's/^PortXmitPkts:\.*//p')
    [ "$after" -lt 20 ] || fail "$after packets after the counters were set back"
}
no_errors_counted() {
    ibqueryerrors -C mlx5_0 >/tmp/errors 2>&1 || true
    cat /tmp/errors
    grep -q '3 nodes checked, 0 bad nodes found' /tmp/errors
}
# The same packets, as the drivers tell them, and at the speed that the tools tell too.
counters_of_the_cards() {
    local counters=/sys/class/infiniband/mlx5_1/ports/1/counters
    grep . $counters/*
    [ "$(cat $counters/port_rcv_packets)" -gt 0 ] && [ "$(cat $counters/port_xmit_data)" -gt 0 ] &&
        [ "$(cat $counters/port_rcv_errors)" = 0 ] || return
    grep -q '^100 Gb/sec (4X EDR)$' /sys/class/infiniband/mlx5_1/ports/1/rate ||
        fail "$(cat /sys/class/infiniband/mlx5_1/ports/1/rate)" || return
    iblinkinfo -C mlx5_0 | tee /dev/stderr | grep -q '4X *25.78125 Gbps Active/ *LinkUp'
}
# A card whose driver has gone is a node of the subnet all the same: its own agents answer.
without_a_driver() {
    local card
    card=$(basename "$(readlink -f /sys/class/infiniband/mlx5_1/device)")
    echo "$card" >/sys/bus/pci/drivers/mlx5_core/unbind || return
    discover || return
    echo "$card" >/sys/bus/pci/drivers/mlx5_core/bind && wait_until 30 eval '[ "$(rdma_devices | wc -l)" = 2 ]'
}
# The far end of a card's cable, a port of the switch, is disabled: the card's own link goes, and comes back with the
# far end.
a_port_is_disabled() {
    local guid state=/sys/class/infiniband/mlx5_1/ports/1/state
    guid=$(sed -n 's/^switchguid=\(0x[0-9a-f]*\).*/\1/p' /tmp/topology)
    ibportstate -C mlx5_0 -G "$guid" 2 disable || return
    wait_until 10 grep -q DOWN $state || fail "the card's port is $(cat $state)" || return
    ibportstate -C mlx5_0 -G "$guid" 2 query | tee /dev/stderr | grep -q 'PhysLinkState:\.*Disabled' || return
    grep -q ACTIVE /sys/class/infiniband/mlx5_0/ports/1/state || fail "the other card's port is not active" || return
    ibportstate -C mlx5_0 -G "$guid" 2 enable || return
    wait_until 10 eval "! grep -q DOWN $state" || fail "the card's port stays down"
}
# The two ports are one machine's: a name space of its own for one of them keeps the kernel from the short way.
network() {
    ip netns add far && ip link set ib1 netns far || return
    ip -n far addr add 10.9.0.2/24 dev ib1 && ip -n far link set ib1 up || return
    ip addr add 10.9.0.1/24 dev ib0 && ip link set ib0 up || return
    wait_until 20 eval 'ip link show ib0 | grep -q LOWER_UP && ip -n far link show ib1 | grep -q LOWER_UP'
}
bulk() {
    head -c 8M /dev/urandom >/tmp/sent
    iperf3 -s -1 -F /tmp/received >/tmp/server 2>&1 &
    wait_until 10 eval 'grep -q ":1451 .* 0A" /proc/net/tcp /proc/net/tcp6' || return # port 5201, listening
    ip netns exec far iperf3 -c 10.9.0.1 -n 8M -F /tmp/sent || return
    wait
    cmp /tmp/sent /tmp/received
}
quit() {
    pkill opensm
    ip netns del far
    sleep 0.5
    unload_drivers
}
part "the drivers come up, and wait for a subnet manager" load_without_manager
part "opensm makes the ports active" manage
part "ibnetdiscover finds two cards and a switch" discover
part "saquery knows three nodes" records
part "sminfo" sminfo -C mlx5_0
part "perfquery asks the switch" counters_of_the_switch
part "ibqueryerrors finds none" no_errors_counted
part "the cards count, and run at EDR" counters_of_the_cards
part "a card without a driver answers" without_a_driver
part "it becomes active again" wait_until 60 all_active
part "ibportstate disables a port of the switch, and enables it" a_port_is_disabled
part "opensm makes it active again" wait_until 60 all_active
part "ibping" ping_by_datagrams
for kind in rc ud; do part "$kind over the switch" pingpong $kind -c; done
part "IPoIB comes up" network
part "ping" ip netns exec far ping -c 3 -W 5 10.9.0.1
part "eight megabytes over TCP, byte by byte" bulk
part "the drivers go" quit
part "nothing is left" nothing_is_held
