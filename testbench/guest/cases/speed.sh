# name: what perftest measures between two cards
# run: by hand
# set: B.hca.polled_doorbells=true
# commands: no
# memory: 2G
# timeout: 600

# Each figure three times: the emulator and a busy machine make them wander. perftest's own calibration of the clock
# wants thousands of iterations.
measure() { # NAME COLUMN UNIT TEST ARGUMENTS...
    local name=$1 column=$2 unit=$3 output figures=
    shift 3
    for _ in 1 2 3; do
        output=$(perf "$@" 2>&1) || {
            printf '%-39s failed\n%s\n' "$name" "$output"
            failed+=("$name")
            return
        }
        figures+=$(awk -v column="$column" '
            /^ #bytes/ { found = 1; next }
            found && /^ [0-9]/ { printf "%12s", $column; exit }' <<<"$output")
    done
    printf '%-39s%s  %s\n' "$name" "$figures" "$unit"
}

part "probe to PORT_ACTIVE, both cards" bring_up
printf '%-39s%12s%12s%12s\n' "" first second third
measure "ib_write_bw 64 KiB" 4 MiB/s ib_write_bw -s 65536 -n 5000
measure "ib_write_bw 1 MiB" 4 MiB/s ib_write_bw -s 1048576 -n 2000
measure "ib_write_bw 2 MiB" 4 MiB/s ib_write_bw -s 2097152 -n 1000
measure "ib_read_bw 1 MiB" 4 MiB/s ib_read_bw -s 1048576 -n 2000
measure "ib_write_lat 8 B, typical" 5 us ib_write_lat -s 8 -n 5000
measure "ib_send_lat 8 B, typical" 5 us ib_send_lat -s 8 -n 5000
measure "ib_write_bw 8 B, 1 queue pair" 5 "M messages/s" ib_write_bw -s 8 -n 20000
measure "ib_write_bw 8 B, -q 8" 5 "M messages/s" ib_write_bw -s 8 -q 8 -n 20000
measure "ib_write_bw 8 B, -q 8, lists of 16" 5 "M messages/s" ib_write_bw -s 8 -q 8 -n 20000 -l 16 # a doorbell for 16

# The second card finds doorbells in memory (hcasim serve --polled-doorbells); the same, where it is the one that sends.
export FROM=mlx5_1 TO=mlx5_0
measure "polled: ib_write_lat 8 B, typical" 5 us ib_write_lat -s 8 -n 5000
measure "polled: ib_write_bw 8 B, 1 queue pair" 5 "M messages/s" ib_write_bw -s 8 -n 20000
measure "polled: ib_write_bw 8 B, -q 8" 5 "M messages/s" ib_write_bw -s 8 -q 8 -n 20000
measure "polled: ib_write_bw 1 MiB" 4 MiB/s ib_write_bw -s 1048576 -n 2000
