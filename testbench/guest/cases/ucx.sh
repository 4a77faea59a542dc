# name: UCX runs between two guests with no variable set: tags, put, get, atomics and active messages over rc_mlx5
# run: on demand
# machines: A B
# root: applications
# memory: 1536M
# timeout: 2400
. /hcasim/inside/two_guests.sh

# Which transports there are, and what the library complains of while it looks.
rc_mlx5_is_there() {
    ucx_info -d >/tmp/ucx_info 2>/tmp/complaints
    grep -q 'Transport: rc_mlx5' /tmp/ucx_info && grep -q 'Device: mlx5_0:1' /tmp/ucx_info || fail "$(cat /tmp/ucx_info /tmp/complaints)" || return
    [ ! -s /tmp/complaints ] || fail "$(cat /tmp/complaints)"
}
# The library says what it cannot do at level ERROR or WARN, and some programs end with 0 all the same. Without a terminal
# ucx_perftest takes itself for a rank of MPI.
silently() {
    local status=0
    "$@" </dev/ptmx >/tmp/ucx_said 2>&1 || status=$?
    cat /tmp/ucx_said
    ! grep -E '\b(ERROR|WARN|FATAL)\b' /tmp/ucx_said && return $status
}
# at_a_round_pid COMMAND...: as a process whose number is a multiple of 256.
at_a_round_pid() {
    local status=77
    while [ $status = 77 ]; do
        echo $((($(cat /proc/sys/kernel/ns_last_pid) / 256 + 1) * 256 - 1)) >/proc/sys/kernel/ns_last_pid
        ([ $((BASHPID & 255)) = 0 ] || exit 77; exec "$@" </dev/ptmx) &
        status=0
        wait $! || status=$?
    done
    return $status
}
export -f silently at_a_round_pid

# perftest BYTES NAME OPTIONS...: ends of ucx_perftest; the client's side has to see BYTES go over the cable. `how` stands before
# the program.
how=
perftest() {
    local wanted=$1 name=$2
    shift 2
    calls=$((calls + 1))
    if [ "$MACHINE" = A ]; then
        part "$name" across 13337 "silently $how ucx_perftest $*" ""
    else
        part "$name" over_the_cable "$wanted" across 13337 "" "silently $how ucx_perftest $PEER $*"
    fi
}

part "the driver comes up" bring_up
part "UCX finds rc_mlx5 and complains of nothing" rc_mlx5_is_there

# As programs use it: protocols and transports are UCX's own choice.
for test in tag_lat tag_bw tag_sync_lat stream_lat stream_bw ucp_put_lat ucp_put_bw ucp_get ucp_am_lat ucp_am_bw; do
    for size in 8 2000 262144; do
        count=200
        [ $size = 262144 ] && count=40
        perftest $((size * count)) "$test of $size bytes" -t $test -s $size -n $count -w 5
    done
done
for test in ucp_add ucp_fadd ucp_swap ucp_cswap; do
    for size in 4 8; do perftest $((size * 200)) "$test of $size bytes" -t $test -s $size -n 200 -w 5; done
done

# The transport by itself.
for row in "am_lat 8" "am_bw 64" "am_bw 2000" "put_lat 8" "put_bw 2000" "get 2000" "add 8" "fadd 8" "swap 8" "cswap 8" "fadd 4" "cswap 4"; do
    read -r test size <<<"$row"
    layout=
    case $test in get) layout="-D zcopy" ;; put_bw | am_bw) layout="-D bcopy" ;; esac
    perftest $((size * 200)) "rc_mlx5: $test of $size bytes" -d mlx5_0:1 -x rc_mlx5 -t "$test" -s "$size" -n 200 -w 5 $layout
done

# The same on objects that the kernel's driver creates. Without DevX UCX 1.18 adds 8 * (pid of the peer & 255) to the address of
# an atomic that rc_mlx5 posts, as if its key began so much earlier, and waits for a value that it has put elsewhere: on silicon,
# too. Processes with round numbers meet all the same.
how="at_a_round_pid env UCX_IB_MLX5_DEVX=n"
for row in "am_lat 8" "put_lat 8" "get 2000" "add 8" "fadd 8" "cswap 8"; do
    read -r test size <<<"$row"
    layout=
    [ "$test" = get ] && layout="-D zcopy"
    perftest $((size * 200)) "rc_mlx5 without DevX: $test of $size bytes" -d mlx5_0:1 -x rc_mlx5 -t "$test" -s "$size" -n 200 -w 5 $layout
done

part "the driver goes" unload_drivers
part "nothing is left" nothing_is_held
