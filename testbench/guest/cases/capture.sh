# name: tshark finds nothing wrong with the frames of pingpongs and of perftest
# run: on demand
# capture: yes
# timeout: 240
part "the drivers come up" bring_up
for kind in rc uc ud srq; do part "pingpong $kind" pingpong $kind -n 20; done
part "pingpong xsrq" pingpong xsrq
for size in 1 4096 4097 65536; do
    for test in write read send; do part "$test of $size bytes" perf ib_${test}_bw -s $size -n 10 -t 8; done
done
part "send with immediate data" perf ib_write_bw --write_with_imm -s 5000 -n 10 -t 8
part "atomics" perf ib_atomic_bw -n 20
part "UC write" perf ib_write_bw -c UC -s 20000 -n 10 -t 8
part "UC send" perf ib_send_bw -c UC -s 20000 -n 10 -t 8
part "UD send" perf ib_send_bw -c UD -s 2048 -n 10 -t 8
