"""What is in a guest: packages, kernels, modules. Data only; image.py does the work. Each entry has its reason."""

# QEMU before 10.1 has no vfio-user-pci.
QEMU_SUITES = ["trixie", "trixie-backports"]
QEMU_PINNED = ("qemu* seabios ipxe*", "trixie-backports")
QEMU_PACKAGES = ["qemu-system-x86"]

ROOT_SUITES = ["trixie"]
ROOT_PACKAGES = """
    base-files bash coreutils grep sed gawk findutils diffutils util-linux mount procps psmisc tar gzip hostname
    libc-bin kmod busybox-static iproute2 iputils-ping ethtool pciutils iperf3 netcat-openbsd
    rdma-core ibverbs-utils ibverbs-providers rdmacm-utils infiniband-diags ibutils opensm perftest
    python3 python3-pyverbs python3-scapy
    nvme-cli smartmontools fio e2fsprogs numactl strace ncurses-base ncurses-bin less vim-tiny
""".split()
# Name in the head of a case: packages. What only some cases want is in a root of its own, made when the first of them
# runs.
ROOTS = {
    "tools": ROOT_PACKAGES,
    "applications": ROOT_PACKAGES + """
        ucx-utils openmpi-bin python3-mpi4py openssh-server openssh-client nfs-kernel-server nfs-common
    """.split(),
}

# Name on our command line: suites, the kernel's package.
KERNELS = {
    "6.1": (["bookworm", "bookworm-security"], r"^linux-image-6\.1\.[0-9.]+-[0-9]+-amd64$"),
    "6.12": (["trixie"], r"^linux-image-6\.12\.[0-9.]+\+deb13-amd64$"),
    "7.2": (["trixie-backports"], r"^linux-image-7\.2\.[0-9.]+\+deb13-amd64$"),
}
DEFAULT_KERNEL = "6.12"

# Modules, by patterns of their paths; what they depend on comes along.
MODULES = [
    # the driver and what stands on it; storage over RDMA
    r"drivers/infiniband/(core|ulp|hw/mlx5|sw)/", r"drivers/net/ethernet/mellanox/mlx5/",
    r"fs/(nfs|nfsd|configfs)/", r"net/sunrpc/", r"drivers/block/null_blk/",
    # other devices, other drivers; the guest's own surroundings
    r"drivers/nvme/", r"drivers/vfio/", r"drivers/uio/", r"pci-pf-stub",
    r"virtio_(net|blk|pci|console)", r"fs/(ext4|9p|overlayfs)/", r"net/9p/9pnet(_virtio)?\.",
    r"drivers/net/(veth|dummy|tun|macvlan|bonding/bonding|vxlan/vxlan)\b", r"net/rds/", r"net/sched/",
    # named by alias, not in modules.dep
    r"^kernel/crypto/", r"arch/x86/crypto/", r"^kernel/lib/",
]
# What has to be there before the root is: a stage of a few megabytes.
EARLY_MODULES = ["virtio_pci", "virtio_blk", "virtio_console", "ext4", "9p", "9pnet_virtio"]
