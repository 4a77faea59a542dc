# Sourced by cases with two guests: what one of them serves and the other calls, by the network beside the cards
# (ADDRESS, PEER) or over the cards themselves.

counters=/sys/class/infiniband/mlx5_0/ports/1/counters

# Bytes that have gone over the cable, both ways.
cable_bytes() { echo $((4 * ($(cat $counters/port_xmit_data) + $(cat $counters/port_rcv_data)))); }

# over_the_cable BYTES COMMAND...: the command, which has to move at least so many bytes over the cable and not by
# another way.
over_the_cable() {
    local wanted=$1 before moved
    shift
    before=$(cable_bytes)
    "$@" || return
    moved=$(($(cable_bytes) - before))
    [ $moved -ge "$wanted" ] || fail "only $moved bytes went over the cable, $wanted were to" || return
    remark "$moved bytes over the cable"
}

is_listening() { grep -q "$(printf ':%04X 0*:0000 0A' "$1")" /proc/net/tcp /proc/net/tcp6; }

# across PORT SERVER CLIENT: commands; the second runs in guest B when the first one listens in guest A. Both have to
# end with 0. A number each pair of calls keeps them together.
calls=0
across() {
    local server
    if [ "$MACHINE" = A ]; then
        timeout 300 bash -c "$2" &
        server=$!
        wait_until 120 is_listening "$1" || fail "it does not listen" || return
        barrier "call.$calls" 300 || return
        wait $server
    else
        barrier "call.$calls" 300 && timeout 300 bash -c "$3"
    fi
}
# call PORT NAME ...: a part of a case that is an `across`; parts run in shells of their own, which could not count.
call() {
    local port=$1 name=$2
    shift 2
    calls=$((calls + 1))
    part "$name" across "$port" "$@"
}

# IPoIB between the cards, 10.9.0.1 in guest A and 10.9.0.2 in B; the connection manager of RDMA goes by these
# addresses. The subnet manager has to be there first. Ports of a plain cable are active without one and name LID 1 as
# its place. The kernel there has no agent for a request to join a group and answers with status 0x000c, unsupported; of
# any such answer IPoIB says "multicast join failed", -22. With a manager no join fails: that message is not among the
# known ones. A case of several rounds counts them in `round`.
network_over_the_cards() {
    local own=10.9.0.1 peer=10.9.0.2
    if [ "$MACHINE" = A ]; then
        opensm -B -f /tmp/opensm.log || return
    else
        own=10.9.0.2 peer=10.9.0.1
    fi
    modprobe ib_ipoib || return
    wait_until 60 [ -e /sys/class/net/ib0 ] && wait_until 60 sminfo -C mlx5_0 || return
    ip addr add $own/24 dev ib0 && ip link set ib0 up || return
    wait_until 60 eval 'ip link show ib0 | grep -q LOWER_UP' || fail "$(ip link show ib0)" || return
    barrier "network.${round:-}" 300 && wait_until 60 ping -q -c 1 -W 2 $peer
}
# The simulator counts what all cards hold: it is asked once, when both drivers have gone.
both_are_gone() {
    barrier gone 300
    [ "$MACHINE" = B ] || part "nothing is left" nothing_is_held
}
leave_the_network() {
    barrier "leaving.${round:-}" 300
    pkill opensm
    sleep 0.5
    unload_drivers
}

# Commands of guest A in guest B and back, as a launcher of parallel programs wants them.
secure_shells() {
    mkdir -p /root/.ssh /run/sshd /var/empty || return
    printf '10.0.0.1 guest-A\n10.0.0.2 guest-B\n' >>/etc/hosts
    grep -q ^sshd: /etc/passwd || echo 'sshd:x:100:65534::/run/sshd:/usr/sbin/nologin' >>/etc/passwd
    if [ "$MACHINE" = A ]; then
        ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519 &&
            cp /root/.ssh/id_ed25519 /root/.ssh/id_ed25519.pub /shared/ || return
        barrier keys 300 || return
    else
        barrier keys 300 && cp /shared/id_ed25519 /shared/id_ed25519.pub /root/.ssh/ || return
    fi
    chmod 600 /root/.ssh/id_ed25519 && cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys || return
    printf 'Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n' >/root/.ssh/config
    ssh-keygen -q -t ed25519 -N '' -f /tmp/host_key || return
    printf 'HostKey /tmp/host_key\nPermitRootLogin yes\nStrictModes no\nUsePAM no\nMaxStartups 100\n' >/tmp/sshd_config
    /usr/sbin/sshd -f /tmp/sshd_config && barrier shells 300 || return
    [ "$(ssh "$PEER" hostname)" = "guest-$(tr AB BA <<<"$MACHINE")" ]
}
