# name: a recorded session of two guests plays again without them, strictly identical, twice
# run: on demand
# machines: A B
# record: all
# timeout: 240
. /hcasim/inside/two_guests.sh
between() { # PORT NAME COMMAND: its server in guest A, its client in B
    call "$1" "$2" "$3" "$3 $PEER"
}
part "the driver comes up" bring_up
between 18515 "rc pingpong" "ibv_rc_pingpong -d mlx5_0"
between 18515 "ud pingpong" "ibv_ud_pingpong -d mlx5_0"
between 18516 "send: bandwidth" "ib_send_bw -F -d mlx5_0 -p 18516 -s 65536 -n 200 -t 32"
between 18517 "read: latency" "ib_read_lat -F -d mlx5_0 -p 18517 -n 100"
part "the driver goes" unload_drivers
