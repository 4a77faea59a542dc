# name: two guests pingpong over the cable between their cards
# run: on demand
# machines: A B
# timeout: 180
talk() { # KIND
    if [ "$MACHINE" = A ]; then
        "ibv_$1_pingpong" -d mlx5_0 &
        server=$!
        wait_until 20 grep -q ':4853 00000000:0000 0A' /proc/net/tcp /proc/net/tcp6 # port 18515, listening
        barrier "$1"
        wait $server
    else
        barrier "$1" && "ibv_$1_pingpong" -d mlx5_0 "$PEER"
    fi
}
part "the driver comes up" bring_up
for kind in rc uc ud srq xsrq; do part "$kind" talk $kind; done
part "the driver goes" unload_drivers
