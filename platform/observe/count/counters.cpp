#include "platform/observe/count/counters.h"

#include "abi/nvme/status.h"

namespace platform::observe::count {
namespace {

using namespace traces;

// Which member is the reason. Events without one are not counted by reason.
std::string_view reason_of(const DoorbellIgnored& e) { return e.reason.text(); }
std::string_view reason_of(const Refused& e) { return e.violation.text(); }
std::string_view reason_of(const PacketDropped& e) { return e.reason.text(); }
std::string_view reason_of(const FrameDropped& e) { return e.reason.text(); }
std::string_view reason_of(const LinkFault& e) { return e.what.text(); }
std::string_view reason_of(const Retried& e) { return e.reason.text(); }
std::string_view reason_of(const RemappingFault& e) { return e.reason(); }
std::string_view reason_of(const InvalidationStopped& e) { return e.reason(); }
std::string_view reason_of(const RequestBlocked& e) { return e.reason.text(); }
std::string_view reason_of(const NvmeDoorbellIgnored& e) { return e.reason.text(); }
std::string_view reason_of(const NvmeCommandRefused& e) {
    const auto text = abi::nvme::name(static_cast<abi::nvme::Status>(e.status));
    return text.empty() ? "a status without a name" : text;
}
std::string_view reason_of(const NvmeStateChanged& e) { return e.state.text(); }
std::string_view reason_of(const NvmeFailed& e) { return e.reason.text(); }
std::string_view reason_of(const NvmeNamespaceChanged& e) { return e.what.text(); }

template <class E>
concept HasReason = requires(const E& e) { reason_of(e); };

} // namespace

void Counters::on(const Stamp& stamp, const Event& event) {
    if (stamp.source >= rows_.size())
        rows_.resize(stamp.source + std::size_t{1});
    ++rows_[stamp.source][event.index()];
    std::visit(
        [&]<class E>(const E& e) {
            if constexpr (HasReason<E>) {
                auto& all = reasons_[event.index()];
                const auto reason = reason_of(e);
                if (const auto found = all.find(reason); found != all.end())
                    ++found->second;
                else
                    all.emplace(reason, 1);
            }
        },
        event);
}

void Counters::add(std::size_t type, std::uint16_t source, std::uint64_t events) {
    if (source >= rows_.size())
        rows_.resize(source + std::size_t{1});
    rows_[source][type] += events;
}

void Counters::add_reason(std::size_t type, const std::string& reason, std::uint64_t events) {
    reasons_[type][reason] += events;
}

std::uint64_t Counters::total() const {
    std::uint64_t sum = 0;
    for (const auto& row : rows_)
        for (const auto count : row)
            sum += count;
    return sum;
}

std::uint64_t Counters::count(std::size_t type) const {
    std::uint64_t sum = 0;
    for (const auto& row : rows_)
        sum += row[type];
    return sum;
}

std::uint64_t Counters::count(std::size_t type, std::uint16_t source) const {
    return source < rows_.size() ? rows_[source][type] : 0;
}

} // namespace platform::observe::count
