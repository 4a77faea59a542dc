#include "platform/topology/simple_keys.h"

#include "platform/topology/key_rows.h"

#include <array>

namespace platform::topology {
namespace {

using namespace key_rows;

#define AT(member) ([](auto& c) -> auto& { return c.simple.member; })

constexpr std::array rows{
    key<AT(log_max_qp)>("simple.log_max_qp", range(4, 20), "log2 of the number of queue pairs of a simple HCA"),
    key<AT(log_max_cq)>("simple.log_max_cq", range(4, 20), "log2 of the number of completion queues"),
    key<AT(log_max_region)>("simple.log_max_region", range(4, 22), "log2 of the number of memory regions"),
    size<AT(memory_bytes)>(
        "simple.memory", range(64 * KiB, 16 * GiB),
        "memory of the card, which holds all contexts and page tables; what does not fit is refused"),
    key<AT(outstanding)>("simple.outstanding", power_of_two(1, 1024),
                         "messages of a queue pair that the card keeps: so many are under way at a time"),
    key<AT(pcie_reads)>("simple.pcie_reads", range(1, 4096), "reads of host memory under way at a time"),
    key<AT(ack_every)>("simple.ack_every", range(1, 1024), "packets of a long message that ask for an acknowledgement"),
    key<AT(descriptor)>("simple.descriptor_ns", latency, "occupancy of the sending unit, a descriptor"),
    key<AT(packet)>("simple.packet_ns", latency, "occupancy of the sending and the receiving unit, a packet"),
    key<AT(latency)>("simple.latency_ns", latency, "of either unit, beside its occupancy"),
    key<AT(command)>("simple.command_ns", latency, "execution of a command"),
};
#undef AT

} // namespace

std::span<const Key> simple_keys() { return rows; }

} // namespace platform::topology
