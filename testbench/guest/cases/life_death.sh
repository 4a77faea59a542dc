# name: a guest that dies in mid-traffic leaves nothing, and the next one finds the cards as new
# run: on demand
# lives: 2
# timeout: 180
flood() {
    ib_write_bw -F -d mlx5_1 -s 65536 -q 4 --run_infinitely >/dev/null 2>&1 &
    wait_until 20 grep -q ':4853 00000000:0000 0A' /proc/net/tcp /proc/net/tcp6 || return
    ib_write_bw -F -d mlx5_0 -s 65536 -q 4 --run_infinitely localhost >/dev/null 2>&1 &
    sleep 2
    pgrep -c ib_write_bw
}
if [ "$LIFE" = 1 ]; then
    part "the drivers come up" bring_up
    part "traffic" flood
    [ ${#failed[@]} = 0 ] && die
else
    part "nothing is left" nothing_is_held
    part "the drivers come up" bring_up
    part "pingpong" pingpong rc -c
fi
