# name: with polled doorbells a program's doorbells are stores to memory, and all that it sends arrives
# set: A.hca.polled_doorbells=true
# memory: 2G
# run: on demand
# timeout: 300

# One card is polled and the other is not, so that both ways are there in one run: FROM says who rings.
# WHICH (found or stores): how many doorbells of the polled card came that way so far.
doorbells() {
    local line
    line=$(holdings | grep '^hostA.hca doorbells: ') || return
    case $1 in
        found) awk '{ print $3 }' <<<"$line" ;;
        stores) awk '{ print $7 }' <<<"$line" ;;
    esac
}

# A message has a doorbell. What else is stored is the kernel's: event queues, and work requests that change keys.
messages=$((8 * 10000))
small_messages() { perf ib_write_bw -s 8 -q 8 -n 10000; }
rate() { awk '/^ #bytes/ { found = 1; next } found && /^ [0-9]/ { print $5; exit }'; } # in millions a second

polled_from_memory() {
    local found stores output
    found=$(doorbells found) stores=$(doorbells stores)
    output=$(small_messages) || fail "$output" || return
    found=$(($(doorbells found) - found)) stores=$(($(doorbells stores) - stores))
    remark "$(rate <<<"$output") M/s; $messages messages, $found doorbells found, $stores stores"
    [ "$found" -gt 0 ] || fail "no doorbell was found in memory" || return
    [ "$stores" -lt $((messages / 20)) ] || fail "$stores stores for $messages messages"
}
trapped() {
    local output
    output=$(FROM=mlx5_1 TO=mlx5_0 small_messages) || fail "$output" || return
    remark "$(rate <<<"$output") M/s"
}

bytes_arrive() {
    local bytes=1048576
    half() { tail -c +$(($2 * bytes + 1)) "/dev/shm/$1" | head -c $bytes | sha256sum; }
    rm -f /dev/shm/from /dev/shm/to
    truncate -s $((2 * bytes)) /dev/shm/from /dev/shm/to
    both_ends "ib_write_bw -F -d mlx5_1 -s $bytes -n 20 --mmap=/dev/shm/to" \
        "ib_write_bw -F -d mlx5_0 -s $bytes -n 20 --mmap=/dev/shm/from localhost" || return
    [ "$(half from 0)" != "$(half from 1)" ] || fail "the halves are equal: this proves nothing" || return
    [ "$(half to 1)" = "$(half from 0)" ] || fail "what was sent has not arrived"
}

nothing_is_left() {
    local lines
    lines=$(holdings) || fail "no answer" || return
    [ "$(grep -c ' holds nothing$' <<<"$lines")" = 2 ] || fail "$lines"
}

part "the drivers come up" bring_up
part "8 B by 8 queue pairs, polled" polled_from_memory
part "8 B by 8 queue pairs, trapped" trapped
part "the bytes arrive" bytes_arrive
for kind in rc ud srq; do
    part "$kind" pingpong $kind -c
    part "$kind by events" pingpong $kind -c -e
done
part "rc by events, to the polled one" env FROM=mlx5_1 TO=mlx5_0 pingpong rc -c -e
part "send: latency by events" perf ib_send_lat -e -n 20
part "the drivers go" unload_drivers
part "nothing is left" nothing_is_left
