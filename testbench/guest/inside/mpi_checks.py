"""mpi_checks.py CHECK: what ranks of an MPI program say to each other, every byte looked at.

CHECK is ring, collectives or one_sided. Contents are functions of who sent what in which round, so that a byte of
another rank, another round or another place is another byte.
"""

import sys
from array import array

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()
SIZES = (0, 1, 8, 63, 256, 2049, 8192, 65537, 1 << 20)


def payload(sender, turn, count):
    """Bytes of their own for each sender and turn, by a period that no power of two divides."""
    start = (sender * 89 + turn * 31) % 251
    pattern = bytes(range(251)) * (count // 251 + 2)
    return bytearray(pattern[start:start + count])


def same(got, expected, what):
    if got != expected:
        at = next((i for i, (one, other) in enumerate(zip(got, expected)) if one != other),
                  min(len(got), len(expected)))
        values = f"{got[at:at + 8]} instead of {expected[at:at + 8]}"
        raise AssertionError(f"rank {RANK}: {what}: from {at} of {len(expected)} on {values}")


def ring():
    after, before = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    for turn, count in enumerate(SIZES):
        got = bytearray(count)
        request = WORLD.Irecv(got, source=before, tag=turn)
        WORLD.Send(payload(RANK, turn, count), dest=after, tag=turn)
        request.Wait()
        same(got, payload(before, turn, count), f"{count} bytes around the ring")
    # Many at once, asked for in another order than they are sent.
    several = [bytearray(4096) for _ in range(32)]
    requests = [WORLD.Irecv(several[turn], source=before, tag=turn) for turn in reversed(range(32))]
    requests += [WORLD.Isend(payload(RANK, turn, 4096), dest=after, tag=turn) for turn in range(32)]
    MPI.Request.Waitall(requests)
    for turn, got in enumerate(several):
        same(got, payload(before, turn, 4096), f"message {turn} of many")


def collectives():
    for turn, count in enumerate(SIZES):
        for root in range(SIZE):
            got = payload(RANK, turn, count)
            WORLD.Bcast(got, root=root)
            same(got, payload(root, turn, count), f"broadcast of {count} bytes by {root}")
        got = bytearray(count * SIZE)
        WORLD.Allgather(payload(RANK, turn, count), got)
        same(got, b"".join(payload(rank, turn, count) for rank in range(SIZE)), f"allgather of {count} bytes")
        sent = b"".join(payload(RANK * SIZE + rank, turn, count) for rank in range(SIZE))
        WORLD.Alltoall(bytearray(sent), got)
        same(got, b"".join(payload(rank * SIZE + RANK, turn, count) for rank in range(SIZE)),
             f"alltoall of {count} bytes")
    for count in (1, 1000, 100000):
        own = array("q", (RANK * 1000003 + number for number in range(count)))
        total = array("q", bytes(8 * count))
        WORLD.Allreduce(own, total, op=MPI.SUM)
        ranks = SIZE * (SIZE - 1) // 2 * 1000003
        same(total, array("q", (ranks + SIZE * number for number in range(count))), f"sum of {count} numbers")
        WORLD.Allreduce(own, total, op=MPI.MAX)
        same(total, array("q", ((SIZE - 1) * 1000003 + number for number in range(count))),
             f"maximum of {count} numbers")
        share = array("q", bytes(8 * count))
        WORLD.Reduce_scatter_block(own * SIZE, share, op=MPI.SUM)
        same(share, array("q", (ranks + SIZE * number for number in range(count))), f"scattered sum of {count} numbers")
    WORLD.Barrier()


def one_sided():
    most = SIZES[-1]
    memory = bytearray(most)
    window = MPI.Win.Create(memory, disp_unit=1, comm=WORLD)
    after, before = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    for turn, count in enumerate(SIZES):
        memory[:] = bytes(most)
        window.Fence()
        sent = payload(RANK, turn, count)  # has to live until the fence: only then has it been read
        window.Put(sent, after)
        window.Fence()
        same(memory, payload(before, turn, count) + bytes(most - count), f"put of {count} bytes")
        window.Fence()
        got = bytearray(count)
        window.Get(got, after)
        window.Fence()
        same(got, payload(RANK, turn, count), f"get of {count} bytes")
    window.Free()

    # All at once on the numbers of rank 0.
    numbers = array("q", [0] * 8)
    window = MPI.Win.Create(numbers, disp_unit=8, comm=WORLD)
    turns = 50
    window.Lock_all()
    seen, one, own = [], array("q", [1]), array("q", [RANK + 1])
    for _ in range(turns):
        old = array("q", [0])
        window.Fetch_and_op(one, old, 0, 0, MPI.SUM)
        window.Flush(0)
        seen.append(old[0])
        window.Accumulate(own, 0, (1, 1, MPI.LONG_LONG), op=MPI.SUM)
        window.Flush(0)
    # Each swaps its successor in when its own turn has come: they only get through in order.
    expected, old = array("q", [RANK]), array("q", [-1])
    while old[0] != RANK:
        window.Compare_and_swap(own, expected, old, 0, 2)
        window.Flush(0)
    window.Unlock_all()
    WORLD.Barrier()
    everybody = sorted(number for numbers_of_one in WORLD.allgather(seen) for number in numbers_of_one)
    same(everybody, list(range(SIZE * turns)), "numbers that were fetched and added")
    if RANK == 0:
        window.Lock(0)
        sums = array("q", [SIZE * turns, turns * SIZE * (SIZE + 1) // 2, SIZE])
        same(numbers[:3], sums, "numbers after accumulations and swaps")
        window.Unlock(0)
    window.Free()


if __name__ == "__main__":
    {"ring": ring, "collectives": collectives, "one_sided": one_sided}[sys.argv[1]]()
    WORLD.Barrier()
    if RANK == 0:
        print(f"{sys.argv[1]} of {SIZE} ranks: every byte is right")
