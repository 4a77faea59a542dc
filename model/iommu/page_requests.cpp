#include "model/iommu/page_requests.h"

namespace model::iommu {

using namespace abi::iommu;

void PageRequests::receive(const PageRequest& request, port::Time at) {
    if (!config_.page_requests || !config_.device_tlb || !translator_.is_enabled())
        return respond(request, ResponseCode::failure, at);
    WalkCost cost{.at = at};
    bool is_recorded = true;
    if (const auto reason = admit(request, is_recorded, cost); reason != FaultReason::none) {
        const Request refused{.requester = request.requester,
                              .pasid = request.pasid,
                              .address = request.address,
                              .is_privileged = request.is_privileged,
                              .is_execute = request.is_execute};
        if (is_recorded)
            faults_.record_page_request(refused, reason, cost.at);
        else
            faults_.pass_over_page_request(refused, reason, cost.at);
        return respond(request, ResponseCode::invalid_request, cost.at);
    }
    // The queue is full, or an overflow is not cleared yet: the request is dropped, and the device is told to try again
    // (VT-d "Handling of Page Request Queue Overflow").
    const auto bytes = std::uint64_t{0x1000} << base_.get<"pqs">();
    const auto next = (tail_ + PageRequestDescriptor::size) % bytes;
    if (status_.get<"pro">() || next == head_ % bytes) {
        if (!status_.get<"pro">()) {
            status_.set<"pro">(true);
            event.raise(cost.at);
        }
        return respond(request, ResponseCode::success, cost.at);
    }
    PageRequestDescriptor descriptor;
    descriptor.set<"type">(page_request_type).set<"rid">(request.requester);
    if (request.pasid != no_pasid)
        descriptor.set<"pp">(true).set<"pasid">(request.pasid);
    descriptor.set<"exe">(request.is_execute).set<"priv">(request.is_privileged);
    descriptor.set<"rd">(request.is_read).set<"wr">(request.is_write);
    descriptor.set<"lpig">(request.is_last).set<"prgi">(request.group).set<"addr">(request.address);
    const auto done =
        memory_.write(abi::BusAddress{base_.get<"pqa">() + tail_ % bytes}, descriptor.bytes(), cost.at).done;
    tail_ = next;
    if (!status_.get<"ppr">()) {
        status_.set<"ppr">(true);
        event.raise(done);
    }
}

FaultReason PageRequests::admit(const PageRequest& request, bool& is_recorded, WalkCost& cost) {
    if (translator_.mode() != TableMode::scalable || !config_.scalable_mode)
        return translator_.mode() == TableMode::legacy ? FaultReason::page_request_in_legacy_mode
                                                       : FaultReason::table_mode_invalid;
    const auto& context = translator_.pasids().context_of(translator_.root(), request.requester, cost);
    is_recorded = context.is_recorded;
    if (context.fault != FaultReason::none)
        return context.fault;
    if (!context.has_page_requests)
        return FaultReason::page_request_disabled;
    if (request.pasid != no_pasid && !context.has_pasid)
        return FaultReason::pasid_disabled;
    return FaultReason::none;
}

/// Groups are answered once, with their last request.
void PageRequests::respond(const PageRequest& request, ResponseCode code, port::Time at) {
    const bool is_stop_marker = request.is_last && !request.is_read && !request.is_write;
    if (listener_ != nullptr && request.is_last && !is_stop_marker)
        listener_->page_response(
            {.device = request.requester, .pasid = request.pasid, .group = request.group, .code = code}, at);
}

void PageRequests::write_status(std::uint32_t value) {
    status_ = status_.written({value});
    if (status_.value() == 0)
        event.clear_pending();
}

} // namespace model::iommu
