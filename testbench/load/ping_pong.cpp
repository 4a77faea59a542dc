#include "testbench/load/ping_pong.h"

#include "model/tlm/kernel_clock.h"
#include "testbench/harness/must.h"

#include <fmt/format.h>

#include <array>

namespace load {

using harness::must;
using model::tlm::kernel_now;

namespace {

class Player {
public:
    Player(Node& node, std::size_t number, std::uint32_t core, Shared& shared)
        : node_(node), number_(number), core_(node.cores()[core]), shared_(shared), messages_(node, shared) {}

    void run() {
        for (auto* end : core_.ends)
            if (end->flow && !shared_.is_over())
                post(*end);
        while (shared_.failure.empty() && !(shared_.is_over() && shared_.under_way == 0)) {
            const auto begin = kernel_now();
            const auto found = poll_sent() + poll_received();
            shared_.ledger.add_work(number_, kernel_now() - begin);
            if (found != 0) {
                shared_.last_progress = kernel_now();
            } else {
                shared_.look_for_progress();
                core_.eyes->relax();
            }
        }
    }

private:
    void post(End& end) {
        auto& message = end.under_way[end.posted % shared_.work.depth];
        const auto request_of = messages_.draw_request(end, end.posted, kernel_now());
        message = {.since = request_of.at, .number = end.posted++, .verb = request_of.verb, .bytes = request_of.bytes};
        sw::verbs::SendRequest request{.wr_id = end.index};
        sw::verbs::Sge sge;
        messages_.compose(end, message, request, sge);
        request.flags |= sw::verbs::send_flag::signaled;
        must(end.qp->post_send(request));
    }
    bool is_good(const End& end, const sw::verbs::Completion& completion) {
        if (completion.status != sw::verbs::CompletionStatus::success)
            shared_.fail(fmt::format("{}: a message from or to {} has ended with: {}", node_.planned().name,
                                     end.peer->node->planned().name, name(completion.status)));
        return shared_.failure.empty();
    }
    std::size_t poll_sent() {
        const auto completions = node_.poll(core_, *core_.sent);
        for (const auto& completion : completions)
            if (auto& end = *core_.ends[completion.wr_id]; is_good(end, completion))
                messages_.finish(end, end.under_way[end.done++ % shared_.work.depth]);
        return completions.size();
    }
    std::size_t poll_received() {
        const auto completions = node_.poll(core_, *core_.received);
        for (const auto& completion : completions) {
            auto& end = *core_.ends[completion.wr_id];
            if (!is_good(end, completion))
                break;
            const auto now = kernel_now();
            const auto& sent = end.under_way[(end.posted - 1) % shared_.work.depth];
            if (end.flow)
                shared_.ledger.add(
                    std::array{Done{*end.flow, sent.verb, sent.bytes, now - (now - sent.since) / 2, now}});
            // Whoever answers does so at once; whoever has an answer gives the next receive before it goes on.
            if (end.flow)
                node_.give_receive(end);
            if (!end.flow || !shared_.is_over())
                post(end);
            messages_.receive(end, completion.byte_count);
            if (!end.flow)
                node_.give_receive(end);
        }
        return completions.size();
    }

    Node& node_;
    const std::size_t number_;
    Core& core_;
    Shared& shared_;
    Messages messages_;
};

} // namespace

void play(Node& node, std::size_t number, std::uint32_t core, Shared& shared) {
    if (node.cores()[core].ends.empty())
        return;
    Player(node, number, core, shared).run();
}

} // namespace load
