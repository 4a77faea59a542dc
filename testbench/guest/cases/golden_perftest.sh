# name: perftest of the golden traces
# run: by hand
# record: A.hca B.hca
# timeout: 240
# With the default profile thousands of keys are made beforehand and destroyed again, which says nothing new.
part "mlx5_core comes with the smallest profile" modprobe mlx5_core prof_sel=0
part "the drivers come up" bring_up
for test in write read send; do
    part "$test: bandwidth" perf ib_${test}_bw -s 4096 -n 10 -t 4
    part "$test: latency" perf ib_${test}_lat -s 8 -n 10
done
part "atomics" perf ib_atomic_bw -n 10 -t 4
part "UD send" perf ib_send_bw -c UD -s 1024 -n 10 -t 4
part "the drivers go" unload_drivers
