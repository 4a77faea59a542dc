# name: NVMe over RDMA: a host writes, fio verifies, the controller is reset and the target goes and comes back
# run: on demand
# machines: A B
# timeout: 300
backing=/dev/nullb0
make_backing() { modprobe null_blk memory_backed=1 gb=1 bs=512; }
. /hcasim/inside/nvme_over_rdma.sh
