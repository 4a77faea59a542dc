# What cases are written in. A case consists of parts; each is timed, and one that fails is named, with all that it
# said, while the case goes on: the verdict comes at its end.
set -u
. /exchange/settings
. /hcasim/inside/drivers.sh
said=/tmp/said
failed=()

# part NAME COMMAND...: the command (a function, too) is what has to succeed.
part() {
    local name=$1 start=$EPOCHREALTIME status=0
    shift
    echo "part $name" >&8
    ("$@") >"$said" 2>&1 </dev/null || status=$?
    report "$name" "$start" $status
}

report() { # NAME START STATUS
    local took
    took=$(awk -v a="$2" -v b="$EPOCHREALTIME" 'BEGIN { printf "%7.2f s", b - a }')
    if [ "$3" = 0 ]; then
        echo "  ok  $took  $1$([ -s /tmp/remark ] && echo "  ($(cat /tmp/remark))")"
    else
        echo "FAIL  $took  $1: status $3"
        sed 's/^/        /' "$said" | tail -n 40
        failed+=("$1")
    fi
    rm -f /tmp/remark
}

# remark TEXT: stands beside the part in the report.
remark() { echo "$*" >/tmp/remark; }

fail() {
    echo "$*"
    return 1
}

verdict() {
    [ ${#failed[@]} = 0 ] && exit 0
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
}

# The drivers, until every port is active.
bring_up() {
    local start=$EPOCHREALTIME
    load_drivers || return
    remark "modprobe to PORT_ACTIVE $(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f s", b - a }')"
}

# What the cards hold for their drivers, a line each, as the simulator counts it.
holdings() {
    rm -f /exchange/holdings
    echo "holdings" >&8
    wait_until 15 [ -e /exchange/holdings ] && cat /exchange/holdings
}
nothing_is_held() {
    local lines
    lines=$(holdings) || fail "no answer" || return
    grep -v ' holds nothing$' <<<"$lines" && return 1
    [ -n "$lines" ]
}
something_is_held() { [ "$(holdings | grep -c 'memory keys')" = "$(rdma_devices | wc -l)" ] || fail "$(holdings)"; }

# die: as a machine that loses its power. A case with `lives` goes on with LIFE one higher.
die() {
    echo "die" >&8
    sleep 60
}

# kill_simulator: it is killed in the middle of whatever it does. A case with `lives` goes on with LIFE one higher, on a
# new one that has the files of the old one.
kill_simulator() {
    echo "kill" >&8
    sleep 60
}

# barrier NAME [SECONDS]: both guests of a case have come here.
barrier() {
    touch "/shared/$1.$MACHINE"
    wait_until "${2:-60}" eval '[ "$(ls /shared/'"$1"'.* | wc -l)" = 2 ]' ||
        fail "the other guest does not come to '$1'"
}

cards() { grep -l 0x15b3 /sys/bus/pci/devices/*/vendor | cut -d/ -f6; }
