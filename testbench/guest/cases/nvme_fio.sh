# name: fio verifies a drive by libaio, io_uring, polled and passthrough, at every depth and block size
# run: on demand
# platform: platform/configs/nvme.toml
# machines: A
# set: timed=false
# commands: no
# timeout: 600
. /hcasim/inside/nvme.sh

# The figure is what a person wants to see beside the part: I/O operations a second, of reads and writes.
run_fio() { # OPTIONS...
    fio --name=part --direct=1 --group_reporting --output-format=json --output=/tmp/fio.json "$@" >/tmp/fio.err 2>&1 ||
        fail "$(tail -n 5 /tmp/fio.err /tmp/fio.json)" || return
    remark "$(python3 -c '
import json
job = json.load(open("/tmp/fio.json"))["jobs"][0]
assert job["error"] == 0, job["error"]
print(", ".join("%s %.0f/s %.1f MiB/s" % (way, job[way]["iops"], job[way]["bw_bytes"] / 2**20)
                for way in ("read", "write") if job[way]["total_ios"]))')"
}
verified() { # OPTIONS...: what it has written is read back and has the checksum that it was written with
    run_fio --filename=$disk --verify=crc32c --verify_fatal=1 --do_verify=1 "$@"
}
for_a_while() { run_fio --filename=$disk --size=32M --time_based --runtime=5 "$@"; }
passed_through() { run_fio --filename=/dev/ng0n1 --ioengine=io_uring_cmd --cmd_type=nvme --direct=0 "$@"; }

part "the driver comes up with a polled queue" drive_comes_up poll_queues=1
# Every way to the drive, at every depth, in any order and one after another; what is read back proves both ways.
for depth in 1 4 16 64 256; do
    for way in "randwrite --bs=4k --size=4M" "write --bs=64k --size=16M" "randrw --bs=16k --size=8M"; do
        # shellcheck disable=SC2086
        for engine in libaio io_uring; do
            part "$engine verifies ${way%% *} at depth $depth" verified --ioengine=$engine --iodepth=$depth --rw=$way
        done
        part "polled io_uring verifies ${way%% *} at depth $depth" verified --ioengine=io_uring --hipri=1 \
            --iodepth=$depth --rw=$way
        part "passthrough verifies ${way%% *} at depth $depth" passed_through --iodepth=$depth --rw=$way \
            --verify=crc32c --verify_fatal=1 --do_verify=1
    done
done
for size in 512 128k; do
    part "libaio verifies $size at depth 16" verified --ioengine=libaio --iodepth=16 --rw=randwrite --bs=$size --size=4M
done
part "libaio verifies blocks of mixed sizes" verified --ioengine=libaio --iodepth=8 --rw=randwrite \
    --bsrange=512-256k --bs_unaligned=0 --blockalign=512 --size=16M
part "io_uring verifies 1M, with vectors" verified --ioengine=io_uring --iodepth=4 --rw=write --bs=1M --size=32M \
    --nonvectored=0
part "libaio, random reads at depth 1" for_a_while --ioengine=libaio --iodepth=1 --rw=randread --bs=4k
part "libaio, random reads at depth 16" for_a_while --ioengine=libaio --iodepth=16 --rw=randread --bs=4k
part "io_uring, random reads at depth 64" for_a_while --ioengine=io_uring --iodepth=64 --rw=randread --bs=4k
part "io_uring, random writes at depth 16" for_a_while --ioengine=io_uring --iodepth=16 --rw=randwrite --bs=4k
part "polled io_uring, random reads at depth 1" for_a_while --ioengine=io_uring --hipri=1 --iodepth=1 --rw=randread \
    --bs=4k
part "passthrough, random reads at depth 16" passed_through --iodepth=16 --rw=randread --bs=4k --size=32M \
    --time_based --runtime=5
part "reads of 1 MiB at depth 4" for_a_while --ioengine=io_uring --iodepth=4 --rw=read --bs=1M
part "writes of 1 MiB at depth 4" for_a_while --ioengine=io_uring --iodepth=4 --rw=write --bs=1M
part "trim" run_fio --filename=$disk --ioengine=libaio --rw=trim --bs=64k --size=8M
part "zeroes" blkdiscard -z -o 0 -l 8M $disk
part "the driver has nothing to complain about" driver_is_silent
part "the driver goes" drive_goes
