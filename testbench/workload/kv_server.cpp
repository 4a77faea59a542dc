#include "testbench/workload/kv_server.h"

#include "model/tlm/kernel_clock.h"
#include "model/tlm/time.h"
#include "testbench/harness/must.h"

#include <fmt/format.h>

#include <systemc>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace workload {

using harness::must;
using load::Verb;
using model::port::Time;
using model::tlm::kernel_now;
using platform::topology::KvBy;
using sw::verbs::SendOperation;

namespace {
constexpr std::size_t piece_bytes = 256; ///< of a copy, between which others see the memory
} // namespace

KvServer::KvServer(load::Device& device, std::size_t node, const load::Memory& values, std::vector<KvLink*> links,
                   KvShared& shared)
    : device_(device), node_(node), values_(values), links_(std::move(links)), shared_(shared), plan_(shared.plan),
      core_(device.cores().front()), made_(plan_.stride()) {}

void KvServer::run() {
    while (shared_.failure.empty()) {
        const auto begin = kernel_now();
        const auto found = poll_sent() + poll_received();
        bool has_answered = false;
        while (answer_next())
            has_answered = true;
        shared_.ledger.add_work(node_, kernel_now() - begin);
        if (found != 0 || has_answered)
            continue;
        if (shared_.clients == 0 &&
            std::ranges::all_of(links_, [](const KvLink* link) { return link->under_way.empty(); }))
            return;
        core_.eyes->relax();
    }
}

std::size_t KvServer::poll_sent() {
    const auto completions = device_.poll(core_, *core_.sent);
    const auto now = kernel_now();
    done_.clear();
    for (const auto& completion : completions) {
        auto& link = *links_[completion.wr_id];
        if (completion.status != sw::verbs::CompletionStatus::success) {
            shared_.fail(fmt::format("{}: an answer to {} has ended with: {}", device_.planned().name,
                                     link.other->device->planned().name, name(completion.status)));
            return completions.size();
        }
        const auto posted = link.under_way.front();
        link.under_way.pop_front();
        done_.push_back({link.flow, posted.verb, posted.bytes, posted.since, now});
    }
    if (!done_.empty())
        shared_.ledger.add(done_);
    return completions.size();
}

std::size_t KvServer::poll_received() {
    const auto completions = device_.poll(core_, *core_.received);
    for (const auto& completion : completions) {
        auto& link = *links_[completion.wr_id];
        if (completion.status != sw::verbs::CompletionStatus::success) {
            shared_.fail(fmt::format("{}: a request from {} has ended with: {}", device_.planned().name,
                                     link.other->device->planned().name, name(completion.status)));
            return completions.size();
        }
        asked_.emplace_back(completion.wr_id, link.next_received());
    }
    return completions.size();
}

bool KvServer::answer_next() {
    // Answers whose completions are not there yet: the client may ask again as soon as it has one.
    if (asked_.empty() || links_[asked_.front().first]->under_way.size() >= 2 * links_[asked_.front().first]->depth)
        return false;
    const auto [number, place] = asked_.front();
    asked_.pop_front();
    auto& link = *links_[number];
    const auto request = KvRequest::read({place.data, KvRequest::size});
    if (request.kind == KvKind::put)
        put(request, {place.data + KvRequest::size, request.bytes});
    link.give_receive(number); // before the answer: who has it may ask at once
    answer(link, number, request);
    return true;
}

void KvServer::put(const KvRequest& request, std::span<const std::byte> bytes) {
    const ValueHead head{request.key, ++shared_.written[request.key], request.content, request.bytes};
    write_value(made_, head);
    if (!std::ranges::equal(bytes, std::span(made_).subspan(value_head_bytes, head.bytes))) {
        shared_.fail(
            fmt::format("{}: the bytes of a PUT of key {} are not what was sent", device_.planned().name, request.key));
        return;
    }
    const auto place = values_.slot(plan_.place_of(request.key));
    copy({place.data, value_head_bytes + head.bytes}, made_);
}

/// The processor needs time for it, and memory is what it is in between.
void KvServer::copy(std::span<std::byte> to, std::span<const std::byte> from) {
    for (std::size_t at = 0; at < to.size(); at += piece_bytes) {
        const auto bytes = std::min(piece_bytes, to.size() - at);
        std::memcpy(&to[at], &from[at], bytes);
        if (plan_.how.copy_gbps > 0)
            sc_core::wait(
                model::tlm::to_sc(Time{std::llround(static_cast<double>(bytes) * 8000 / plan_.how.copy_gbps)}));
    }
}

void KvServer::answer(KvLink& link, std::size_t number, const KvRequest& request) {
    const auto near = link.out_place(request.slot);
    sw::verbs::SendRequest answered{.wr_id = number,
                                    .operation = SendOperation::send_imm,
                                    .flags = sw::verbs::send_flag::signaled,
                                    .immediate = request.slot};
    auto verb = Verb::send;
    std::uint32_t bytes = sizeof(std::uint64_t);
    if (request.kind == KvKind::put) {
        std::memcpy(near.data, &shared_.written[request.key], bytes);
    } else {
        const auto value = values_.slot(plan_.place_of(request.key));
        const auto head = read_value({value.data, plan_.read_bytes()}); // nobody but us writes it
        bytes = static_cast<std::uint32_t>(value_head_bytes) + (head ? head->bytes : 0);
        copy({near.data, bytes}, {value.data, bytes});
        if (plan_.how.by == KvBy::write) {
            const auto far = link.other->landing_place(request.slot);
            answered.operation = SendOperation::write_imm;
            answered.rkey = far.key;
            answered.remote_address = far.address;
            verb = Verb::write;
        }
    }
    const sw::verbs::Sge sge{.address = near.address, .length = bytes, .lkey = near.key};
    answered.sge = &sge;
    answered.sge_count = 1;
    link.under_way.push_back({kernel_now(), verb, bytes, request.slot});
    must(link.qp->post_send(answered));
}

} // namespace workload
