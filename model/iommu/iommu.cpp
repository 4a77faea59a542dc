#include "model/iommu/iommu.h"

#include <utility>

namespace model::iommu {

using namespace abi::iommu;

namespace {

constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }
constexpr std::uint32_t at(Register r) { return static_cast<std::uint32_t>(r); }
/// The upper dword of a register of 64 bits.
constexpr std::uint32_t upper(Register r) { return at(r) + 4; }

} // namespace

Iommu::Iommu(const IommuConfig& config, port::Dma& memory, Listener* listener)
    : config_(config), faults_(config_, memory), translator_(config_, memory, faults_, listener),
      queue_(config_, memory, translator_, faults_, listener),
      page_requests_(config_, memory, translator_, faults_, listener) {}

std::uint64_t Iommu::read(std::uint32_t offset, unsigned bytes) const {
    if ((bytes != 4 && bytes != 8) || offset % bytes != 0 || offset >= register_bytes)
        return 0;
    const std::uint64_t lower = read_dword(offset);
    return bytes == 4 ? lower : std::uint64_t{read_dword(offset + 4)} << 32 | lower;
}

void Iommu::write(std::uint32_t offset, unsigned bytes, std::uint64_t value, port::Time now) {
    if ((bytes != 4 && bytes != 8) || offset % bytes != 0 || offset >= register_bytes)
        return;
    // The dword that starts something is written last: the upper one of CCMD, IOTLB and fault records, the lower one of
    // the queue's tail.
    const bool is_tail = offset == at(Register::iqt);
    if (bytes == 8 && is_tail)
        write_dword(offset + 4, high(value), now);
    write_dword(offset, low(value), now);
    if (bytes == 8 && !is_tail)
        write_dword(offset + 4, high(value), now);
}

template <class Self> auto Iommu::event_at(Self& self, std::uint32_t offset) {
    constexpr auto bytes = 4 * Event::register_count;
    using Found = std::pair<decltype(&self.faults_.event), std::uint32_t>;
    if (offset - at(Register::fectl) < bytes)
        return Found{&self.faults_.event, (offset - at(Register::fectl)) / 4};
    if (offset - at(Register::iectl) < bytes)
        return Found{&self.queue_.event, (offset - at(Register::iectl)) / 4};
    if (offset - at(Register::pectl) < bytes)
        return Found{&self.page_requests_.event, (offset - at(Register::pectl)) / 4};
    return Found{};
}

std::uint32_t Iommu::read_dword(std::uint32_t offset) const {
    if (offset >= fault_record_offset && offset < fault_record_offset + faults_.size() * FaultRecord::size) {
        const auto from = offset - fault_record_offset;
        const auto word = faults_.record_word(from / FaultRecord::size, from / 8 % 2);
        return from % 8 == 0 ? low(word) : high(word);
    }
    if (const auto [event, index] = event_at(*this, offset); event != nullptr)
        return event->read(index);
    switch (offset) {
    case iotlb_offset: return low(invalidate_address_.value());
    case iotlb_offset + 4: return high(invalidate_address_.value());
    case iotlb_offset + 8: return low(iotlb_command_.value());
    case iotlb_offset + 12: return high(iotlb_command_.value());
    default: break;
    }
    using enum Register;
    switch (offset) {
    case at(ver): return low(version().value());
    case at(cap): return low(capability(config_).value());
    case upper(cap): return high(capability(config_).value());
    case at(ecap): return low(extended_capability(config_).value());
    case upper(ecap): return high(extended_capability(config_).value());
    case at(gsts): return low(status_.value());
    case at(rtaddr): return low(root_.value());
    case upper(rtaddr): return high(root_.value());
    case at(ccmd): return low(context_command_.value());
    case upper(ccmd): return high(context_command_.value());
    case at(fsts): return faults_.status();
    case at(iqh): return low(queue_.head());
    case at(iqt): return low(queue_.tail());
    case at(iqa): return low(queue_.base());
    case upper(iqa): return high(queue_.base());
    case at(ics): return queue_.completion_status();
    case at(iqercd): return low(faults_.error_record());
    case upper(iqercd): return high(faults_.error_record());
    case at(pqh): return low(page_requests_.head());
    case at(pqt): return low(page_requests_.tail());
    case at(pqa): return low(page_requests_.base());
    case upper(pqa): return high(page_requests_.base());
    case at(prs): return page_requests_.status();
    default: return 0;
    }
}

void Iommu::write_dword(std::uint32_t offset, std::uint32_t value, port::Time now) {
    if (offset >= fault_record_offset && offset < fault_record_offset + faults_.size() * FaultRecord::size) {
        const auto from = offset - fault_record_offset;
        if (from % FaultRecord::size == 12)
            faults_.write_record_high(from / FaultRecord::size, value);
        return;
    }
    if (const auto [event, index] = event_at(*this, offset); event != nullptr)
        return event->write(index, value, now);
    const auto lower_part = lower_dword(value), upper_part = upper_dword(value);
    switch (offset) {
    // Register-based invalidation ends at once, and IAIG and CAIG 0 say that nothing was invalidated.
    case iotlb_offset: invalidate_address_ = invalidate_address_.written(lower_part); return;
    case iotlb_offset + 4: invalidate_address_ = invalidate_address_.written(upper_part); return;
    case iotlb_offset + 8: iotlb_command_ = iotlb_command_.written(lower_part); return;
    case iotlb_offset + 12: iotlb_command_ = iotlb_command_.written(upper_part).set<"ivt">(false); return;
    default: break;
    }
    using enum Register;
    switch (offset) {
    case at(gcmd): return command(value, now);
    case at(rtaddr): root_ = root_.written(lower_part); return;
    case upper(rtaddr): root_ = root_.written(upper_part); return;
    case at(ccmd): context_command_ = context_command_.written(lower_part); return;
    case upper(ccmd): context_command_ = context_command_.written(upper_part).set<"icc">(false); return;
    case at(fsts):
        faults_.write_status(value);
        return queue_.run(now); // an error that was cleared lets the queue go on
    case at(iqt): return queue_.set_tail(value, now);
    case at(iqa): return queue_.write_base(lower_part);
    case upper(iqa): return queue_.write_base(upper_part);
    case at(ics): return queue_.write_completion_status(value);
    case at(pqh): return page_requests_.set_head(value);
    case at(pqt): return page_requests_.set_tail(value);
    case at(pqa): return page_requests_.write_base(lower_part);
    case upper(pqa): return page_requests_.write_base(upper_part);
    case at(prs): return page_requests_.write_status(value);
    default: return;
    }
}

void Iommu::command(std::uint32_t value, port::Time now) {
    const GlobalCommand command{value};
    if (command.get<"srtp">()) {
        translator_.set_root(root_);
        status_.set<"rtps">(true);
    }
    queue_.set_enabled(command.get<"qie">(), now);
    status_.set<"qies">(queue_.is_enabled());
    translator_.set_enabled(command.get<"te">());
    status_.set<"tes">(command.get<"te">());
}

} // namespace model::iommu
