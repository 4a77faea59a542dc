# What each kernel has to do: probe, talk by each kind of queue pair, unload.
kernel_is() { [[ $(uname -r) == "$1".* ]] || fail "this is $(uname -r)"; }

part "the kernel is the wanted one" kernel_is "$KERNEL"
part "the drivers come up" bring_up
for kind in rc uc ud srq xsrq; do part "pingpong $kind" pingpong $kind; done
for kind in rc srq; do part "pingpong $kind on demand" pingpong $kind -o; done
part "the drivers go" unload_drivers
