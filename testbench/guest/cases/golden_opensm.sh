# name: the sweep of the golden traces
# platform: platform/configs/fabric.toml
# run: by hand
# record: A.hca B.hca
# timeout: 240
manager=0x0002c90300000001
ports_appear() {
    modprobe mlx5_core prof_sel=0 || return # the default profile makes thousands of keys beforehand
    modprobe -a "${drivers[@]}" || return
    wait_until 30 eval '[ "$(rdma_devices | wc -l)" = 2 ]' || fail "the cards do not appear"
}
manage() {
    opensm -g $manager -B -f /tmp/opensm.log
    wait_until 60 all_active || {
        cat /tmp/opensm.log
        return 1
    }
}
part "the drivers come up" ports_appear
part "opensm brings the ports up" manage
pkill opensm
part "the drivers go" unload_drivers
