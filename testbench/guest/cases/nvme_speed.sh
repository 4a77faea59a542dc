# name: our drive beside the emulator's own, in one guest and run
# run: by hand
# platform: platform/configs/nvme.toml
# machines: A
# set: timed=false
# commands: no
# beside: yes
# timeout: 600
. /hcasim/inside/nvme.sh

# Both drives are there, in whichever order they were found: the emulator's has its serial number.
names() {
    local disk
    for disk in /dev/nvme?n1; do
        case "$(cat "/sys/block/${disk#/dev/}/device/serial")" in
        emulator*) theirs=$disk ;;
        *) ours=$disk ;;
        esac
    done
    [ -n "$ours" ] && [ -n "$theirs" ]
}
both_come_up() {
    modprobe nvme && wait_until 60 names && is_live
}
# Of the queues that carry reads and writes.
interrupts() { # DISK
    local drive=${1#/dev/}
    awk -v queue="^${drive%n1}q[1-9]" '$NF ~ queue { for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }' \
        /proc/interrupts
}
idle_ticks() { awk '/^cpu / { print $5 + $6 }' /proc/stat; }
all_ticks() { awk '/^cpu / { for (i = 2; i <= 9; i++) n += $i; print n }' /proc/stat; }
# What bounds it: an interrupt for each operation, or for several; and whether the guest's processors wait.
figure() { # DISK READ-OR-WRITE: operations a second, interrupts an operation, idle share of the processors
    local before idle all
    before=$(interrupts "$1") idle=$(idle_ticks) all=$(all_ticks)
    fio --name=figure --filename="$1" --direct=1 --ioengine=io_uring --size=128M --time_based --runtime=3 \
        --output-format=json --output=/tmp/fio.json "${@:3}" --rw="$2" >/tmp/fio.err 2>&1 || return
    python3 -c '
import json, sys
way, interrupts, idle, ticks = sys.argv[1], *map(int, sys.argv[2:])
job = json.load(open("/tmp/fio.json"))["jobs"][0]["read" if "read" in way else "write"]
print("%.0f %.2f %.0f%%" % (job["iops"], interrupts / job["total_ios"], 100 * idle / ticks))' \
        "$2" "$(($(interrupts "$1") - before))" "$(($(idle_ticks) - idle))" "$(($(all_ticks) - all))"
}
# In turns, three times: the emulator and a busy machine make figures wander, and ratios of one run less so.
compare() { # NAME READ-OR-WRITE OPTIONS...
    local name=$1 own other
    shift
    for _ in 1 2 3; do
        own=$(figure "$ours" "$@") && other=$(figure "$theirs" "$@") || { failed+=("$name"); return; }
        # shellcheck disable=SC2086
        printf '%-28s%10s%8s%6s%10s%8s%6s%8s\n' "$name" $own $other \
            "$(awk -v a="${own%% *}" -v b="${other%% *}" 'BEGIN { printf "%.2f", a / b }')"
    done
}

part "both drives come up" both_come_up
names
printf '%-28s%10s%8s%6s%10s%8s%6s%8s\n' "operations a second" ours irq/op idle emulator irq/op idle ratio
for way in read write; do
    for depth in 1 16 64; do
        compare "4 KiB rand$way, depth $depth" rand$way --bs=4k --iodepth=$depth
    done
    compare "1 MiB $way, depth 4" $way --bs=1M --iodepth=4
done
part "the driver goes" modprobe -r nvme
