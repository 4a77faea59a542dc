# name: the nvme driver's life, of the golden traces
# run: by hand
# platform: platform/configs/nvme.toml
# machines: A
# set: timed=false
# record: A.nvme0
# commands: no
# timeout: 120
. /hcasim/inside/nvme.sh
bytes_come_back() { dd if=$disk of=/tmp/back bs=16k count=4 iflag=direct status=none && cmp /tmp/pattern /tmp/back; }
write_and_read() {
    dd if=/dev/zero bs=64k count=1 status=none | tr '\0' 'n' >/tmp/pattern
    dd if=/tmp/pattern of=$disk bs=16k oflag=direct status=none && bytes_come_back
}
reset_controller() { echo 1 >$controller/reset_controller && wait_until 60 is_live && bytes_come_back; }
part "the driver comes up" drive_comes_up
part "64 KiB are written and come back" write_and_read
part "the controller is reset" reset_controller
part "blocks are trimmed" blkdiscard -o 0 -l 64k $disk
part "the driver goes" drive_goes
