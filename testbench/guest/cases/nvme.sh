# name: the stock nvme driver probes a drive, a file system lives on it, and both survive resets and a new driver
# platform: platform/configs/nvme.toml
# machines: A
# set: timed=false
# commands: no
# timeout: 300
. /hcasim/inside/nvme.sh

identifiers_are_there() {
    local name
    for name in serial model firmware_rev; do
        [ -n "$(tr -d ' ' <$controller/$name)" ] || fail "no $name" || return
    done
    for name in uuid nguid wwid; do
        [ -s "/sys/block/${disk#/dev/}/$name" ] || fail "no $name" || return
    done
    ! grep -q '^0*$' "/sys/block/${disk#/dev/}/uuid"
}
interrupts() { awk '/nvme0q[1-9]/ { for (i = 2; i <= 3; i++) sum += $i } END { print sum + 0 }' /proc/interrupts; }
raw_bytes_come_back() {
    local before
    before=$(interrupts)
    dd if=/dev/urandom of=/tmp/pattern bs=1M count=8 status=none
    dd if=/tmp/pattern of=$disk bs=1M seek=3 oflag=direct status=none || return
    dd if=$disk of=/tmp/read bs=1M skip=3 count=8 iflag=direct status=none || return
    cmp /tmp/pattern /tmp/read || return
    [ "$(interrupts)" -gt "$before" ] || fail "no interrupt"
}
copy_and_compare() {
    cp -r /usr/lib/x86_64-linux-gnu/perl* /usr/bin/fio /usr/bin/vim.tiny /usr/bin/python3.1? $directory/ 2>/dev/null
    [ "$(du -sm $directory | cut -f1)" -ge 5 ] || fail "nothing to copy" || return
    drop_caches
    cmp /usr/bin/fio $directory/fio && cmp /usr/bin/vim.tiny $directory/vim.tiny
}
is_as_it_was() { drop_caches && cmp /usr/bin/fio $directory/fio && cmp /usr/bin/vim.tiny $directory/vim.tiny; }
trim() { rm $directory/perl* -rf && sync && fstrim -v $directory; }
unmount_and_check() { umount $directory && fsck.ext4 -f -n $disk; }
mount_again() { mount $disk $directory && is_as_it_was; }
reset_controller() {
    echo 1 >$controller/reset_controller && wait_until 60 is_live || fail "it is $(nvme_state)" || return
    is_as_it_was
}
reset_function() {
    echo flr >"$(device)/reset_method" && echo 1 >"$(device)/reset" || return
    wait_until 60 is_live || fail "it is $(nvme_state)" || return
    is_as_it_was
}
reset_while_writing() {
    local writer
    dd if=/tmp/pattern of=$directory/again bs=64k oflag=direct status=none &
    writer=$!
    sleep 0.05
    echo 1 >$controller/reset_controller && wait_until 60 is_live || fail "it is $(nvme_state)" || return
    wait $writer && drop_caches && cmp /tmp/pattern $directory/again
}
rebind() {
    local address
    address=$(function_address)
    echo "$address" >/sys/bus/pci/drivers/nvme/unbind && [ ! -e $disk ] || fail "the disk is still there" || return
    echo "$address" >/sys/bus/pci/drivers/nvme/bind && wait_until 60 has_disk || fail "it does not come back"
}
remove_and_rescan() {
    local address
    address=$(device)
    echo 1 >"$address/remove" && [ ! -e $disk ] || return
    echo 1 >/sys/bus/pci/rescan && wait_until 60 has_disk || fail "it does not come back"
}

part "the driver comes up" drive_comes_up
part "its probe causes no warning" driver_is_silent
part "identifiers" identifiers_are_there
part "8 MiB written and read without a cache" raw_bytes_come_back
part "mkfs.ext4 and mount" make_file_system
part "files are copied and come back" copy_and_compare
part "fstrim" trim
part "controller reset under a mounted file system" reset_controller
part "function level reset under a mounted file system" reset_function
part "controller reset in the middle of a write" reset_while_writing
part "umount and fsck" unmount_and_check
part "another driver's life: unbind, bind" rebind
part "the files are there" mount_again
part "umount and fsck again" unmount_and_check
part "the function is removed and found again" remove_and_rescan
part "the driver goes" drive_goes
part "the driver comes up with a polled queue" drive_comes_up poll_queues=1
part "the files are there for that one, too" mount_again
part "umount and fsck for the last time" unmount_and_check
part "nothing of all that caused a warning" driver_is_silent
part "the driver goes for the last time" drive_goes
