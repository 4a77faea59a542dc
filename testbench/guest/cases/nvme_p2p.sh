# name: the kernel's target moves a remote host's data through the drive's own memory, past its host's
# run: on demand
# kernel: 7.2
# platform: platform/configs/storage_target.toml
# set: A.nvme0.memory_buffer=67108864
# machines: A B
# switch: yes
# timeout: 300
backing=/dev/nvme0n1
# The target takes its buffers from there for as long as a command lasts: some must be seen to be taken.
watch_memory() {
    local memory=$1 least size
    size=$(cat "$memory/size") least=$size
    while [ ! -e /shared/watched ]; do
        local now
        now=$(cat "$memory/available")
        [ "$now" -ge "$least" ] || { least=$now; echo $((size - least)) >/tmp/taken; }
    done
}
make_backing() {
    modprobe nvme && wait_until 60 [ -b $backing ] || return
    p2pmem=$(echo /sys/bus/pci/devices/*/p2pmem)
    [ "$(cat "$p2pmem/published")" = 1 ] || fail "the drive's memory is not there for others: $p2pmem" || return
    watch_memory "$p2pmem" &
}
# The kernel refuses a drive that the card cannot reach.
before_it_is_offered() { basename "$(dirname "$p2pmem")" >"$1/p2pmem"; }
. /hcasim/inside/nvme_over_rdma.sh
if [ "$MACHINE" = A ]; then
    memory_was_used() {
        touch /shared/watched
        [ -s /tmp/taken ] || fail "nothing was taken of the drive's memory" || return
        remark "$(cat /tmp/taken) bytes at once"
    }
    part "data went through the drive's memory" memory_was_used
    part "the drive's driver goes" modprobe -r nvme
fi
