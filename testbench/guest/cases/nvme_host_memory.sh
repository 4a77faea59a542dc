# name: the stock nvme driver lends a drive memory for its mapping table, and goes on after resets
# run: on demand
# platform: platform/configs/nvme.toml
# machines: A
# set: timed=false A.nvme0.size=256MiB A.nvme0.map_memory=64KiB A.nvme0.host_buffer=4MiB
# commands: no
# timeout: 300
. /hcasim/inside/nvme.sh

times_lent() { dmesg | grep -c 'allocated 4 MiB host memory buffer'; }
memory_is_lent() { [ "$(times_lent)" -ge 1 ] || fail "$(dmesg | grep nvme)"; }
feature_says_so() {
    local said
    said=$(nvme get-feature /dev/nvme0 -f 0xd 2>&1)
    echo "$said" | grep -qi 'value: *0x0*1$' || fail "$said"
}
random_writes_are_verified() {
    fio --name=verify --filename=$disk --direct=1 --ioengine=libaio --iodepth=32 --rw=randwrite --bs=4k --size=192m \
        --io_size=24m --verify=crc32c --verify_fatal=1 --output=/tmp/fio.txt || fail "$(tail -5 /tmp/fio.txt)"
}
reset_and_go_on() {
    echo 1 >$controller/reset_controller && wait_until 60 is_live || fail "it is $(nvme_state)" || return
    feature_says_so && random_writes_are_verified
}

part "the driver comes up" drive_comes_up
part "it has lent memory" memory_is_lent
part "Get Features says so" feature_says_so
part "random writes are verified" random_writes_are_verified
part "controller reset, and the same again" reset_and_go_on
part "nothing of all that caused a warning" driver_is_silent
part "the driver goes" drive_goes
