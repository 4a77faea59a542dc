# name: mlx5_core and mlx5_ib probe with the default profile and eight vectors, and the ports come up
# set: hca.msix_vectors=8

vectors_are() {
    local device count
    for device in $(rdma_devices); do
        count=$(ls "/sys/class/infiniband/$device/device/msi_irqs" | wc -l)
        [ "$count" -ge 1 ] && [ "$count" -le "$1" ] || fail "$device uses $count vectors, of $1" || return
        [ "$(lspci -vv -s "$(basename "$(readlink -f "/sys/class/infiniband/$device/device")")" |
            sed -n 's/.*MSI-X: Enable+ Count=\([0-9]*\) .*/\1/p')" = "$1" ] ||
            fail "$device has not $1 vectors" || return
    done
}

devinfo_says_active() {
    local shown device
    for device in $(rdma_devices); do
        shown=$(ibv_devinfo -v -d "$device") || return
        grep -q 'state:.*PORT_ACTIVE (4)' <<<"$shown" && grep -q 'link_layer:.*InfiniBand' <<<"$shown" ||
            fail "$shown" || return
    done
}

profile_is_default() { [ "$(cat /sys/module/mlx5_core/parameters/prof_sel)" = 2 ] || fail "prof_sel is another"; }

part "the drivers come up" bring_up
part "the profile is the default one" profile_is_default
part "the vectors are those of the card" vectors_are "${vectors:-8}"
part "ibv_devinfo -v says PORT_ACTIVE" devinfo_says_active
part "the drivers go" unload_drivers
