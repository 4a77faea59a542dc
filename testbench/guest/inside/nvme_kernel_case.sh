# What each kernel has to do with a drive: probe, verify by each kind of queue, change their number, lose it and find it
# again while it writes.
. /hcasim/inside/nvme.sh
kernel_is() { [[ $(uname -r) == "$1".* ]] || fail "this is $(uname -r)"; }
verified() { # OPTIONS...
    fio --name=part --filename=$disk --direct=1 --group_reporting --verify=crc32c --verify_fatal=1 --do_verify=1 \
        --output=/tmp/fio "$@" 2>/tmp/fio.err || fail "$(tail -n 5 /tmp/fio.err /tmp/fio)"
}
# A bounded rate all the while; what is read back afterwards has to be what was written.
verified_across() { # WHAT-HAPPENS...
    local writer written
    verified --ioengine=libaio --iodepth=8 --rw=randwrite --bs=4k --size=12M --rate=4M &
    writer=$!
    written=$(awk '{ print $7 }' /sys/block/nvme0n1/stat)
    wait_until 60 eval '[ "$(awk "{ print \$7 }" /sys/block/nvme0n1/stat)" -gt $(('"$written"' + 1024)) ]' ||
        fail "nothing is written" || return
    "$@" || return
    kill -0 $writer || fail "fio had ended before" || return
    wait $writer
}
reset_controller() { echo 1 >$controller/reset_controller && wait_until 60 is_live || fail "it is $(nvme_state)"; }
reset_function() {
    echo flr >"$(device)/reset_method" && echo 1 >"$(device)/reset" || return
    wait_until 60 is_live || fail "it is $(nvme_state)"
}
queues() { dmesg | grep -o '[0-9/]* default/read/poll queues' | tail -n 1; }
# The driver reads how many it is to have when its controller starts again.
queues_change() {
    local before
    before=$(queues)
    echo 0 >/sys/module/nvme/parameters/write_queues && reset_controller || return
    [ "$(queues)" != "$before" ] || fail "still $before" || return
    remark "$before, then $(queues)"
}
rebind() {
    local address
    address=$(function_address)
    echo "$address" >/sys/bus/pci/drivers/nvme/unbind && [ ! -e $disk ] || fail "the disk is still there" || return
    echo "$address" >/sys/bus/pci/drivers/nvme/bind && wait_until 60 has_disk || fail "it does not come back"
}
comes_back() {
    mkdir -p $directory && mount $disk $directory && drop_caches && cmp /usr/bin/fio $directory/fio &&
        umount $directory && fsck.ext4 -f -n $disk
}

part "the kernel is the wanted one" kernel_is "$KERNEL"
part "the driver comes up" drive_comes_up write_queues=2
part "its probe causes no warning" driver_is_silent
for size in 4k 128k; do
    part "libaio verifies $size" verified --ioengine=libaio --iodepth=16 --rw=randwrite --bs=$size --size=8M
done
part "io_uring verifies 1M" verified --ioengine=io_uring --iodepth=4 --rw=write --bs=1M --size=16M
part "controller reset under load" verified_across reset_controller
part "function level reset under load" verified_across reset_function
part "the number of queues changes under load" verified_across queues_change
part "a file system is made" eval 'make_file_system && cp /usr/bin/fio $directory && umount $directory'
part "another driver's life: unbind, bind" rebind
part "the file is there" comes_back
part "smartctl" eval 'smartctl -x /dev/nvme0 | grep -q "test result: PASSED"'
part "the driver has nothing to complain about" driver_is_silent
part "the driver goes" drive_goes
