# Sourced by scripts of the guest: the drivers, and waiting for what they bring up.

drivers=(mlx5_core mlx5_ib ib_uverbs rdma_ucm ib_umad)

rdma_devices() { ls /sys/class/infiniband 2>/dev/null; }

# wait_until SECONDS COMMAND...: polls; 1 when the time is over.
wait_until() {
    local end=$((${EPOCHREALTIME/./} + $1 * 1000000))
    shift
    until "$@"; do
        [ "${EPOCHREALTIME/./}" -lt $end ] || return 1
        sleep 0.05
    done
}

# One RDMA device for each function that is an mlx5 device, each with a port that says ACTIVE.
# Without udev their names are the kernel's own: mlx5_0 belongs to the first slot.
all_active() {
    local device port expected
    expected=$(cat /sys/bus/pci/devices/*/vendor | grep -c 0x15b3)
    [ "$(rdma_devices | wc -l)" = "$expected" ] || return 1
    for device in $(rdma_devices); do
        for port in /sys/class/infiniband/"$device"/ports/*; do grep -q ACTIVE "$port/state" || return 1; done
    done
}

load_drivers() {
    modprobe -a "${drivers[@]}" || return
    wait_until "${1:-60}" all_active || {
        echo "after ${1:-60} s the ports are not active:" \
            "$(cat /sys/class/infiniband/*/ports/*/state 2>&1 | tr '\n' ' ')" >&2
        return 1
    }
}

unload_drivers() {
    modprobe -r ib_ipoib rdma_ucm ib_umad 2>/dev/null
    modprobe -r mlx5_ib && modprobe -r mlx5_core
}
