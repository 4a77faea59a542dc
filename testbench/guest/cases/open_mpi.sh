# name: Open MPI runs over UCX between two guests with no variable set: ring, collectives, one-sided; no byte is wrong
# run: on demand
# machines: A B
# root: applications
# memory: 2G
# timeout: 300
. /hcasim/inside/two_guests.sh

# Debian's Open MPI says `pml = ^ucx` in /etc/openmpi: its default is not UCX but the kernel's sockets. So the launcher
# is told to take UCX, for messages and for one-sided access. That chooses a component of Open MPI and no more: no
# variable is set, nothing of UCX or of the cards is tuned, and that it was the cards shows in their counters. With two
# ranks a guest some neighbours share memory and some have the cable between them.
mpi() { # RANKS-A-GUEST PROGRAM...
    local ranks=$1 status=0
    shift
    mpirun.openmpi --allow-run-as-root --mca pml ucx --mca osc ucx \
        --host "guest-A:$ranks,guest-B:$ranks" --map-by slot \
        --bind-to none -n $((2 * ranks)) "$@" >/tmp/mpi 2>&1 || status=$?
    cat /tmp/mpi
    ! grep -E '\b(ERROR|WARN|WARNING|FATAL)\b' /tmp/mpi && return $status
}
ranks_are_apart() {
    mpi 1 hostname || return
    [ "$(grep -o 'guest-[AB]' /tmp/mpi | sort | paste -sd' ')" = "guest-A guest-B" ]
}
checks() { # RANKS CHECK
    mpi "$1" python3 -B /hcasim/inside/mpi_checks.py "$2" && grep -q 'every byte is right' /tmp/mpi
}

part "the driver comes up" bring_up
part "a shell in each other" secure_shells
if [ "$MACHINE" = A ]; then
    part "ranks in both guests" ranks_are_apart
    # A rank sends each size once; the largest alone is a megabyte.
    part "ring of two" over_the_cable 2000000 checks 1 ring
    part "collectives of two" over_the_cable 8000000 checks 1 collectives
    part "one-sided by two" over_the_cable 4000000 checks 1 one_sided
    part "ring of four" over_the_cable 2000000 checks 2 ring
    part "collectives of four" over_the_cable 8000000 checks 2 collectives
    part "one-sided by four" over_the_cable 4000000 checks 2 one_sided
fi
barrier done 280
pkill sshd
part "the driver goes" unload_drivers
both_are_gone
