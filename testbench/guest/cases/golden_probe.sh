# name: the probe of the golden traces
# run: by hand
# record: all
# timeout: 120
part "the drivers come up" bring_up
part "the drivers go" unload_drivers
