#include "model/iommu/fault_log.h"

#include <algorithm>

namespace model::iommu {

using namespace abi::iommu;

namespace {
constexpr std::uint64_t conditions = FaultStatus::mask<"pfo"> | FaultStatus::mask<"ppf"> | FaultStatus::mask<"iqe"> |
                                     FaultStatus::mask<"ice"> | FaultStatus::mask<"ite">;
} // namespace

template <abi::Name Bit> void FaultLog::set(port::Time at) {
    const bool is_new = (status_.value() & conditions) == 0;
    status_.set<Bit>(true);
    if (is_new)
        event.raise(at);
}

FaultLog::Type FaultLog::type_of(Access access) {
    return access == Access::write ? Type::write : access == Access::read ? Type::read : Type::atomic;
}

void FaultLog::record(const Request& request, FaultReason reason, port::Time at) {
    record(request, type_of(request.access), reason, at);
}

void FaultLog::record_page_request(const Request& request, FaultReason reason, port::Time at) {
    record(request, Type::page_request, reason, at);
}

void FaultLog::pass_over(const Request& request, FaultReason reason, port::Time at) {
    say(request, type_of(request.access), reason, false, at);
}

void FaultLog::pass_over_page_request(const Request& request, FaultReason reason, port::Time at) {
    say(request, Type::page_request, reason, false, at);
}

void FaultLog::say(const Request& request, Type type, FaultReason reason, bool is_recorded, port::Time at) const {
    if (!events_.is_on())
        return;
    // As the event numbers them: read, write, atomic, page request.
    const std::uint8_t access = type == Type::read ? 0 : type == Type::write ? 1 : type == Type::atomic ? 2 : 3;
    events_.emit(at, traces::RemappingFault{.requester = request.requester,
                                            .pasid = request.pasid,
                                            .address = request.address,
                                            .access = access,
                                            .type = static_cast<std::uint8_t>(request.type),
                                            .fault = static_cast<std::uint8_t>(reason),
                                            .is_recorded = is_recorded});
}

void FaultLog::record(const Request& request, Type type, FaultReason reason, port::Time at) {
    say(request, type, reason, take_record(request, type, reason, at), at);
}

/// False when no record is free.
bool FaultLog::take_record(const Request& request, Type type, FaultReason reason, port::Time at) {
    if (status_.get<"pfo">()) {
        ++lost_;
        return false;
    }
    auto& record = records_[next_];
    if (record.get<"f">()) {
        ++lost_;
        set<"pfo">(at);
        return false;
    }
    record = FaultRecord{};
    record.set<"fi">(request.address);
    record.set<"sid">(request.requester);
    record.set<"fr">(static_cast<std::uint64_t>(reason));
    record.set<"at">(static_cast<std::uint64_t>(request.type));
    record.set<"t1">(type == Type::read || type == Type::atomic);
    record.set<"t2">(type == Type::page_request || type == Type::atomic);
    if (request.pasid != no_pasid) {
        record.set<"pp">(true).set<"pv">(request.pasid);
        record.set<"priv">(request.is_privileged).set<"exe">(request.is_execute);
    }
    record.set<"f">(true);
    ++recorded_;
    if (!status_.get<"ppf">())
        status_.set<"fri">(next_);
    next_ = next_ + 1 == records_.size() ? 0 : next_ + 1;
    set<"ppf">(at);
    return true;
}

void FaultLog::queue_error(QueueError error, port::Time at) {
    error_record_.set<"iqei">(static_cast<std::uint64_t>(error));
    if (events_.is_on())
        events_.emit(at, traces::InvalidationStopped{.device = 0, .error = static_cast<std::uint8_t>(error)});
    set<"iqe">(at);
}

void FaultLog::invalidation_timeout(std::uint16_t source, port::Time at) {
    error_record_.set<"itesid">(source);
    if (events_.is_on())
        events_.emit(at, traces::InvalidationStopped{.device = source, .error = 0});
    set<"ite">(at);
}

void FaultLog::write_status(std::uint32_t value) {
    status_ = status_.written({value});
    clear_event_when_served();
}

void FaultLog::write_record_high(std::size_t index, std::uint32_t value) {
    records_[index] = records_[index].written(upper_dword(value), 1);
    status_.set<"ppf">(std::ranges::any_of(records_, [](const FaultRecord& r) { return r.get<"f">(); }));
    clear_event_when_served();
}

void FaultLog::clear_event_when_served() {
    if ((status_.value() & conditions) == 0)
        event.clear_pending();
}

} // namespace model::iommu
