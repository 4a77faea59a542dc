# name: what a drive has flushed is there after the simulator was killed in the middle of writing, a hundred times
# run: on demand
# platform: platform/configs/nvme.toml
# machines: A
# set: timed=false A.nvme0.file=%d/medium
# commands: no
# lives: 101
# timeout: 1800
. /hcasim/inside/nvme.sh

# Record n is a block of 4096 bytes that is full of its number. A record that /shared tells of was flushed before.
writer() { # FIRST
    python3 - "$disk" "$1" <<'PYTHON'
import os
import sys

disk = os.open(sys.argv[1], os.O_RDWR)
told = os.open("/shared/flushed", os.O_WRONLY | os.O_CREAT)
number = int(sys.argv[2])
while True:
    for _ in range(16):
        os.pwrite(disk, number.to_bytes(4, "little") * 1024, number % 4096 * 4096)
        number += 1
    os.fdatasync(disk)
    os.pwrite(told, b"%12d" % number, 0)
PYTHON
}
# Each record that was flushed is there, or a later one in its place; none is torn.
flushed_is_there() {
    python3 - "$disk" <<'PYTHON'
import os
import sys

disk = open(sys.argv[1], "rb", buffering=0)
flushed = int(open("/shared/flushed").read())
first = max(0, flushed - 4096)
for number in range(first, flushed):
    block = os.pread(disk.fileno(), 4096, number % 4096 * 4096)
    found = int.from_bytes(block[:4], "little")
    assert block == block[:4] * 1024, f"record {number} is torn"
    assert found % 4096 == number % 4096 and found >= number, f"in the place of record {number} is {found}"
print(flushed)
PYTHON
}
enough_is_flushed() {
    local flushed
    flushed=$(cat /shared/flushed 2>/dev/null)
    [ "${flushed:-0}" -gt "$1" ]
}

part "the driver comes up" drive_comes_up
if [ "$LIFE" -gt 1 ]; then
    part "what was flushed is there" flushed_is_there
fi
if [ "$LIFE" -lt "$LIVES" ]; then
    begin=$(cat /shared/flushed 2>/dev/null || echo 0)
    writer $((begin)) &
    wait_until 60 enough_is_flushed $((begin + 200 + RANDOM % 300)) || fail "nothing is written"
    kill_simulator
fi
part "the driver goes" drive_goes
