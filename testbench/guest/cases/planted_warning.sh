# name: a warning of the kernel that nobody knows fails a case
# expect: the kernel said, unknown to us: planted by a case
part "plant" bash -c 'echo "<4>planted by a case" >/dev/kmsg'
