# name: the kernel's target offers our drive over our HCA, and another host uses it as its own
# run: on demand
# platform: platform/configs/storage_target.toml
# machines: A B
# timeout: 300
backing=/dev/nvme0n1
make_backing() { modprobe nvme && wait_until 60 [ -b $backing ]; }
. /hcasim/inside/nvme_over_rdma.sh
if [ "$MACHINE" = A ]; then
    # 8 + 32 + 32 + 2 x 32 MiB were written, each read again for its checksum.
    bytes_went_to_the_drive() {
        local written
        written=$(($(awk '{ print $7 }' /sys/block/nvme0n1/stat) * 512))
        [ $written -ge $((136 << 20)) ] || fail "only $written bytes were written to the drive"
    }
    part "all that was written is on the drive" bytes_went_to_the_drive
    part "the drive's driver goes" modprobe -r nvme
fi
