// What is known of doorbells and packets that are passed over without a completion, by the reason that the event gives;
// and of other mistakes that an event names by their text.
#include "platform/observe/diagnostics/explanation_rows.h"

namespace platform::observe::diagnostics {
namespace {

// clang-format off
constexpr auto doorbells = std::to_array<Row<traces::Reason>>({
    {"no such queue pair", {"a send doorbell names a queue pair that exists", "PRM \"UAR\"", "the first 8 bytes rung "
        "are not those of a control segment of this queue pair (qpn << 8 | ds, big endian), or the queue pair is "
        "destroyed"}},
    {"wrong UAR page for this queue pair", {"a queue pair is rung on the UAR page it was created with (qpc.uar_page)",
        "PRM \"User access region\"", "the doorbell went to another process's or context's UAR page"}},
    {"queue pair has no send queue that works", {"a send queue works from RTR on (sends from RTS)",
        "IBA 10.3.1; PRM \"QP state transitions\"", "work was posted before the queue pair left INIT, or it was "
        "created without a send queue (no_sq)"}},
    {"no such completion queue", {"an arm doorbell names a completion queue that exists", "PRM \"CQ doorbell\"",
        "the number is wrong or not big endian, or the completion queue is destroyed"}},
    {"wrong UAR page for this completion queue", {"a completion queue is armed on the UAR page it was created with",
        "PRM \"CQ doorbell\"", "the doorbell went to another process's or context's UAR page"}},
    {"no such event queue", {"an event queue doorbell names an event queue that exists", "PRM \"EQ\"",
        "the number is wrong or the event queue is destroyed"}},
    {"wrong UAR page for this event queue", {"an event queue is armed on the UAR page it was created with",
        "PRM \"EQ\"", "the doorbell went to another UAR page"}},
    {"command doorbell before the command queue's address", {"the address of the command queue is written before its "
        "doorbell", "PRM \"Initialization segment\"",
        "cmdq_addr was not written after a reset, or only its high half"}},
    {"the command queue's memory cannot be read", {"the command queue can be read by DMA",
        "PRM \"Command interface\"", "bus mastering is off, the page is not mapped for the device, or the low 12 bits "
        "of the address were not masked"}},
    {"the command queue entry belongs to software", {"the owner bit of an entry is 1 (hardware) when its doorbell "
        "rings", "PRM \"Command interface\"", "the doorbell came before the entry (missing write barrier), the slot "
        "number is wrong, or the entry stands at the wrong stride"}},
    {"the doorbell record does not count this work request", {"the doorbell record is written before the doorbell",
        "PRM \"Doorbell record\"", "the record was not written, at another address than qpc.dbr_addr, in the half of "
        "the receive queue (that of the send queue is at offset 4), not big endian, or only behind the doorbell "
        "(missing write barrier)"}},
});

constexpr auto drops = std::to_array<Row<traces::Reason>>({
    {"no such queue pair", {"a packet's destination queue pair exists", "IBA 9.6", "the peer was given a wrong number "
        "(dest_qp_num), or sends to a queue pair that is destroyed"}},
    {"transport service of another kind of queue pair", {"both queue pairs have the same transport service",
        "IBA 9.6", "one side is RC and the other UC, UD or XRC, or the number is that of another queue pair"}},
    {"queue pair without a peer", {"a local queue pair (REG_UMR) receives nothing", "PRM \"REG_UMR queue pair\"",
        "the peer was given the number of the driver's UMR queue pair"}},
    {"the MAC of another port", {"a frame's destination MAC is one of the port's, or a group's for the multicast "
        "queue pair", "IEEE 802.3; IBA annex A17", "rmac of the path or address vector is not the peer's MAC, or the "
        "peer's entry of the RoCE address table was taken out"}},
    {"the LID of another port", {"the destination LID lies in the port's range (LID and LMC), is a group's for the "
        "multicast queue pair, or permissive for QP0", "IBA 4.1.3, 7.3", "dlid of the path or address vector is "
        "wrong, or the subnet manager has given the port another LID since"}},
    {"the GID of another port", {"the destination GID (RoCE: IP address) is in the port's table",
        "IBA 8.3, 9.6.1, annex A17", "dgid is not the peer's, its IP version is not that of the peer's table entry, "
        "or the entry was taken out (SET_ROCE_ADDRESS)"}},
    {"not from the peer of this connection", {"packets of a connection come from the address that its path leads to, "
        "and go to the one that the path has as its source", "IBA 9.6.1, 17.2.8, annex A17",
        "the two sides were connected with paths that do not fit (dlid and slid, dgid and sgid_index, grh on one side "
        "only), or somebody else sends to this queue pair"}},
    {"P_Key mismatch", {"the packet's P_Key matches the queue pair's, and one of the two is a full member",
        "IBA 10.9.3, 9.6", "pkey_index names another partition on either side, or both ends are limited members"}},
    {"reserved operation", {"the operation exists for the transport service", "IBA 9.2", "the peer sends a BTH opcode "
        "of another service"}},
    {"the wrong side of an XRC connection", {"XRC requests go to the target queue pair, answers to the initiator",
        "IBA annex A14", "two initiators or two targets were connected to each other"}},
    {"multicast is for datagrams", {"only unreliable datagrams are multicast", "IBA 10.5.2",
        "a connected queue pair's path has a multicast LID or GID"}},
    {"no member of this multicast group", {"a queue pair here is attached to the group",
        "IBA 10.5.2; PRM \"ATTACH_TO_MCG\"", "ATTACH_TO_MCG is missing or has another GID; a datagram for a group "
        "without members is lost in silence"}},
    {"no datagram of this path's MTU", {"a datagram is one packet of at most the MTU", "IBA 9.8.3",
        "the peer's MTU is larger than the receiver's"}},
    {"Q_Key mismatch", {"a datagram has the receiver's Q_Key", "IBA 10.2.5, 9.8.3", "remote_qkey of the work request "
        "is not the receiver's qkey; with its high bit set the sender's own Q_Key goes out instead"}},
    {"no receive work request", {"a datagram finds a posted receive", "IBA 9.8.3", "too few receives are posted, or "
        "the receive doorbell record was not written; datagrams are lost in silence"}},
    {"the port is not armed", {"a switch port forwards data once it is ARMED or ACTIVE", "IBA 7.2.7, 14.2.5.6",
        "no subnet manager has brought the link up yet"}},
    {"a CNP of no connection", {"a congestion notification names a connection, and comes from its peer",
        "RoCEv2 annex A17.9.3", "the peer was given a wrong number (dest_qp_num), or the connection is gone"}},
    {"no way to the MAC", {"the switch knows a port for the destination MAC, other than the one that it came in by",
        "IEEE 802.1Q 8.6, 8.8", "rmac of the path or address vector is the sender's own, or the link there is down"}},
    {"no room in the switch", {"the switch's shared buffer has room for a frame of this port or queue",
        "IEEE 802.1Q 36; fabric.switch_buffer", "more comes in than can leave: let the switch pause its senders "
        "(fabric.switch_pfc) with enough headroom (fabric.switch_headroom), or have them slow down (hca.dcqcn.enabled "
        "and fabric.switch_ecn)"}},
    {"too long at the head of its queue", {"a packet is at the head of a switch's queue for no longer than HOQLife",
        "IBA 14.2.5.6, 18.2.5.4; fabric.switch_hoq_life", "the port gets no credits: a host takes nothing, or credits "
        "wait for each other in a circle (fabric.routing)"}},
    {"a lane that has stalled", {"a lane whose packets were too old, VLStallCount in a row, discards all for 8 times "
        "HOQLife", "IBA 14.2.5.6, 18.2.5.4; fabric.switch_vl_stall_count", "see the packets discarded before: the port "
        "gets no credits"}},
    {"longer than the MTU of the next link", {"a packet has no more payload than NeighborMTU of the port by which it "
        "leaves a switch", "IBA 14.2.5.6, 16.1.3.5", "the MTU of the queue pair, or of the path record, is larger than "
        "that of a link on the way"}},
    {"a group that ends at the first bridge", {"frames to 01-80-C2-00-00-00 to 0F go no further than the next bridge",
        "IEEE 802.1Q 8.6.3", "nothing is wrong: spanning trees, pauses, LACP and LLDP are between neighbours"}},
    {"no route to the LID", {"the switch's forwarding table has the destination LID", "IBA 18.2.5",
        "no subnet manager has routed the LID, or the address vector's dlid is wrong"}},
    {"no management datagram", {"what reaches QP0 or QP1 of a switch, or of a card whose software has neither, is a "
        "management datagram", "IBA 13.4, 14.2", "a data packet has the LID of the switch, the datagram is no SEND of "
        "256 bytes, or one to QP1 has not the Q_Key 0x80010000"}},
    {"no agent for this datagram", {"the management class has an agent", "IBA 13.4", "the management class or method "
        "is not served here"}},
    {"a route of too many hops", {"a directed route has at most 64 hops", "IBA 14.2.2", "hop_count of the directed "
        "route MAD is out of range"}},
    {"a route that ends at a node without a manager", {"a directed route on its way back ends where a manager is",
        "IBA 14.2.2", "hop_pointer and hop_count of the MAD do not fit the path"}},
    {"a route through no port", {"each hop of a directed route is a port of the switch", "IBA 14.2.2",
        "the initial path has a port number that the switch has not"}},
    {"a route through a channel adapter", {"a channel adapter is the end of a directed route", "IBA 14.2.2",
        "the initial path goes on behind a card, or the return path does not fit the way the packet came"}},
    {"no room for the answer of an agent", {"management waits for nothing: what finds no room is lost", "IBA 7.6.4",
        "nothing is wrong; the sender asks again"}},
    {"frame too short for its headers", {"a frame holds its headers", "IBA 5.2",
        "the packet was truncated on its way"}},
    {"EtherType is neither IPv4 nor IPv6", {"RoCEv2 is carried by IPv4 or IPv6", "IBA annex A17",
        "RoCEv1 or another protocol reached the port: check gid type and roce_version"}},
    {"IP version contradicts the EtherType", {"the IP version fits the EtherType", "IBA annex A17",
        "the sender's GID type and address disagree"}},
    {"IPv4 options in a RoCEv2 packet", {"a RoCEv2 packet has no IPv4 options", "IBA annex A17", "another sender than "
        "an RDMA port"}},
    {"IP length contradicts the frame", {"the IP length fits the frame", "IBA annex A17", "the packet was truncated "
        "or damaged"}},
    {"fragment of an IPv4 datagram", {"RoCEv2 is never fragmented", "IBA annex A17", "the path MTU of the queue pair "
        "is larger than that of the network"}},
    {"bad IPv4 header checksum", {"the IPv4 header's checksum is right", "IBA annex A17", "the cable damaged the "
        "packet (link.corrupt)"}},
    {"IP payload is not UDP", {"RoCEv2 is carried by UDP", "IBA annex A17", "another protocol reached the port"}},
    {"UDP port is not 4791", {"RoCEv2 has the UDP port 4791", "IBA annex A17", "another protocol reached the port, or "
        "the cable damaged the packet"}},
    {"UDP length contradicts the IP length", {"UDP and IP lengths agree", "IBA annex A17", "the cable damaged the "
        "packet (link.corrupt)"}},
    {"bad UDP checksum", {"the UDP checksum is 0 or right", "IBA annex A17", "the cable damaged the packet "
        "(link.corrupt)"}},
    {"unknown LRH version", {"the link version is 0", "IBA 7.7", "the cable damaged the packet (link.corrupt)"}},
    {"LRH length contradicts the frame", {"PktLen of the LRH fits the frame", "IBA 7.7", "the cable damaged the "
        "packet (link.corrupt)"}},
    {"raw packet: no IBA transport", {"the packet has an IBA transport header (LNH)", "IBA 7.7.8, 5.2",
        "a raw packet, or the cable damaged it"}},
    {"VL15 and QP0 belong to each other", {"QP0 uses VL15, and nothing else does", "IBA 7.6.3", "a subnet management "
        "datagram was sent from another queue pair than QP0, or data on VL15"}},
    {"data on a VL that is not operational", {"data comes on a VL that the port's OperationalVLs has; it is VL0",
        "IBA 7.4, 7.6", "another sender, or a mapping of service levels to lanes that this port does not follow"}},
    {"bad VCRC", {"the variant CRC is right", "IBA 7.8.2", "the cable damaged the packet (link.corrupt)"}},
    {"GRH version is not 6", {"the version of a GRH is 6", "IBA 8.3", "the cable damaged the packet (link.corrupt)"}},
    {"GRH next header is not IBA transport", {"the GRH is followed by IBA transport", "IBA 8.3",
        "the cable damaged the packet (link.corrupt)"}},
    {"GRH length contradicts the packet", {"the GRH's length fits the packet", "IBA 8.3", "the cable damaged the "
        "packet (link.corrupt)"}},
    {"bad ICRC", {"the invariant CRC is right", "IBA 7.8.1", "the cable damaged the packet (link.corrupt)"}},
    {"unknown BTH version", {"the transport header version is 0", "IBA 9.2", "the cable damaged the packet "
        "(link.corrupt)"}},
    {"reserved or unsupported opcode", {"the BTH opcode is one that the port speaks", "IBA 9.2", "the peer uses RD or "
        "a reserved opcode"}},
    {"packet ends inside a transport header", {"a packet holds the extended headers of its opcode", "IBA 9.3",
        "the packet was truncated"}},
    {"pad count exceeds the payload", {"padding completes a payload to a whole dword", "IBA 9.2.3",
        "the packet was built wrong or damaged"}},
    {"payload behind an operation that carries none", {"an operation without data has no payload", "IBA 9.2",
        "the packet was built wrong or damaged"}},
    {"payload length is impossible", {"a payload is at most the largest MTU, in whole dwords with its padding",
        "IBA 9.2", "the packet was built wrong or damaged"}},
    {"no receiver for plain frames", {"an Ethernet port takes what is no RoCEv2", "IEEE 802.3", "nothing is wrong with "
        "the frame (ARP, IP, a VLAN tag, ...); the card has no Ethernet port that would receive it"}},
});
// clang-format on

constexpr bool is_explained(traces::Reason reason) {
    return reason == traces::harmless || find(doorbells, reason) != nullptr || find(drops, reason) != nullptr;
}
static_assert(
    [] {
        for (std::size_t i = 0; i < traces::reasons.size(); ++i)
            if (!is_explained(traces::Reason::numbered(i)))
                return false;
        return true;
    }(),
    "each of traces::reasons has a row");

} // namespace

const Explanation* explain_doorbell(traces::Reason reason) { return find(doorbells, reason); }
const Explanation* explain_drop(traces::Reason reason) { return find(drops, reason); }

} // namespace platform::observe::diagnostics
