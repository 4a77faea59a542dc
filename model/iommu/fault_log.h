// Faults as software sees them: the fault recording registers, the status register that says which of them to look at,
// and the event. Receives faults that are to be recorded and the errors of the invalidation queue; decides nothing
// about requests. VT-d "Primary Fault Logging", "Fault Events".
#pragma once

#include "abi/iommu/fault.h"
#include "abi/iommu/invalidation.h"
#include "model/iommu/config.h"
#include "model/iommu/event.h"
#include "model/iommu/request.h"
#include "traces/events.h"

#include <cstdint>
#include <vector>

namespace model::iommu {

class FaultLog {
public:
    FaultLog(const IommuConfig& config, port::Dma& memory) : event(memory), records_(config.fault_records) {}

    /// Takes the next record. When that one still holds a fault, or an overflow has not been cleared, this one is lost.
    void record(const Request& request, abi::iommu::FaultReason reason, port::Time at);
    void record_page_request(const Request& request, abi::iommu::FaultReason reason, port::Time at);
    /// A fault that the tables do not want recorded (FPD): only the trace has it.
    void pass_over(const Request& request, abi::iommu::FaultReason reason, port::Time at);
    void pass_over_page_request(const Request& request, abi::iommu::FaultReason reason, port::Time at);
    /// The invalidation queue stopped; a device did not complete an invalidation in time.
    void queue_error(abi::iommu::QueueError error, port::Time at);
    void invalidation_timeout(std::uint16_t source, port::Time at);
    /// Whether the queue may go on.
    bool is_queue_stopped() const { return status_.get<"iqe">() || status_.get<"ite">(); }

    std::uint32_t status() const { return static_cast<std::uint32_t>(status_.value()); }
    std::uint64_t error_record() const { return error_record_.value(); }
    /// Bits written 1 are cleared.
    void write_status(std::uint32_t value);
    std::size_t size() const { return records_.size(); }
    std::uint64_t record_word(std::size_t index, unsigned word) const { return records_[index].words[word]; }
    /// The last dword of a record: F written 1 frees it.
    void write_record_high(std::size_t index, std::uint32_t value);

    std::uint64_t recorded() const { return recorded_; }
    std::uint64_t lost() const { return lost_; }

    void set_events(traces::Events events) { events_ = events; }

    Event event;

private:
    enum class Type : std::uint8_t { write = 0, page_request = 1, read = 2, atomic = 3 }; ///< T1 T2
    static Type type_of(Access access);
    void record(const Request& request, Type type, abi::iommu::FaultReason reason, port::Time at);
    bool take_record(const Request& request, Type type, abi::iommu::FaultReason reason, port::Time at);
    void say(const Request& request, Type type, abi::iommu::FaultReason reason, bool is_recorded, port::Time at) const;
    /// Sets a status bit. It is an interrupt condition when no other bit was set.
    template <abi::Name Bit> void set(port::Time at);
    void clear_event_when_served();

    std::vector<abi::iommu::FaultRecord> records_;
    abi::iommu::FaultStatus status_;
    abi::iommu::QueueErrorRecord error_record_;
    std::size_t next_ = 0;
    std::uint64_t recorded_ = 0, lost_ = 0;
    traces::Events events_;
};

} // namespace model::iommu
