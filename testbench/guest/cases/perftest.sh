# name: perftest runs between two cards, every operation over every transport that carries it
# run: on demand
# memory: 2G
# timeout: 600

# Iterations are few: what counts here is that each size, option and transport works; speed.sh measures.
bandwidth() { perf "$@" -n 50 -t 32; }
latency() { perf "$@" -n 20; }

# Writes through files as buffers. perftest fills both halves of each end's buffer with the same random bytes (its seed
# is fixed), sends the first half and receives into the second: there the bytes of the first half arrive, which were
# others before.
bytes_arrive() { # CONNECTION
    local bytes=1048576
    half() { tail -c +$(($2 * bytes + 1)) "/dev/shm/$1" | head -c $bytes | sha256sum; }
    rm -f /dev/shm/from /dev/shm/to
    truncate -s $((2 * bytes)) /dev/shm/from /dev/shm/to
    both_ends "ib_write_bw -F -c $1 -d mlx5_1 -s $bytes -n 20 --mmap=/dev/shm/to" \
        "ib_write_bw -F -c $1 -d mlx5_0 -s $bytes -n 20 --mmap=/dev/shm/from localhost" || return
    [ "$(half from 0)" != "$(half from 1)" ] || fail "the halves are equal: this proves nothing" || return
    [ "$(half to 1)" = "$(half from 0)" ] || fail "what was sent has not arrived"
}

part "the drivers come up" bring_up
for test in write read send; do
    part "$test: all sizes" bandwidth ib_${test}_bw -a
    part "$test: latency, all sizes" latency ib_${test}_lat -a
    part "$test: 16 queue pairs" bandwidth ib_${test}_bw -q 16 -s 4096
done
part "atomic: fetch and add" bandwidth ib_atomic_bw -A FETCH_AND_ADD
part "atomic: compare and swap" bandwidth ib_atomic_bw -A CMP_AND_SWAP
part "atomic: 16 queue pairs" bandwidth ib_atomic_bw -q 16
part "atomic: latency" latency ib_atomic_lat

for test in read send atomic; do
    part "$test: by events" bandwidth ib_${test}_bw -e
    part "$test: latency by events" latency ib_${test}_lat -e
done
for test in write send; do
    part "$test: inline" bandwidth ib_${test}_bw -s 64 -I 64
    part "$test: inline of 16 queue pairs" bandwidth ib_${test}_bw -s 128 -I 128 -q 16
    part "$test: latency inline" latency ib_${test}_lat -s 64 -I 64
done

part "UC write: all sizes" bandwidth ib_write_bw -c UC -a
part "UC write: latency, all sizes" latency ib_write_lat -c UC -a
part "UC write: 16 queue pairs, inline" bandwidth ib_write_bw -c UC -q 16 -s 64 -I 64
for connection in UC UD; do
    part "$connection send: all sizes" bandwidth ib_send_bw -c $connection -a
    part "$connection send: latency, all sizes" latency ib_send_lat -c $connection -a
    part "$connection send: 16 queue pairs" bandwidth ib_send_bw -c $connection -q 16 -s 1024
    part "$connection send: by events" bandwidth ib_send_bw -c $connection -s 1024 -e
    part "$connection send: latency by events" latency ib_send_lat -c $connection -s 1024 -e
    part "$connection send: inline" bandwidth ib_send_bw -c $connection -s 64 -I 64
done
part "both directions" bandwidth ib_write_bw -b -s 65536
part "RC: the bytes arrive" bytes_arrive RC
part "UC: the bytes arrive" bytes_arrive UC
part "the drivers go" unload_drivers
part "nothing is left" nothing_is_held
