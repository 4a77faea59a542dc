# name: the pingpongs of rdma-core run between two cards and on one, polling and by events
# timeout: 240
part "the drivers come up" bring_up
for kind in rc uc ud srq xsrq; do
    check=-c
    [ $kind = xsrq ] && check= # says it by another letter
    part "$kind" pingpong $kind $check
    part "$kind by events" pingpong $kind $check -e
done
part "rc, a megabyte at a time" pingpong rc -c -s 1048576 -n 50
for kind in rc srq; do part "$kind on demand" pingpong $kind -c -o -s 65536 -n 100; done
part "rc on demand, prefetched" pingpong rc -c -o -P -s 65536 -n 100
part "rc, small queues and the newer calls" pingpong rc -c -N -r 2 -n 200
for kind in rc uc ud srq xsrq; do part "$kind on one card" env FROM=mlx5_0 TO=mlx5_0 pingpong $kind; done
part "the drivers go" unload_drivers
part "nothing is left" nothing_is_held
