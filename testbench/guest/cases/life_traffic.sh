# name: programs are killed and drivers taken away in mid-traffic, and nothing is left behind
# run: on demand
# timeout: 300
traffic() { # starts an endless transfer in both directions; 0 when it moves
    local device sent
    ib_write_bw -F -d mlx5_1 -s 65536 -q 4 -b --run_infinitely >/tmp/server 2>&1 &
    wait_until 20 grep -q ':4853 00000000:0000 0A' /proc/net/tcp /proc/net/tcp6 || return
    ib_write_bw -F -d mlx5_0 -s 65536 -q 4 -b --run_infinitely localhost >/tmp/client 2>&1 &
    sent=$(cat /sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data)
    wait_until 20 eval \
        '[ "$(cat /sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data)" -gt $(('"$sent"' + 1000000)) ]' ||
        fail "nothing moves: $(cat /tmp/client /tmp/server)"
}
ends() { # the programs of the traffic
    wait_until 20 eval '! pgrep ib_write_bw' && return
    pkill -9 ib_write_bw
    fail "they go on"
}
kill_programs() { pkill -9 ib_write_bw; ends; }
unbind() {
    local card
    card=$(cards | head -n 1)
    echo "$card" >/sys/bus/pci/drivers/mlx5_core/unbind || return
    pkill -9 ib_write_bw
    ends
    echo "$card" >/sys/bus/pci/drivers/mlx5_core/bind && wait_until 60 all_active
}
unload() {
    unload_drivers || return
    pkill -9 ib_write_bw
    ends
}

part "the drivers come up" bring_up
part "traffic" traffic
part "programs are killed" kill_programs
part "pingpong" pingpong rc -c
part "traffic again" traffic
part "a card is unbound under it, and bound" unbind
part "pingpong again" pingpong rc -c
part "traffic, third time" traffic
part "the drivers go under it" unload
part "nothing is left" nothing_is_held
part "the drivers come again" bring_up
part "pingpong, third time" pingpong rc -c
