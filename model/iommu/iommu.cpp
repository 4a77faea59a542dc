#include "model/iommu/iommu.h"

namespace model::iommu {

using namespace abi::iommu;

namespace {

constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }
constexpr std::uint64_t with_low(std::uint64_t value, std::uint32_t dword) { return value >> 32 << 32 | dword; }
constexpr std::uint64_t with_high(std::uint64_t value, std::uint32_t dword) {
    return std::uint64_t{dword} << 32 | low(value);
}
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
    return bytes == 4 ? lower : with_high(lower, read_dword(offset + 4));
}

void Iommu::write(std::uint32_t offset, unsigned bytes, std::uint64_t value, port::Time now) {
    if ((bytes != 4 && bytes != 8) || offset % bytes != 0 || offset >= register_bytes)
        return;
    // The upper dword last where it starts something (CCMD, IOTLB, fault records), the lower one last where that does.
    const bool is_tail = offset == at(Register::iqt);
    if (bytes == 8 && is_tail)
        write_dword(offset + 4, high(value), now);
    write_dword(offset, low(value), now);
    if (bytes == 8 && !is_tail)
        write_dword(offset + 4, high(value), now);
}

std::uint32_t Iommu::read_dword(std::uint32_t offset) const {
    if (offset >= fault_record_offset && offset < fault_record_offset + faults_.size() * FaultRecord::size) {
        const auto from = offset - fault_record_offset;
        const auto word = faults_.record_word(from / FaultRecord::size, from / 8 % 2);
        return from % 8 == 0 ? low(word) : high(word);
    }
    switch (offset) {
    case iotlb_offset: return low(invalidate_address_);
    case iotlb_offset + 4: return high(invalidate_address_);
    case iotlb_offset + 8: return low(iotlb_command_);
    case iotlb_offset + 12: return high(iotlb_command_);
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
    case at(rtaddr): return low(root_);
    case upper(rtaddr): return high(root_);
    case at(ccmd): return low(context_command_);
    case upper(ccmd): return high(context_command_);
    case at(fsts): return faults_.status();
    case at(fectl): return faults_.event.control();
    case at(fedata): return faults_.event.data;
    case at(feaddr): return faults_.event.address;
    case at(feuaddr): return faults_.event.upper_address;
    case at(iqh): return low(queue_.head());
    case at(iqt): return low(queue_.tail());
    case at(iqa): return low(queue_.base());
    case upper(iqa): return high(queue_.base());
    case at(ics): return queue_.completion_status();
    case at(iectl): return queue_.event.control();
    case at(iedata): return queue_.event.data;
    case at(ieaddr): return queue_.event.address;
    case at(ieuaddr): return queue_.event.upper_address;
    case at(iqercd): return low(faults_.error_record());
    case upper(iqercd): return high(faults_.error_record());
    case at(pqh): return low(page_requests_.head());
    case at(pqt): return low(page_requests_.tail());
    case at(pqa): return low(page_requests_.base());
    case upper(pqa): return high(page_requests_.base());
    case at(prs): return page_requests_.status();
    case at(pectl): return page_requests_.event.control();
    case at(pedata): return page_requests_.event.data;
    case at(peaddr): return page_requests_.event.address;
    case at(peuaddr): return page_requests_.event.upper_address;
    default: return 0;
    }
}

void Iommu::write_dword(std::uint32_t offset, std::uint32_t value, port::Time now) {
    if (offset >= fault_record_offset && offset < fault_record_offset + faults_.size() * FaultRecord::size) {
        const auto from = offset - fault_record_offset;
        if (from % FaultRecord::size == 12)
            faults_.write_record_high(from / FaultRecord::size, std::uint64_t{value} << 32);
        return;
    }
    switch (offset) {
    // Register-based invalidation ends at once, and IAIG and CAIG 0 say that nothing was invalidated.
    case iotlb_offset: invalidate_address_ = with_low(invalidate_address_, value); return;
    case iotlb_offset + 4: invalidate_address_ = with_high(invalidate_address_, value); return;
    case iotlb_offset + 8: iotlb_command_ = with_low(iotlb_command_, value); return;
    case iotlb_offset + 12:
        iotlb_command_ = IotlbInvalidate{with_high(iotlb_command_, value)}.set<"ivt">(false).set<"iaig">(0).value();
        return;
    default: break;
    }
    constexpr auto message_data = 0xffffu;
    constexpr auto message_address = ~3u;
    using enum Register;
    switch (offset) {
    case at(gcmd): return command(value, now);
    case at(rtaddr): root_ = with_low(root_, value) & RootTableAddress::defined[0]; return;
    case upper(rtaddr): root_ = with_high(root_, value); return;
    case at(ccmd): context_command_ = with_low(context_command_, value); return;
    case upper(ccmd):
        context_command_ = ContextCommand{with_high(context_command_, value)}.set<"icc">(false).set<"caig">(0).value();
        return;
    case at(fsts):
        faults_.write_status(value);
        return queue_.run(now); // an error that was cleared lets the queue go on
    case at(fectl): return faults_.event.write_control(value, now);
    case at(fedata): faults_.event.data = value & message_data; return;
    case at(feaddr): faults_.event.address = value & message_address; return;
    case at(feuaddr): faults_.event.upper_address = value; return;
    case at(iqt): return queue_.set_tail(value, now);
    case at(iqa): return queue_.set_base(with_low(queue_.base(), value));
    case upper(iqa): return queue_.set_base(with_high(queue_.base(), value));
    case at(ics): return queue_.write_completion_status(value);
    case at(iectl): return queue_.event.write_control(value, now);
    case at(iedata): queue_.event.data = value & message_data; return;
    case at(ieaddr): queue_.event.address = value & message_address; return;
    case at(ieuaddr): queue_.event.upper_address = value; return;
    case at(pqh): return page_requests_.set_head(value);
    case at(pqt): return page_requests_.set_tail(value);
    case at(pqa): return page_requests_.set_base(with_low(page_requests_.base(), value));
    case upper(pqa): return page_requests_.set_base(with_high(page_requests_.base(), value));
    case at(prs): return page_requests_.write_status(value);
    case at(pectl): return page_requests_.event.write_control(value, now);
    case at(pedata): page_requests_.event.data = value & message_data; return;
    case at(peaddr): page_requests_.event.address = value & message_address; return;
    case at(peuaddr): page_requests_.event.upper_address = value; return;
    default: return;
    }
}

void Iommu::command(std::uint32_t value, port::Time now) {
    const GlobalCommand command{value};
    if (command.get<"srtp">()) {
        translator_.set_root(RootTableAddress{root_});
        status_.set<"rtps">(true);
    }
    queue_.set_enabled(command.get<"qie">(), now);
    status_.set<"qies">(queue_.is_enabled());
    translator_.set_enabled(command.get<"te">());
    status_.set<"tes">(command.get<"te">());
}

} // namespace model::iommu
