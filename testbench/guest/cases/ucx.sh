# name: UCX runs between two guests with no variable set: tags, put, get, atomics and active messages over rc_mlx5
# run: on demand
# machines: A B
# root: applications
# memory: 1536M
# timeout: 480
. /hcasim/inside/two_guests.sh

# Which transports there are, and what the library complains of while it looks.
rc_mlx5_is_there() {
    ucx_info -d >/tmp/ucx_info 2>/tmp/complaints
    grep -q 'Transport: rc_mlx5' /tmp/ucx_info && grep -q 'Device: mlx5_0:1' /tmp/ucx_info ||
        fail "$(cat /tmp/ucx_info /tmp/complaints)" || return
    [ ! -s /tmp/complaints ] || fail "$(cat /tmp/complaints)"
}
# The library says what it cannot do at level ERROR or WARN, and some programs end with 0 all the same. Without a
# terminal ucx_perftest takes itself for a rank of MPI.
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

# tests NAME TEST:SIZE:COUNT[:OPTIONS]...: one process a side of ucx_perftest runs them all, from a file of tests; `how`
# stands before the program, `all` are options of each test. Each test has to come to its end, and the bytes that they
# send together have to go over the cable. A test whose name the program does not know is an error of the client alone,
# and the server would wait for ever: both have a limit.
how= all=
tests() {
    local part=$1 row name size count options bytes=0 file=/tmp/tests
    shift
    : >$file
    for row; do
        IFS=: read -r name size count options <<<"$row"
        echo "$name.$size -t $name -s $size -n $count -w 5 $all $options" >>$file
        bytes=$((bytes + size * count))
    done
    calls=$((calls + 1))
    if [ "$MACHINE" = A ]; then
        part "$part" across 13337 "silently $how ucx_perftest -f -b $file" ""
    else
        part "$part" over_the_cable $bytes client $file
    fi
}
client() { # FILE
    local name said
    across 13337 "" "silently $how ucx_perftest $PEER -f -b $1" >/tmp/client 2>&1 ||
        fail "$(cat /tmp/client)" || return
    while read -r name _; do
        grep -Eq "^ *${name//./\\.} +[1-9][0-9]* " /tmp/client ||
            fail "$name has no result: $(cat /tmp/client)" || return
    done <"$1"
}
# sizes TEST...: each with one inline, one of more than a line of cache, and one of many packets.
sizes() {
    local test
    for test; do echo "$test:8:100" "$test:2000:100" "$test:262144:20"; done
}

part "the driver comes up" bring_up
part "UCX finds rc_mlx5 and complains of nothing" rc_mlx5_is_there

# As programs use it: protocols and transports are UCX's own choice.
tests "tags" $(sizes tag_lat tag_bw tag_sync_lat)
tests "streams and active messages" $(sizes stream_lat stream_bw ucp_am_lat ucp_am_bw)
tests "put and get" $(sizes ucp_put_lat ucp_put_bw ucp_get)
tests "atomics" {ucp_add,ucp_fadd,ucp_swap,ucp_cswap}:{4,8}:100

# The transport by itself. Its operands of 4 bytes and its swap are masked ("extended") atomics, which these cards do
# not advertise: UCX does without them above.
all="-d mlx5_0:1 -x rc_mlx5"
tests "rc_mlx5: active messages, put and get" am_lat:8:100 am_bw:64:100 am_bw:2000:100:"-D bcopy" put_lat:8:100 \
    put_bw:2000:100:"-D bcopy" put_bw:262144:20:"-D zcopy" get:2000:100:"-D bcopy" get:262144:20:"-D zcopy"
tests "rc_mlx5: atomics" {add_lat,add_mr,fadd,cswap}:8:100

# The same on objects that the kernel's driver creates. Without DevX UCX 1.18 adds 8 * (pid of the peer & 255) to the
# address of an atomic that rc_mlx5 posts, as if its key began so much earlier, and waits for a value that it has put
# elsewhere: on silicon, too. Processes with round numbers meet all the same.
how="at_a_round_pid env UCX_IB_MLX5_DEVX=n"
tests "rc_mlx5 without DevX: active messages, put and get" am_lat:8:100 am_bw:2000:100:"-D bcopy" put_lat:8:100 \
    get:2000:100:"-D zcopy"
tests "rc_mlx5 without DevX: atomics" {add_lat,add_mr,fadd,cswap}:8:100

part "the driver goes" unload_drivers
both_are_gone
