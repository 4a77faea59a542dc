// The messages of a node's ends: where each lies, what its bytes are, as work requests; and whether what has arrived is
// what was sent.
#pragma once

#include "sw/verbs/verbs.h"
#include "testbench/load/ledger.h"
#include "testbench/load/node.h"
#include "testbench/load/plan.h"
#include "testbench/load/progress.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace load {

/// What all cores of a load share.
struct Shared : Progress {
    Shared(const Work& work_of_all, const std::vector<Flow>& all_flows, Ledger& who_counts)
        : work(work_of_all), flows(all_flows), ledger(who_counts) {}

    const Work& work;
    const std::vector<Flow>& flows;
    Ledger& ledger;
    std::uint64_t under_way = 0; ///< messages whose completions have not been polled, at the sender and the receiver
    std::uint64_t verified = 0;  ///< messages whose bytes were looked at where they had arrived
    std::uint64_t awaited = 0;   ///< requests and flows that will come at a time that a core knows
    std::uint64_t unposted = 0;  ///< of open loops: arrived, and not posted when the load was over

    bool is_over() const { return !failure.empty() || ledger.is_over(); }
    void look_for_progress() { Progress::look_for_progress(work, under_way); }
};

class Messages {
public:
    Messages(Node& node, Shared& shared);

    /// Verb and size of message `number` of an end.
    Request draw_request(End& end, std::uint64_t number, model::port::Time at) const;
    /// A message as a work request; verb, size, number and time are set. Its bytes are in place when this returns.
    void compose(End& end, Message& message, sw::verbs::SendRequest& request, sw::verbs::Sge& sge);
    /// Its completion was polled at the sender. Fails the load where bytes are wrong.
    void finish(End& end, const Message& message);
    /// So many bytes were received, of the message that is due. Fails the load where they are not its own.
    void receive(End& end, std::uint32_t bytes);

private:
    void choose_places(End& end, Message& message);
    void fill_source(End& end, Message& message);
    std::uint64_t draw(End& end, std::uint64_t number, std::uint64_t count);
    void verify_write(const End& end, const Message& message);
    void verify_read(End& end, const Message& message);
    void account_atomic(End& end, const Message& message);

    Node& node_;
    Shared& shared_;
    const Work& work_;
    std::optional<Zipf> zipf_;
    std::uint64_t zipf_count_ = 0;
};

} // namespace load
