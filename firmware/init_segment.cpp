#include "firmware/init_segment.h"

#include "abi/write_masks.h"

#include <algorithm>
#include <utility>

namespace firmware {

namespace prm = abi::prm;
using model::port::Time;
using prm::InitialSegment;
using prm::NicInterface;

namespace {
constexpr std::uint32_t fw_major = 28, fw_minor = 39, fw_subminor = 1002;
/// Health ticks: one a millisecond, so that a poll every second or so sees a change.
constexpr std::int64_t picoseconds_a_tick = 1'000'000'000;

constexpr auto cmdq_low = InitialSegment::field<"cmdq_phy_addr_31_12">::offset;
constexpr auto doorbell = InitialSegment::field<"command_doorbell_vector">::offset;
constexpr auto health = InitialSegment::field<"health_counter">::offset;

bool overlaps(std::uint64_t offset, std::size_t length, std::size_t field) {
    return offset < field + 4 && field < offset + length;
}
} // namespace

InitSegment::InitSegment(const model::hca::HcaConfig& config, CommandQueue& queue, std::function<void()> disable)
    : config_(config), queue_(queue), disable_(std::move(disable)) {
    reset();
}

void InitSegment::reset() {
    image_ = {};
    const auto segment = image_.view();
    segment.set<"fw_rev_major">(fw_major)
        .set<"fw_rev_minor">(fw_minor)
        .set<"fw_rev_subminor">(fw_subminor)
        .set<"cmd_interface_rev">(prm::command_interface_revision)
        .set<"log_cmdq_size">(CommandQueue::log_entries)
        .set<"log_cmdq_stride">(CommandQueue::log_stride);
    // cmd_q_init_to = 0: the driver uses its own time-outs and does not read DTOR.
    segment.sub<"health_buffer">()
        .set<"fw_version">(fw_major << 24 | fw_minor << 16 | fw_subminor)
        .set<"hw_id">(config_.device_id);
}

std::uint64_t InitSegment::timer(const model::hca::HcaConfig& config, Time at) {
    // ticks = ps * kHz / 10^9, in two steps so that the product stays within 64 bits
    constexpr std::uint64_t giga = 1'000'000'000;
    const auto ps = static_cast<std::uint64_t>(at.count());
    return ps / giga * config.internal_timer_khz + ps % giga * config.internal_timer_khz / giga;
}

void InitSegment::read(std::uint64_t offset, std::span<std::byte> into, Time at) {
    const auto segment = image_.view();
    const auto ticks = timer(config_, at);
    segment.set<"internal_timer_h">(static_cast<std::uint32_t>(ticks >> 32))
        .set<"internal_timer_l">(static_cast<std::uint32_t>(ticks));
    if (overlaps(offset, into.size(), health))
        segment.set<"health_counter">(static_cast<std::uint32_t>(at.count() / picoseconds_a_tick) + ++health_reads_);

    std::ranges::fill(into, std::byte{});
    if (offset < InitialSegment::size)
        std::ranges::copy(std::span(image_.bytes)
                              .subspan(offset)
                              .first(std::min<std::size_t>(into.size(), InitialSegment::size - offset)),
                          into.begin());
}

void InitSegment::write(std::uint64_t offset, std::span<const std::byte> from, Time at) {
    const auto skipped = (4 - offset % 4) % 4;
    for (std::size_t i = skipped; i + 4 <= from.size(); i += 4)
        write_dword(offset + i, abi::load<std::uint32_t, std::endian::big>(from.data() + i), at);
}

void InitSegment::write_dword(std::uint64_t offset, std::uint32_t value, Time at) {
    const auto segment = image_.view();
    switch (offset) {
    case cmdq_low: {
        const auto before = segment.get<"nic_interface">();
        abi::write_dword(segment, offset, value);
        const auto wanted = segment.get<"nic_interface">();
        // nic_interface_supported is 0: a software reset is not offered, only on and off.
        if (wanted != NicInterface::full_driver && wanted != NicInterface::disabled)
            segment.set<"nic_interface">(before);
        if (wanted == NicInterface::disabled && before != NicInterface::disabled)
            disable_();
        if (wanted == NicInterface::full_driver)
            queue_.set_base(std::uint64_t{segment.get<"cmdq_phy_addr_63_32">()} << 32 |
                            std::uint64_t{segment.get<"cmdq_phy_addr_31_12">()} << 12);
        return;
    }
    case doorbell:
        if (segment.get<"nic_interface">() == NicInterface::full_driver)
            queue_.ring(value, at);
        return;
    default:
        if (offset < InitialSegment::size)
            abi::write_dword(segment, offset, value);
        return;
    }
}

} // namespace firmware
