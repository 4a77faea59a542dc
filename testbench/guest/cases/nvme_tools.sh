# name: nvme-cli and smartctl get an answer to whatever they ask a drive
# run: on demand
# platform: platform/configs/nvme.toml
# machines: A
# set: timed=false
# commands: no
# timeout: 300
. /hcasim/inside/nvme.sh
char=/dev/nvme0

# json ARGUMENTS... EXPRESSION: what `nvme ARGUMENTS -o json` prints, as `d` in an expression of Python that is true.
json() {
    local expression=${*: -1}
    nvme "${@:1:$#-1}" -o json >/tmp/answer 2>/tmp/complaint || fail "$(cat /tmp/complaint /tmp/answer)" || return
    python3 -c "
import json, sys
d = json.load(open('/tmp/answer'))
if not ($expression):
    sys.exit('this does not hold: ' + sys.argv[1] + '\n' + json.dumps(d)[:2000])" "$expression"
}
says() { # TEXT COMMAND...
    local text=$1
    shift
    "$@" >/tmp/answer 2>&1 || fail "$(tail -n 20 /tmp/answer)" || return
    grep -qiE "$text" /tmp/answer || fail "$(tail -n 20 /tmp/answer)"
}
refused() { # TEXT COMMAND...
    local text=$1
    shift
    ! "$@" >/tmp/answer 2>&1 || fail "it is not refused" || return
    grep -qiE "$text" /tmp/answer || fail "$(tail -n 20 /tmp/answer)"
}
data_come_back() { # OPTIONS of write and read
    dd if=/dev/urandom of=/tmp/block bs=4096 count=1 status=none
    nvme write $disk -s 16 -c 7 -z 4096 -d /tmp/block "$@" >/dev/null || return
    nvme read $disk -s 16 -c 7 -z 4096 -d /tmp/back "$@" >/dev/null || return
    cmp /tmp/block /tmp/back && nvme compare $disk -s 16 -c 7 -z 4096 -d /tmp/block >/dev/null || return
    dd if=/dev/zero of=/tmp/other bs=4096 count=1 status=none
    refused 'compare' nvme compare $disk -s 16 -c 7 -z 4096 -d /tmp/other
}
# Write protection is a namespace's own, and the controller's node asks for that of all of them.
features_are_told() {
    nvme get-feature $char >/tmp/answer 2>/tmp/complaint
    ! grep -v '0x84' /tmp/complaint || return
    [ "$(grep -c 'Current value' /tmp/answer)" -ge 10 ] || fail "$(cat /tmp/answer)"
}
cache_is_switched() {
    nvme set-feature $char -f 6 -V 0 && says 'disabled' nvme get-feature $char -f 6 -H || return
    nvme set-feature $char -f 6 -V 1 && says 'enabled' nvme get-feature $char -f 6 -H
}
zeroes_are_written() {
    nvme write-zeroes $disk -s 16 -c 7 && nvme read $disk -s 16 -c 7 -z 4096 -d /tmp/back >/dev/null || return
    cmp -n 4096 /tmp/back /dev/zero
}
formats() { # index, bytes of a block
    nvme format $disk -l "$1" --force >/tmp/answer 2>&1 || fail "$(cat /tmp/answer)" || return
    wait_until 10 eval '[ "$(cat /sys/block/nvme0n1/queue/logical_block_size)" = '"$2"' ]' || fail "blocks are others"
}
self_test_passes() { # CODE
    nvme device-self-test $char -n 1 -s "$1" >/tmp/answer 2>&1 || fail "$(cat /tmp/answer)" || return
    wait_until 20 says 'without error' nvme self-test-log $char -v
}
telemetry_is_there() {
    nvme telemetry-log $char --output-file=/tmp/telemetry >/tmp/answer 2>&1 || fail "$(cat /tmp/answer)" || return
    [ "$(stat -c %s /tmp/telemetry)" -ge 1024 ] || fail "$(ls -l /tmp/telemetry)"
}
# The driver sets it when it comes up.
time_is_set() {
    says "$(date -u '+%a %b %e').*$(date -u +%Y)|$(date -u -d '-1 min' '+%a %b %e').*$(date -u -d '-1 min' +%Y)" \
        nvme get-feature $char -f 0xe -H
}
sanitized() {
    dd if=/dev/urandom of=$disk oflag=direct bs=4096 count=1 status=none || return
    nvme sanitize $char -a 2 >/tmp/answer 2>&1 || fail "$(cat /tmp/answer)" || return
    wait_until 20 says 'SSTAT\) : +0x101' nvme sanitize-log $char || return
    dd if=$disk of=/tmp/back iflag=direct bs=4096 count=1 status=none && cmp -n 4096 /tmp/back /dev/zero
}
second_namespace() {
    local number
    nvme create-ns $char -s 8192 -c 8192 -f 0 >/tmp/answer 2>&1 || fail "$(cat /tmp/answer)" || return
    number=$(grep -oE 'nsid:[0-9]+' /tmp/answer | cut -d: -f2)
    nvme attach-ns $char -n "$number" -c "$(nvme id-ctrl $char | awk '$1 == "cntlid" { print $3 }')" \
        >/tmp/answer 2>&1 || fail "$(cat /tmp/answer)" || return
    wait_until 10 [ -b "/dev/nvme0n$number" ] || fail "the kernel does not see it" || return
    dd if=/tmp/block of="/dev/nvme0n$number" oflag=direct bs=4096 status=none || return
    nvme detach-ns $char -n "$number" -c 0 >/tmp/answer 2>&1 || fail "$(cat /tmp/answer)" || return
    wait_until 10 eval '[ ! -e /dev/nvme0n'"$number"' ]' || fail "it stays" || return
    nvme delete-ns $char -n "$number"
}

part "the driver comes up" drive_comes_up
part "list" json list "len(d['Devices']) == 1"
part "list-subsys" nvme list-subsys
part "id-ctrl" json id-ctrl $char "d['sqes'] == 0x66 and d['cqes'] == 0x44 and d['subnqn'].startswith('nqn.')"
part "id-ns" json id-ns $disk "d['nsze'] > 0 and d['nguid'].strip('0')"
part "list-ns" json list-ns $char "len(d) > 0"
part "list-ns, allocated" json list-ns $char -a "len(d) > 0"
part "list-ctrl" nvme list-ctrl $char
part "ns-descs" says 'uuid' nvme ns-descs $disk
part "nvm-id-ctrl" nvme nvm-id-ctrl $char
part "cmdset-ind-id-ns" nvme cmdset-ind-id-ns $disk
part "smart-log" json smart-log $char "273 < d['temperature'] < 400 and d['critical_warning'] == 0"
part "error-log" nvme error-log $char
part "fw-log" nvme fw-log $char
part "changed-ns-list-log" nvme changed-ns-list-log $char
part "effects log" says '' nvme get-log $char -i 5 -l 4096
part "supported-log-pages" nvme supported-log-pages $char
part "a short self-test passes" self_test_passes 1
part "an extended self-test passes" self_test_passes 2
part "telemetry-log" telemetry_is_there
part "the time of day is the guest's" time_is_set
part "get-feature, each there is" features_are_told
part "get-feature 7" says 'number of queues' nvme get-feature $char -f 7 -H
part "the write cache is off and on" cache_is_switched
part "write, read and compare by passthrough" data_come_back
part "verify" nvme verify $disk -s 0 -c 7
part "flush" nvme flush $disk
part "write-zeroes" zeroes_are_written
part "dsm" nvme dsm $disk -d -s 0 -b 64
part "a block past the end is refused" refused 'LBA|range' nvme read $disk -s 0x7fffffffffff -c 0 -z 512 -d /tmp/back
part "an unknown opcode is refused" refused 'opcode' nvme admin-passthru $char --opcode=0xc7
part "smartctl -x" says 'self-assessment test result: PASSED' smartctl -x $char
part "reset" nvme reset $char
part "format to blocks of 4096" formats 1 4096
part "format to blocks of 512" formats 0 512
part "a second namespace is created, attached, written, detached and deleted" second_namespace
part "sanitize erases what was written" sanitized
part "ns-rescan" nvme ns-rescan $char
part "the driver goes" drive_goes
