#include "platform/topology/traffic_keys.h"

#include "platform/topology/key_rows.h"

#include <array>

namespace platform::topology {
namespace {

using namespace key_rows;

constexpr double most_messages = 1e12;

#define AT(member) ([](auto& c) -> auto& { return c.traffic.member; })

constexpr std::array rows{
    choice<AT(pattern)>("traffic.pattern", "which HCAs of traffic.from send to which of traffic.to"),
    choice<AT(direction)>("traffic.direction",
                          "bidirectional: those who receive send, too; ping_pong: each message is answered by one"),
    key<AT(from)>("traffic.from", anything,
                  "HCAs, or hosts whose first HCA is meant: \"A..D\", \"A.hca1, B\"; none: of pairs the first "
                  "half, else all"),
    key<AT(to)>("traffic.to", anything, "and those that they send to; none: of pairs the other half, else all"),
    key<AT(replay)>("traffic.replay", anything,
                    "a file of messages instead, a line each: nanosecond, from, to, verb, bytes"),
    key<AT(verbs)>("traffic.verbs", anything,
                   "write, read, send, fetch_add, compare_swap; a mix by weights: \"write:70, read:30\""),
    key<AT(sizes)>("traffic.sizes", anything,
                   "bytes of the messages, in turn: \"64 B, 4 KiB\"; drawn by weights, or between two: "
                   "\"64 B..4 KiB:90, 1 MiB:10\"; none: scenario.message"),
    size<AT(inline_bytes)>("traffic.inline", range(0, KiB), "messages of no more bytes travel in their work request"),
    key<AT(has_blue_flame)>("traffic.blue_flame", anything,
                            "work requests go with their doorbells, where hca.blue_flame lets them"),
    key<AT(batch)>("traffic.batch", range(1, 8192), "work requests a doorbell"),
    key<AT(signal_every)>("traffic.signal_every", range(1, 8192), "work requests a completion"),
    key<AT(cores)>("traffic.cores", range(1, 256), "that post and poll, of each host"),
    choice<AT(order)>("traffic.order", "of a core's queue pairs: each in turn, or as much as it holds on one of them"),
    key<AT(reads)>("traffic.reads", range(1, 128), "READs and atomics under way on a queue pair"),
    key<AT(ack_timeout)>("traffic.ack_timeout", range(0, 31), "of queue pairs: 4.096 us << n; 0: for ever"),
    key<AT(retry_count)>("traffic.retry_count", range(0, 7), "of queue pairs"),
    choice<AT(memory)>("traffic.memory", "of those who send: of the host, or of its first GPU"),
    choice<AT(remote_memory)>("traffic.remote_memory", "of those who are sent to"),
    key<AT(regions)>("traffic.regions", range(1, 1 << 20), "memory regions of each host"),
    size<AT(region_bytes)>("traffic.region", range(0, 64 * GiB), "of each; 0: as much as the messages under way need"),
    size<AT(page_bytes)>("traffic.page", power_of_two(4 * KiB, GiB), "the largest page that a memory key has"),
    choice<AT(access)>("traffic.access", "where in its memory a message is: one behind the other, or drawn"),
    key<AT(zipf)>("traffic.zipf", range(0.01, 10), "exponent of what traffic.access = zipf draws"),
    key<AT(counters)>("traffic.counters", range(1, 1 << 20), "of atomics, a queue pair"),
    bytes<AT(counter_stride)>("traffic.counter_stride", power_of_two(8, 64 * KiB), "bytes from one to the next"),
    key<AT(rate)>("traffic.rate", range(0, 1e9),
                  "messages a second that each flow offers (open loop); 0: the next one when one is done"),
    choice<AT(arrivals)>("traffic.arrivals", "of an open loop: drawn, or at fixed intervals"),
    key<AT(join)>("traffic.join_ns", range(0, 100 * s),
                  "from one flow's begin to the next one's, in their order in the result, both directions of a "
                  "pair at once; 0: all begin at once"),
    key<AT(stay)>("traffic.stay_ns", range(0, 100 * s),
                  "so long after its begin a flow sends nothing new any more; 0: it stays until the end"),
    key<AT(warm_up_messages)>("traffic.warm_up", range(0, most_messages),
                              "messages of all flows that are not measured"),
    key<AT(warm_up)>("traffic.warm_up_ns", range(0, 100 * s), "and for so long at least"),
    key<AT(messages)>("traffic.messages", range(0, most_messages),
                      "of all flows together that are measured; 0: until traffic.duration_ns is over"),
    key<AT(duration)>("traffic.duration_ns", range(0, 100 * s),
                      "that is measured, at most; 0: until the messages are done"),
    key<AT(intervals)>("traffic.intervals", range(1, 1000),
                       "of the measured time, in the result, at most twice as many"),
    key<AT(verifies)>("traffic.verify", anything, "the bytes of each message are looked at where they have arrived"),
};
#undef AT

} // namespace

std::span<const Key> traffic_keys() { return rows; }

} // namespace platform::topology
