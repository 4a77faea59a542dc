# name: the gpudirect scenario runs in the guest on cards that vfio-pci has, behind an IOMMU
# run: on demand
# iommu: yes
# programs: hcadrive
# timeout: 180

# HCA and GPU of machine A, then of machine B: in the order of their slots.
functions() { lspci -Dn | grep -E ' (15b3|10de):' | cut -d' ' -f1; }

drive() { LD_LIBRARY_PATH=/shared/programs /shared/programs/hcadrive $(functions) "$@"; }

is_refused_with_advice() {
    local said
    said=$(drive 2>&1) && fail "it ran" && return 1
    grep -q 'the function has no driver; give it to vfio-pci: modprobe vfio-pci' <<<"$said" || fail "$said"
}

bind() {
    local function
    modprobe vfio-pci || return
    for function in $(functions); do
        echo vfio-pci >"/sys/bus/pci/devices/$function/driver_override"
        echo "$function" >/sys/bus/pci/drivers_probe
        [ "$(basename "$(readlink "/sys/bus/pci/devices/$function/driver")")" = vfio-pci ] ||
            fail "$function is not bound" || return
    done
    [ "$(functions | wc -l)" = 4 ] || fail "these are not four functions: $(functions)"
}

is_verified() {
    local said
    said=$(drive "$@") || fail "$said" || return
    [ "$(tail -n 1 <<<"$said")" = "  verified" ] || fail "$said" || return
    remark "$(awk '/^  (WRITE|READ|SEND) .*equal/ { print $1, $(NF - 2), $(NF - 1) }' <<<"$said" |
        paste -sd, | sed 's/,/, /g')"
}

payload() { head -c "$1" /dev/urandom >/tmp/payload; }

# In the midst of its WRITEs; the kernel takes back what it had, and the cards with it.
is_killed() {
    local program
    payload 16777216
    LD_LIBRARY_PATH=/shared/programs \
        /shared/programs/hcadrive $(functions) --payload /tmp/payload --message 4096 >/tmp/killed &
    program=$!
    wait_until 30 grep -q moving /tmp/killed || fail "it does not begin: $(cat /tmp/killed)" || return
    sleep 1
    kill -9 $program || fail "it had ended: $(cat /tmp/killed)"
    wait $program
    return 0
}

one_machine_for_both() {
    local all
    mapfile -t all < <(functions)
    payload 100001
    LD_LIBRARY_PATH=/shared/programs /shared/programs/hcadrive "${all[2]}" "${all[3]}" "${all[0]}" "${all[1]}" \
        --payload /tmp/payload --message 1000 --qps 4 --mtu 1024
}

part "a function that vfio-pci does not have is refused, with what to do" is_refused_with_advice
part "vfio-pci takes the cards" bind
part "WRITE, READ and SEND from VRAM to VRAM are verified" is_verified
part "a program is killed while it writes" is_killed
part "the next one finds cards as new" is_verified --message 65536 --qps 2
part "and so it does with the sides exchanged" one_machine_for_both
