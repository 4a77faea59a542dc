# Sourced by cases in which guest A offers a disk to guest B by the kernel's target and host over RDMA. Before it is
# sourced, `backing` names the disk, and `make_backing` brings it there; `before_it_is_offered DIRECTORY` may set more
# of its namespace.
. /hcasim/inside/two_guests.sh
subsystem=nqn.2014-08.org.nvmexpress:hcasim
target=/sys/kernel/config/nvmet

# --- guest A, the target ----------------------------------------------------------------------------------------------
offer_a_disk() {
    make_backing && modprobe nvmet-rdma || return
    mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || return
    mkdir $target/subsystems/$subsystem $target/subsystems/$subsystem/namespaces/1 $target/ports/1 || return
    echo 1 >$target/subsystems/$subsystem/attr_allow_any_host
    echo $backing >$target/subsystems/$subsystem/namespaces/1/device_path
    if declare -F before_it_is_offered >/dev/null; then
        before_it_is_offered $target/subsystems/$subsystem/namespaces/1 || return
    fi
    echo 1 >$target/subsystems/$subsystem/namespaces/1/enable || return
    echo rdma >$target/ports/1/addr_trtype
    echo ipv4 >$target/ports/1/addr_adrfam
    echo 10.9.0.1 >$target/ports/1/addr_traddr
    echo 4420 >$target/ports/1/addr_trsvcid
    offer
}
offer() { ln -s $target/subsystems/$subsystem $target/ports/1/subsystems/$subsystem; }
withdraw() { rm $target/ports/1/subsystems/$subsystem; }
take_apart() {
    echo 0 >$target/subsystems/$subsystem/namespaces/1/enable || return
    rmdir $target/subsystems/$subsystem/namespaces/1 $target/subsystems/$subsystem $target/ports/1
}

# --- guest B, the host ------------------------------------------------------------------------------------------------
controller() { ls -d /sys/class/nvme/nvme* 2>/dev/null | head -n 1; }
is_live() { [ "$(cat "$(controller)/state")" = live ]; }
is_not_live() { ! is_live; }
connect() {
    modprobe nvme-rdma || return
    nvme connect -t rdma -a 10.9.0.1 -s 4420 -n $subsystem -q nqn.2014-08.org.nvmexpress:host \
        -I 6f9b8a3c-7f3c-4a4e-9d50-0d6c2d1a5f10 --nr-io-queues=2 --reconnect-delay=1 --ctrl-loss-tmo=300 || return
    wait_until 60 [ -b /dev/nvme0n1 ] && is_live
}
