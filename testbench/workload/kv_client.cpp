#include "testbench/workload/kv_client.h"

#include "model/tlm/kernel_clock.h"
#include "testbench/harness/must.h"
#include "testbench/load/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

namespace workload {

using harness::must;
using load::Verb;
using model::tlm::kernel_now;
using platform::topology::KvBy;
using sw::verbs::SendOperation;

KvClient::KvClient(load::Device& device, std::size_t number, std::vector<KvLink*> links, KvShared& shared)
    : device_(device), number_(number), links_(std::move(links)), shared_(shared), plan_(shared.plan),
      core_(device.cores().front()), draw_(plan_, number), operations_(links_.size()), free_(links_.size()),
      turn_(plan_.servers) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
        operations_[i].resize(links_[i]->depth);
        free_[i].resize(links_[i]->depth);
        std::iota(free_[i].rbegin(), free_[i].rend(), 0);
    }
}

void KvClient::run() {
    while (shared_.failure.empty()) {
        const auto begin = kernel_now();
        const bool has_started = !shared_.is_over() && start_all();
        const auto found = poll_sent() + poll_received();
        shared_.ledger.add_work(number_, kernel_now() - begin);
        if (shared_.is_over() && under_way_ == 0)
            break;
        if (has_started || found != 0) {
            shared_.last_progress = kernel_now();
        } else {
            shared_.look_for_progress(plan_.load.work, shared_.under_way);
            core_.eyes->relax();
        }
    }
    --shared_.clients;
}

/// As long as the queue pairs of the server that has the next key are not full.
bool KvClient::start_all() {
    bool has_started = false;
    for (;;) {
        if (!next_)
            next_ = draw_.next();
        const auto server = plan_.server_of(next_->key);
        std::size_t link = links_.size();
        for (std::size_t i = 0; i < plan_.queue_pairs && link == links_.size(); ++i) {
            const auto one = server * plan_.queue_pairs + turn_[server]++ % plan_.queue_pairs;
            // Of those that were answered, completions may not be there yet.
            if (!free_[one].empty() && links_[one]->under_way.size() < std::size_t{2} * links_[one]->depth)
                link = one;
        }
        if (link == links_.size())
            return has_started;
        const auto slot = free_[link].back();
        free_[link].pop_back();
        start(link, slot);
        has_started = true;
    }
}

void KvClient::start(std::size_t link, std::uint32_t slot) {
    auto& operation = operations_[link][slot];
    operation = {*next_, kernel_now(), shared_.acknowledged[next_->key], true};
    next_.reset();
    ++under_way_, ++shared_.under_way;
    if (operation.what.kind == KvKind::get && plan_.how.by == KvBy::read)
        read(link, slot);
    else
        ask(link, slot);
}

void KvClient::read(std::size_t link, std::uint32_t slot) {
    auto& one = *links_[link];
    const auto near = one.landing_place(slot);
    const auto far = one.other->landing->slot(plan_.place_of(operations_[link][slot].what.key));
    const auto bytes = static_cast<std::uint32_t>(plan_.read_bytes());
    const sw::verbs::Sge sge{.address = near.address, .length = bytes, .lkey = near.key};
    sw::verbs::SendRequest request{
        .sge = &sge, .sge_count = 1, .operation = SendOperation::read, .rkey = far.key, .remote_address = far.address};
    post(link, request, {.verb = Verb::read, .bytes = bytes, .slot = slot});
}

void KvClient::ask(std::size_t link, std::uint32_t slot) {
    auto& one = *links_[link];
    const auto& what = operations_[link][slot].what;
    const auto near = one.out_place(slot);
    const KvRequest asked{.kind = what.kind,
                          .slot = slot,
                          .key = what.key,
                          .content = (std::uint64_t{number_} + 1) << 40 | puts_,
                          .bytes = what.bytes};
    asked.write({near.data, KvRequest::size});
    if (what.kind == KvKind::put)
        load::fill({near.data + KvRequest::size, what.bytes}, asked.content), ++puts_;
    const auto bytes = static_cast<std::uint32_t>(KvRequest::size) + what.bytes;
    const sw::verbs::Sge sge{.address = near.address, .length = bytes, .lkey = near.key};
    sw::verbs::SendRequest request{.sge = &sge, .sge_count = 1, .operation = SendOperation::send};
    post(link, request, {.verb = Verb::send, .bytes = bytes, .slot = slot});
}

void KvClient::post(std::size_t link, sw::verbs::SendRequest& request, const KvLink::Posted& posted) {
    request.wr_id = link;
    request.flags = sw::verbs::send_flag::signaled;
    auto& one = *links_[link];
    one.under_way.push_back(posted);
    one.under_way.back().since = kernel_now();
    must(one.qp->post_send(request));
}

std::size_t KvClient::poll_sent() {
    const auto completions = device_.poll(core_, *core_.sent);
    const auto now = kernel_now();
    done_.clear();
    for (const auto& completion : completions) {
        auto& link = *links_[completion.wr_id];
        if (completion.status != sw::verbs::CompletionStatus::success) {
            shared_.fail(fmt::format("{}: a request to {} has ended with: {}", device_.planned().name,
                                     link.other->device->planned().name, name(completion.status)));
            return completions.size();
        }
        const auto posted = link.under_way.front();
        link.under_way.pop_front();
        done_.push_back({link.flow, posted.verb, posted.bytes, posted.since, now});
        if (posted.verb == Verb::read)
            take_read(completion.wr_id, posted.slot);
    }
    if (!done_.empty())
        shared_.ledger.add(done_);
    return completions.size();
}

std::size_t KvClient::poll_received() {
    const auto completions = device_.poll(core_, *core_.received);
    for (const auto& completion : completions) {
        auto& link = *links_[completion.wr_id];
        const auto slot = completion.immediate;
        if (completion.status != sw::verbs::CompletionStatus::success || slot >= link.depth ||
            !operations_[completion.wr_id][slot].is_under_way) {
            shared_.fail(fmt::format(
                "{}: a receive from {} has ended with: {}", device_.planned().name, link.other->device->planned().name,
                completion.status != sw::verbs::CompletionStatus::success ? name(completion.status)
                                                                          : "an answer that nobody has asked for"));
            return completions.size();
        }
        const auto received = link.next_received();
        const bool is_written = completion.operation == sw::verbs::CompletionOperation::receive_write_imm;
        const auto* data = is_written ? link.landing_place(slot).data : received.data;
        const std::span bytes(data, completion.byte_count);
        if (operations_[completion.wr_id][slot].what.kind == KvKind::get)
            take_value(completion.wr_id, slot, bytes);
        else
            take_acknowledgement(completion.wr_id, slot, bytes);
        link.give_receive(completion.wr_id);
    }
    return completions.size();
}

/// A value that was changed while it was read is read again.
void KvClient::take_read(std::size_t link, std::uint32_t slot) {
    const std::span<const std::byte> bytes(links_[link]->landing_place(slot).data, plan_.read_bytes());
    const auto head = read_value(bytes);
    if (!head) {
        ++shared_.repeated;
        read(link, slot);
        return;
    }
    const auto& operation = operations_[link][slot];
    shared_.look_at(bytes, *head, operation.what.key, operation.least, device_.planned().name);
    end(link, slot, head->bytes);
}

void KvClient::take_value(std::size_t link, std::uint32_t slot, std::span<const std::byte> bytes) {
    const auto& operation = operations_[link][slot];
    const auto head = read_value(bytes);
    if (!head) {
        shared_.fail(fmt::format("{}: key {} has come from {} with a wrong checksum", device_.planned().name,
                                 operation.what.key, links_[link]->other->device->planned().name));
        return;
    }
    shared_.look_at(bytes, *head, operation.what.key, operation.least, device_.planned().name);
    end(link, slot, head->bytes);
}

void KvClient::take_acknowledgement(std::size_t link, std::uint32_t slot, std::span<const std::byte> bytes) {
    const auto& what = operations_[link][slot].what;
    std::uint64_t version = 0;
    if (bytes.size() != sizeof version) {
        shared_.fail(fmt::format("{}: a PUT was answered by {} bytes", device_.planned().name, bytes.size()));
        return;
    }
    std::memcpy(&version, bytes.data(), sizeof version);
    auto& known = shared_.acknowledged[what.key];
    known = std::max(known, version);
    end(link, slot, what.bytes);
}

void KvClient::end(std::size_t link, std::uint32_t slot, std::uint32_t bytes) {
    auto& operation = operations_[link][slot];
    const auto kind = static_cast<std::size_t>(operation.what.kind);
    operation.is_under_way = false;
    ++shared_.operations[kind];
    shared_.bytes[kind] += bytes;
    --under_way_, --shared_.under_way;
    free_[link].push_back(slot);
    shared_.ledger.add_operation(kind, operation.since, kernel_now());
}

} // namespace workload
