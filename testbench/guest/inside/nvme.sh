# Sourced by cases that have a drive: the stock nvme driver, and a file system on the first namespace.
disk=/dev/nvme0n1
controller=/sys/class/nvme/nvme0
directory=/tmp/disk

nvme_state() { cat $controller/state 2>/dev/null; }
is_live() { [ "$(nvme_state)" = live ]; }
has_disk() { [ -b $disk ] && is_live; }
function_address() { basename "$(readlink -f $controller/device)"; }
device() { readlink -f $controller/device; }

# PARAMETER=VALUE... of the module
drive_comes_up() {
    local start=$EPOCHREALTIME
    modprobe nvme "$@" || return
    wait_until 60 has_disk || fail "no disk; the controller is $(nvme_state)" || return
    remark "modprobe to disk $(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f s", b - a }')"
}
drive_goes() { modprobe -r nvme && [ ! -e $disk ]; }

# The driver says nothing at level warning or above, and nothing that it says only where something is odd.
driver_is_silent() {
    local said
    said=$(dmesg --level=emerg,alert,crit,err,warn | grep -E 'nvme|blk_|I/O error')
    [ -z "$said" ] || fail "$said" || return
    said=$(dmesg | grep -E 'nvme.*(bogus|timeout|unusual|unable|fail|missing|invalid|removing|disabling)')
    [ -z "$said" ] || fail "$said"
}

make_file_system() { mkfs.ext4 -q -F $disk && mkdir -p $directory && mount $disk $directory; }
drop_caches() { sync && echo 3 >/proc/sys/vm/drop_caches; }
