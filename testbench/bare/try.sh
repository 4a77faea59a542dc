#!/bin/bash
# try.sh RELEASE MIRROR SECURITY-MIRROR [COMMAND]...: the README's commands (or others) on a minimal Debian that has
# nothing but git, in an empty environment, on a fresh clone of HEAD. `./dev test bare` calls it; it wants root and
# debootstrap. The system is made below build/bare and removed at the end; the logs stay beside it. All mounts and
# processes live in name spaces of their own, which the kernel takes down with the command, however that ends: none is
# ever seen outside.
set -Eeuo pipefail
root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
release=$1 mirror=$2 security=$3
shift 3
place=$root/build/bare
system=$place/$release

case $release in
bookworm) commands=("./dev run" "./dev test") ;;
# Fuzz targets and witnesses are fetched and built the same way on both; what differs are the compiler and the
# libraries.
trixie) commands=("./dev run" "./dev test unit" "./dev test module" "./dev test scenario") ;;
*)
    echo "bare: no commands are known for $release; there are bookworm and trixie" >&2
    exit 2
    ;;
esac
[ $# = 0 ] || commands=("$@")

say() { printf '%s %s\n' "-- bare: $release:" "$*" >&2; }

mkdir -p "$place"
exec 9>"$place/.$release.lock"
flock -n 9 || {
    say "somebody else is trying it"
    exit 2
}
set -m # a step is a group of processes, which can be ended together
child=
clean() {
    # Its name space of processes dies with it, and so nothing is left that could hold a mount.
    if [ -n "$child" ]; then
        kill -KILL -- "-$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    fi
    rm -rf --one-file-system "$system"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
clean
rm -f "$place/$release".*.log

# within SCRIPT [ARGUMENTS]: bash, in name spaces of its own. Our lock is not its.
within() { unshare --mount --pid --fork --kill-child --mount-proc bash -euo pipefail -c "$@" 9>&-; }

# step LOG NAME COMMAND...: shows how long it takes and what it says last, on a terminal in one line.
verdicts=() failed=0
step() {
    local log=$place/$release.$1.log name=$2 status=0 last=0 before='' after=$'\n' every=60 said
    shift 2
    [ -t 2 ] && before=$'\r\033[K' after='' every=2
    say "$name"
    SECONDS=0
    "$@" >"$log" 2>&1 </dev/null &
    child=$!
    while kill -0 "$child" 2>/dev/null; do
        sleep 1
        [ $((SECONDS - last)) -ge $every ] || continue
        last=$SECONDS
        said=$(tail -c 4000 "$log" | tr '\r' '\n' | awk 'NF { line = $0 } END { print line }' | tr -cd '[:print:]')
        printf '%s-- bare: %s: %s: %d s: %.70s%s' "$before" "$release" "$name" $SECONDS "$said" "$after" >&2
    done
    wait "$child" || status=$?
    child=
    printf '%s' "$before" >&2
    if [ $status = 0 ]; then
        verdicts+=("$(printf '%-10s %-24s %6d s  ok' "$release" "$name" $SECONDS)")
    else
        verdicts+=("$(printf '%-10s %-24s %6d s  FAILED with %d, see %s' \
            "$release" "$name" $SECONDS $status "${log#"$root"/}")")
        say "$name failed with $status; the end of ${log#"$root"/}:"
        tail -n 40 "$log" | sed 's/^/        /' >&2
        failed=1
    fi
}

make_system() {
    local packages=git
    if [[ $mirror$security == *https:* ]]; then packages+=,ca-certificates; fi
    # shellcheck disable=SC2016
    within 'debootstrap --variant=minbase --include="$1" "$2" "$3" "$4"' bash "$packages" "$release" "$system" "$mirror"
    printf 'deb %s %s main\n' "$mirror" "$release" "$mirror" "$release-updates" "$security" "$release-security" \
        >"$system/etc/apt/sources.list"
    cp -L /etc/resolv.conf /etc/hosts "$system/etc/"
    git -C "$root" bundle create -q "$system/srv/head.bundle" HEAD
    in_system / git clone -q /srv/head.bundle /srv/hcasim
}

in_system() { # DIRECTORY COMMAND...
    local directory=$1
    shift
    # shellcheck disable=SC2016
    within '
        system=$1 directory=$2
        shift 2
        mount -t proc proc "$system/proc"
        mount -t sysfs -o ro sys "$system/sys"
        mount -t devpts -o newinstance,ptmxmode=0666 pts "$system/dev/pts"
        mount -t tmpfs shm "$system/dev/shm"
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
            chroot "$system" /bin/sh -c "cd $directory && exec \"\$@\"" sh "$@"' bash "$system" "$directory" "$@"
}

[ -z "$(git -C "$root" status --porcelain -uno)" ] || say "uncommitted changes are not tried: the clone is of HEAD"
# Never asked for its status: bash would forget `set -e` in all that it calls.
step 0-system "a minimal system" make_system
if [ $failed = 0 ]; then
    number=0
    for command in "${commands[@]}"; do
        number=$((number + 1))
        name=$number-$(tr -cs 'a-z0-9\n' '-' <<<"${command#./}" | cut -c1-40)
        # shellcheck disable=SC2086
        step "$name" "$command" in_system /srv/hcasim $command
    done
fi
printf '%s\n' "${verdicts[@]}"
exit $failed
