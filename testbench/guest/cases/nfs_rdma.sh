# name: NFS over RDMA: files arrive and come back with the same SHA-256
# run: on demand
# machines: A B
# root: applications
# timeout: 300
. /hcasim/inside/two_guests.sh

export_a_directory() {
    mkdir -p /export /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs /proc/fs/nfsd
    mount -t tmpfs -o size=256M export /export && modprobe -a nfsd rpcrdma && mount -t nfsd nfsd /proc/fs/nfsd || return
    touch /var/lib/nfs/etab /var/lib/nfs/rmtab
    echo '/export 10.9.0.0/24(rw,fsid=0,no_root_squash,no_subtree_check,insecure)' >/etc/exports
    exportfs -ra && rpc.mountd -N 2 -N 3 && rpc.nfsd -N 3 --rdma=20049 4 || return
    grep -q '^rdma 20049' /proc/fs/nfsd/portlist || fail "$(cat /proc/fs/nfsd/portlist)" || return
    # A server that has just started lets nobody open a file for 90 s, in case clients of its former life come back.
    echo Y >/proc/fs/nfsd/v4_end_grace
}
import() {
    mkdir -p /mnt/far && modprobe -a nfs rpcrdma || return
    mount -t nfs -o vers=4.2,rdma,port=20049,sec=sys 10.9.0.1:/ /mnt/far || return
    grep -A 60 ' mounted on /mnt/far ' /proc/self/mountstats | grep -q 'xprt:.rdma' ||
        fail "$(cat /proc/self/mountstats)"
}
payloads() { # of sizes about those of pages, packets and transfers
    mkdir /tmp/payloads
    local size
    for size in 1 4095 4096 4097 65536 1048575 1048577 20000003; do
        head -c $size /dev/urandom >/tmp/payloads/$size || return
    done
    (cd /tmp/payloads && sha256sum -- * >/shared/sums)
}
are_written() { cp /tmp/payloads/* /mnt/far/ && sync -f /mnt/far && touch /shared/written; }
# A new mount has nothing in its cache.
are_read_back() {
    umount /mnt/far && import && (cd /mnt/far && sha256sum -c --quiet /shared/sums)
}
sum_of() { awk -v name="$1" '$2 == name { print $1 }' /shared/sums; }
are_read_directly() {
    local row name size
    for row in "1048577 4096" "20000003 65536" "20000003 1048575"; do
        read -r name size <<<"$row"
        sum=$(dd if=/mnt/far/$name iflag=direct bs=$size status=none | sha256sum | cut -d' ' -f1)
        [ "$sum" = "$(sum_of $name)" ] ||
            fail "$name by $size bytes: another sum" || return
    done
}
many_small_files() {
    local number
    for number in $(seq 60); do echo "file $number" >"/mnt/far/small.$number" || return; done
    umount /mnt/far && import || return
    [ "$(ls /mnt/far/small.* | wc -l)" = 60 ] || return
    for number in $(seq 60); do
        [ "$(cat "/mnt/far/small.$number")" = "file $number" ] || fail "file $number" || return
    done
}
have_arrived() {
    wait_until 300 [ -e /shared/written ] || fail "nothing was written" || return
    (cd /export && sha256sum -c --quiet /shared/sums)
}
end_the_export() {
    exportfs -ua
    rpc.nfsd 0 && pkill rpc.mountd
    sleep 0.5
    umount /proc/fs/nfsd /export && modprobe -r rpcrdma
}

part "the driver comes up" bring_up
part "IPoIB between the cards" network_over_the_cards
if [ "$MACHINE" = A ]; then
    part "a directory is exported" export_a_directory
    barrier exported 300
    part "the files have arrived" have_arrived
    barrier done 500
    part "the export ends" end_the_export
else
    part "files" payloads
    barrier exported 300
    part "it is mounted over RDMA" import
    part "the files are written" over_the_cable 22000000 are_written
    part "the files are read back" over_the_cable 22000000 are_read_back
    part "files are read past the cache" over_the_cable 40000000 are_read_directly
    part "many small files" many_small_files
    part "it is unmounted" umount /mnt/far
    barrier done 500
    part "the transport goes" eval 'wait_until 20 modprobe -r rpcrdma'
fi
part "the driver goes" leave_the_network
