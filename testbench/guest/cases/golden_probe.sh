# name: the probe of the golden traces
# run: by hand
# record: A.hca B.hca
# timeout: 120
# With the default profile thousands of keys are made beforehand and destroyed again, which says nothing new.
part "mlx5_core comes with the smallest profile" modprobe mlx5_core prof_sel=0
part "the drivers come up" bring_up
part "the drivers go" unload_drivers
