#include "sw/mlx/memory/pager.h"

#include "abi/prm/paging.h"
#include "sw/mlx/command/command.h"
#include "sw/mlx/device/device.h"
#include "sw/mlx/memory/umr.h"
#include "sw/mlx/queue/qp.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sw::mlx {

using namespace abi::prm;

namespace {}

void Pager::take(abi::ConstView<Eqe> event) {
    Fault fault{.subtype = static_cast<PageFaultSubtype>(event.get<"event_sub_type">())};
    if (fault.subtype == PageFaultSubtype::wqe) {
        const auto data = event_data<WqePageFaultEventData>(event);
        fault.type = data.get<"type">();
        fault.token = data.get<"token">();
        fault.queue = data.get<"wq_num">();
        fault.committed = data.get<"bytes_committed">();
        fault.wqe_index = static_cast<std::uint16_t>(data.get<"wqe_index">());
    } else {
        const auto data = event_data<RdmaPageFaultEventData>(event);
        fault.type = data.get<"type">();
        fault.token = fault.queue = data.get<"token">();
        fault.committed = data.get<"bytes_committed">();
        fault.key = abi::Key{data.get<"r_key">()};
        fault.address = data.get<"rdma_va">();
        fault.length = data.get<"rdma_op_len">();
    }
    faults_.push_back(fault);
}

unsigned Pager::service() {
    unsigned count = 0;
    for (; !faults_.empty(); ++count) {
        const auto fault = faults_.front();
        faults_.pop_front();
        const auto resolved = resolve(fault);
        ++(resolved ? brought_ : refused_);
        if (!resolved)
            last_refusal_ = resolved.error().what;
        if (auto answered = resume(fault, !resolved); !answered)
            last_refusal_ = answered.error().what; // the queue pair is gone, and with it the fault
    }
    return count;
}

unsigned Pager::wait(std::chrono::nanoseconds timeout) {
    if (faults_.empty())
        device_.wait_events(vector_, timeout);
    return service();
}

Result<void> Pager::resolve(const Fault& fault) {
    switch (fault.subtype) {
    case PageFaultSubtype::wqe: return resolve_work_request(fault);
    case PageFaultSubtype::rdma: {
        const auto done = std::min(fault.committed, fault.length);
        return bring(fault.key, fault.address + done, fault.length - done);
    }
    }
    return failure(EPROTO, fmt::format("page fault of an unknown kind, {}", static_cast<unsigned>(fault.subtype)));
}

/// All of the work request's data that is still to be moved, so that it faults once.
Result<void> Pager::resolve_work_request(const Fault& fault) {
    const auto* qp = device_.qps().find(fault.queue);
    if (qp == nullptr || fault.type == PageFaultType::shared_receive)
        return failure(ENOENT, fmt::format("page fault of queue {:#x}, which this driver does not have", fault.queue));
    const bool is_send = fault.type != PageFaultType::receive;
    auto committed = fault.committed;
    for (const auto& element : is_send ? qp->sent_elements(fault.wqe_index) : qp->posted_elements(fault.wqe_index)) {
        const auto done = std::min<std::uint64_t>(committed, element.length);
        committed -= done;
        if (done == element.length || !regions_.contains(abi::Key{element.lkey}.index()))
            continue; // behind it, or memory that is always there
        if (auto brought = bring(abi::Key{element.lkey}, element.address + done, element.length - done); !brought)
            return brought;
    }
    return {};
}

void Pager::insert(abi::Key key, Bring bring) {
    regions_[key.index()] = std::make_shared<Region>(Region{.key = key, .bring = std::move(bring)});
}

Result<void> Pager::bring(abi::Key key, std::uint64_t address, std::uint64_t length) {
    const auto found = regions_.find(key.index());
    if (found == regions_.end() || found->second->key != key)
        return failure(ENOENT, fmt::format("page fault on key {:#x}, which has no pages to bring", key.value));
    const auto region = found->second;
    ++region->inside;
    auto result = region->bring(address, length);
    --region->inside;
    return result;
}

void Pager::erase(abi::Key key) {
    const auto found = regions_.find(key.index());
    if (found == regions_.end() || found->second->key != key)
        return;
    const auto region = found->second;
    regions_.erase(found);
    (void)transport::poll_until(device_.transport(), device_patience, [&] { return region->inside == 0; });
}

Result<void> Pager::resume(const Fault& fault, bool is_error) {
    Input<PageFaultResumeIn> in(Opcode::page_fault_resume);
    in.view()
        .sub<"page_fault_info">()
        .sub<"trans_page_fault_info">()
        .set<"error">(is_error)
        .set<"page_fault_type">(fault.type)
        .set<"wq_number">(fault.queue)
        .set<"fault_token">(fault.token);
    Result<void> answered;
    const auto is_taken = [&] { // not while all command slots are
        const auto out = run<PageFaultResumeOut>(device_.commands(), in);
        answered = out ? Result<void>{} : Result<void>(std::unexpected(out.error()));
        return answered || answered.error().code != EBUSY;
    };
    (void)transport::poll_until(device_.transport(), device_patience, is_taken);
    return answered;
}

} // namespace sw::mlx
