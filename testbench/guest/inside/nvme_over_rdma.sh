# A disk of guest A in guest B (offered_disk.sh says what a case names before it is sourced): it is written and
# verified, reset, lost and found.
. /hcasim/inside/offered_disk.sh
fio_verifies() { # OPTIONS...
    fio --name=verify --filename=/dev/nvme0n1 --ioengine=libaio --iodepth=8 --direct=1 \
        --verify=sha256 --verify_fatal=1 \
        --do_verify=1 "$@"
}
# fio writes at a bounded rate all the while; what it reads back afterwards has to be what it wrote.
fio_verifies_across() { # WHAT-HAPPENS
    local fio
    fio_verifies --rw=randwrite --bs=16k --size=32M --rate=2M >/tmp/fio 2>&1 &
    fio=$!
    written=$(awk '{ print $7 }' /sys/block/nvme0n1/stat)
    wait_until 60 eval '[ "$(awk "{ print \$7 }" /sys/block/nvme0n1/stat)" -gt $(('"$written"' + 2048)) ]' ||
        fail "nothing is written: $(cat /tmp/fio)" || return
    "$1" || return
    kill -0 $fio || fail "fio had ended before: $(cat /tmp/fio)" || return
    wait $fio || fail "$(cat /tmp/fio)"
}
reset_and_wait() { echo 1 >"$(controller)/reset_controller" && wait_until 120 is_live; }
lose_and_find_the_target() {
    touch /shared/withdraw
    wait_until 120 is_not_live || fail "the host has not noticed" || return
    wait_until 120 eval 'dmesg | grep -q "Failed reconnect attempt"' || fail "the host does not try again" || return
    touch /shared/offer
    wait_until 240 is_live || fail "it is $(cat "$(controller)/state")"
}
goes_and_comes() {
    wait_until 300 [ -e /shared/withdraw ] && withdraw && wait_until 300 [ -e /shared/offer ] && offer
}

part "the driver comes up" bring_up
part "IPoIB between the cards" network_over_the_cards
if [ "$MACHINE" = A ]; then
    part "a disk is offered" offer_a_disk
    barrier offered 300
    part "it goes away and comes back" goes_and_comes
    barrier done 500
    part "it is withdrawn" withdraw
    part "its namespace and its port go" take_apart
    part "nothing of the target is left" modprobe -r nvmet-rdma
else
    barrier offered 300
    part "the host connects" connect
    part "fio verifies 4 KiB" over_the_cable 16777216 fio_verifies --rw=randwrite --bs=4k --size=8M
    part "fio verifies 64 KiB" over_the_cable 67108864 fio_verifies --rw=randwrite --bs=64k --size=32M
    part "fio verifies 1 MiB" over_the_cable 67108864 fio_verifies --rw=write --bs=1M --size=32M
    part "the controller is reset while fio writes" fio_verifies_across reset_and_wait
    part "the target goes and comes back while fio writes" fio_verifies_across lose_and_find_the_target
    part "the host disconnects" nvme disconnect -n $subsystem
    part "the host's driver goes" modprobe -r nvme-rdma
    barrier done 500
fi
part "the driver goes" leave_the_network
