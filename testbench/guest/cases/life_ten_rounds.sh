# name: a drive, the drive over the fabric and 64 queue pairs are in use at once, ten times, and nothing is left
# run: on demand
# platform: platform/configs/storage_target.toml
# machines: A B
# memory: 2G
# timeout: 1500
backing=/dev/nvme0n1
make_backing() { modprobe nvme && wait_until 60 [ -b $backing ]; }
. /hcasim/inside/offered_disk.sh
rounds=10
disturbances=("the controller is reset" "the programs are killed" "the drive is reset"
    "the subnet manager is another one" "the target goes and comes back")

# --- what goes on at the same time ------------------------------------------------------------------------------------
# The drive's first half is the other host's, its second half the own host's.
work_on_the_disk() { # OFFSET
    rm -f /tmp/fio.status
    (
        fio --name=verify --filename=/dev/nvme0n1 --ioengine=libaio --iodepth=8 --direct=1 --verify=sha256 \
            --verify_fatal=1 --do_verify=1 --rw=randwrite --bs=16k --offset="$1" --size=32M --rate=2M \
            >/tmp/fio 2>&1
        echo $? >/tmp/fio.status
    ) &
    local written
    written=$(awk '{ print $7 }' /sys/block/nvme0n1/stat)
    wait_until 60 eval '[ "$(awk "{ print \$7 }" /sys/block/nvme0n1/stat)" -gt $(('"$written"' + 512)) ]' ||
        fail "nothing is written: $(cat /tmp/fio)"
}
disk_is_good() {
    wait_until 120 [ -e /tmp/fio.status ] && [ "$(cat /tmp/fio.status)" = 0 ] || fail "$(cat /tmp/fio)"
}
is_still_working() { [ ! -e /tmp/fio.status ] || fail "fio had ended before: $(cat /tmp/fio)"; }
traffic() {
    local sent
    if [ "$MACHINE" = A ]; then
        ib_write_bw -F -d mlx5_0 -s 4096 -q 64 -b --run_infinitely >/tmp/perftest 2>&1 &
        wait_until 60 is_listening 18515 || fail "$(cat /tmp/perftest)" || return
        barrier "traffic.$round" 300
    else
        barrier "traffic.$round" 300 || return
        sent=$(cat $counters/port_xmit_data)
        ib_write_bw -F -d mlx5_0 -s 4096 -q 64 -b --run_infinitely "$PEER" >/tmp/perftest 2>&1 &
        wait_until 60 eval "[ \$(cat $counters/port_xmit_data) -gt $((sent + 1000000)) ]" ||
            fail "nothing moves: $(cat /tmp/perftest)"
    fi
}
traffic_ends() {
    pkill -9 ib_write_bw
    wait_until 60 eval '! pgrep ib_write_bw' || fail "it goes on"
}

# --- what happens meanwhile -------------------------------------------------------------------------------------------
disturb() { # NUMBER; in both guests
    case $1.$MACHINE in
    0.B) echo 1 >"$(controller)/reset_controller" && wait_until 120 is_live ;;
    1.*) traffic_ends ;;
    2.A)
        local device
        device=$(readlink -f "$(controller)/device")
        echo flr >"$device/reset_method" && echo 1 >"$device/reset" && wait_until 60 is_live
        ;;
    3.A) pkill opensm && sleep 1 && opensm -B -f /tmp/opensm.log && wait_until 60 sminfo -C mlx5_0 ;;
    4.A)
        wait_until 60 [ -e "/shared/look.$round" ] && withdraw && wait_until 120 [ -e "/shared/offer.$round" ] && offer
        ;;
    4.B)
        touch "/shared/look.$round"
        wait_until 120 is_not_live || fail "the host has not noticed" || return
        touch "/shared/offer.$round"
        wait_until 240 is_live || fail "it is $(cat "$(controller)/state")"
        ;;
    esac
}

# --- a round ----------------------------------------------------------------------------------------------------------
take_the_target_apart() { withdraw && take_apart && modprobe -r nvmet-rdma && modprobe -r nvme; }
disconnect() { nvme disconnect -n $subsystem && modprobe -r nvme-rdma; }
# What the simulator has of memory that is its own, now that nobody holds anything.
memory_of_the_simulator() {
    rm -f /exchange/memory
    echo "memory" >&8
    wait_until 15 [ -e /exchange/memory ] && remark "$(cat /exchange/memory) KiB" &&
        cat /exchange/memory >>/tmp/memory
}
# The first rounds meet each disturbance once, and tables and pools grow to what they need.
memory_does_not_grow() {
    local then now
    then=$(sed -n 5p /tmp/memory) now=$(sed -n ${rounds}p /tmp/memory)
    [ "$now" -le $((then + then / 50)) ] || fail "KiB by round: $(tr '\n' ' ' </tmp/memory)"
}

for round in $(seq $rounds); do
    what=$(((round - 1) % ${#disturbances[@]}))
    part "$round: the drivers come up" bring_up
    part "$round: IPoIB between the cards" network_over_the_cards
    if [ "$MACHINE" = A ]; then
        part "$round: the drive is offered" offer_a_disk
        barrier "offered.$round" 300
        part "$round: its host uses it" work_on_the_disk 128M
    else
        barrier "offered.$round" 300
        part "$round: the other host connects" connect
        part "$round: and uses it" work_on_the_disk 0
    fi
    part "$round: 64 queue pairs" traffic
    barrier "begun.$round" 300
    part "$round: the disk is in use" is_still_working
    part "$round: ${disturbances[what]}" disturb $what
    # How long a subnet manager takes is its own business, and the host beside the drive notices little.
    case $what.$MACHINE in
    0.B | 2.? | 4.B) part "$round: the disk was in use all the while" is_still_working ;;
    esac
    barrier "disturbed.$round" 300
    part "$round: what was written can be read" disk_is_good
    part "$round: the programs end" traffic_ends
    barrier "worked.$round" 300
    [ "$MACHINE" = A ] || part "$round: the host disconnects" disconnect
    barrier "disconnected.$round" 300
    [ "$MACHINE" = B ] || part "$round: the target goes" take_the_target_apart
    part "$round: the drivers go" leave_the_network
    barrier "gone.$round" 300
    if [ "$MACHINE" = A ]; then
        part "$round: nothing is left" nothing_is_held
        part "$round: memory of the simulator" memory_of_the_simulator
    fi
    barrier "over.$round" 300
done
[ "$MACHINE" = B ] || part "the simulator's memory does not grow" memory_does_not_grow
