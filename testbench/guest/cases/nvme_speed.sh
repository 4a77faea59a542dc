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
figure() { # DISK READ-OR-WRITE: operations a second
    fio --name=figure --filename="$1" --direct=1 --ioengine=io_uring --size=128M --time_based --runtime=3 \
        --output-format=json --output=/tmp/fio.json "${@:3}" --rw="$2" >/tmp/fio.err 2>&1 || return
    python3 -c '
import json, sys
job = json.load(open("/tmp/fio.json"))["jobs"][0]
print("%.0f" % job["read" if "read" in sys.argv[1] else "write"]["iops"])' "$2"
}
# In turns, three times: the emulator and a busy machine make figures wander, and ratios of one run less so.
compare() { # NAME READ-OR-WRITE OPTIONS...
    local name=$1 own other
    shift
    for _ in 1 2 3; do
        own=$(figure "$ours" "$@") && other=$(figure "$theirs" "$@") || { failed+=("$name"); return; }
        printf '%-28s%10s%10s%8s\n' "$name" "$own" "$other" "$(awk "BEGIN { printf \"%.2f\", $own / $other }")"
    done
}

part "both drives come up" both_come_up
names
printf '%-28s%10s%10s%8s\n' "operations a second" ours emulator ratio
for way in read write; do
    for depth in 1 16 64; do
        compare "4 KiB rand$way, depth $depth" rand$way --bs=4k --iodepth=$depth
    done
    compare "1 MiB $way, depth 4" $way --bs=1M --iodepth=4
done
part "the driver goes" modprobe -r nvme
