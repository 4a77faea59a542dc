# name: a recorded session of stock drivers and perftest plays again without them, strictly identical, twice
# run: on demand
# record: all
# timeout: 240
part "the drivers come up" bring_up
part "send: bandwidth" perf ib_send_bw -s 65536 -n 200 -t 32
part "read: latency" perf ib_read_lat -n 100
part "the drivers go" unload_drivers
