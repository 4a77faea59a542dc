#include "sw/memory/iommu/invalidation.h"

#include "abi/layout.h"
#include "sw/base/barrier.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace sw::memory::iommu {

using namespace abi::iommu;

namespace {
constexpr std::size_t ring_bytes = 4096;
constexpr std::chrono::nanoseconds patience = std::chrono::seconds{2}; ///< longer than a device-TLB may take to answer

std::uint64_t offset(Register r) { return static_cast<std::uint64_t>(r); }

template <class E> E read(transport::Transport& machine, Register r) {
    std::array<std::byte, E::size> bytes{};
    machine.mmio_read(0, offset(r), bytes);
    if constexpr (E::size == 4)
        return E{abi::load<std::uint32_t, abi::Endian::little>(bytes.data())};
    else
        return E{abi::load<std::uint64_t, abi::Endian::little>(bytes.data())};
}
} // namespace

Result<InvalidationQueue> InvalidationQueue::create(transport::Transport& machine) {
    InvalidationQueue made(machine);
    for (auto* buffer : {&made.ring_, &made.status_}) {
        auto memory = Buffer::allocate(machine, ring_bytes);
        if (!memory)
            return std::unexpected(std::move(memory.error()));
        *buffer = std::move(*memory);
    }
    return made;
}

QueueAddress InvalidationQueue::address() const { return QueueAddress{}.set<"iqa">(ring_.bus()); }

void InvalidationQueue::push(const Descriptor& descriptor) {
    std::ranges::copy(descriptor, ring_.data() + tail_);
    tail_ = (tail_ + descriptor.size()) % ring_bytes;
}

Result<void> InvalidationQueue::run(std::span<const Descriptor> batch) {
    static_assert((max_batch + 1) * sizeof(Descriptor) < ring_bytes,
                  "a ring is never full: its head would equal its tail");
    for (; !batch.empty(); batch = batch.subspan(std::min(batch.size(), max_batch))) {
        for (const auto& descriptor : batch.first(std::min(batch.size(), max_batch)))
            push(descriptor);
        push(WaitDescriptor{}
                 .set<"type">(static_cast<unsigned>(DescriptorType::wait))
                 .set<"sw">(true)
                 .set<"stdata">(++sequence_)
                 .set<"staddr">(status_.bus())
                 .bytes());
        base::mmio_wmb(); // tables and descriptors before the tail
        std::array<std::byte, 4> tail;
        abi::store<std::uint32_t, abi::Endian::little>(tail.data(), static_cast<std::uint32_t>(tail_));
        machine_->mmio_write(0, offset(Register::iqt), tail);

        const auto is_done = [&] { return abi::load<std::uint32_t, abi::Endian::little>(status_.data()) == sequence_; };
        Result<void> result;
        const bool has_ended = transport::poll_until(*machine_, patience, [&] {
            if (auto found = take_error(); !found)
                result = std::move(found);
            return is_done();
        });
        if (!has_ended)
            return result ? failure(EIO, "invalidate: the unit does not answer; is its queue on?") : result;
        if (!result)
            return result;
        base::dma_rmb(); // the status word before what the unit had written earlier
    }
    return {};
}

/// The error for which the unit has stopped. The queue goes on behind the descriptor.
Result<void> InvalidationQueue::take_error() {
    const auto status = read<FaultStatus>(*machine_, Register::fsts);
    if (!status.get<"iqe">() && !status.get<"ite">())
        return {};
    const auto record = read<QueueErrorRecord>(*machine_, Register::iqercd);
    if (status.get<"iqe">()) {
        // The descriptor at the head becomes one that does nothing; a queue that is told of no error reads it again.
        const auto head = read<QueueHead>(*machine_, Register::iqh).get<"qh">();
        std::ranges::copy(WaitDescriptor{}.set<"type">(static_cast<unsigned>(DescriptorType::wait)).bytes(),
                          ring_.data() + head % ring_bytes);
        base::mmio_wmb(); // descriptor before the register that lets the queue go on
    }
    std::array<std::byte, 4> seen;
    abi::store<std::uint32_t, abi::Endian::little>(
        seen.data(), static_cast<std::uint32_t>(
                         FaultStatus{}.set<"iqe">(status.get<"iqe">()).set<"ite">(status.get<"ite">()).value()));
    machine_->mmio_write(0, offset(Register::fsts), seen);
    if (status.get<"ite">())
        return failure(ETIMEDOUT,
                       fmt::format("invalidate the device-TLB of {:#06x}: it did not answer", record.get<"itesid">()));
    return failure(EIO, fmt::format("invalidate: the unit refused a descriptor: {}",
                                    name(static_cast<QueueError>(record.get<"iqei">()))));
}

namespace {
/// Calls `f(page number, n)` for ranges of 2^n pages at multiples of their size that make up [iova, +bytes).
template <class F> void for_each_power_of_two(std::uint64_t iova, std::uint64_t bytes, unsigned max_mask, F&& f) {
    for (auto page = iova >> page_shift, end = (iova + bytes) >> page_shift; page < end;) {
        const auto mask = std::min({static_cast<unsigned>(std::countr_zero(page)),
                                    static_cast<unsigned>(std::bit_width(end - page)) - 1, max_mask});
        f(page, mask);
        page += std::uint64_t{1} << mask;
    }
}
} // namespace

std::vector<Descriptor> page_descriptors(std::uint16_t domain, std::uint64_t iova, std::uint64_t bytes,
                                         unsigned max_mask, bool leaves_only) {
    std::vector<Descriptor> all;
    for_each_power_of_two(iova, bytes, max_mask, [&](std::uint64_t page, unsigned mask) {
        all.push_back(IotlbDescriptor{}
                          .set<"type">(static_cast<unsigned>(DescriptorType::iotlb))
                          .set<"g">(IotlbGranularity::page)
                          .set<"dw">(true)
                          .set<"dr">(true)
                          .set<"did">(domain)
                          .set<"am">(mask)
                          .set<"ih">(leaves_only)
                          .set<"addr">(page << page_shift)
                          .bytes());
    });
    return all;
}

std::vector<Descriptor> device_tlb_descriptors(std::uint16_t requester, std::uint64_t iova, std::uint64_t bytes) {
    constexpr unsigned largest = 63 - page_shift;
    std::vector<Descriptor> all;
    for_each_power_of_two(iova, bytes, largest, [&](std::uint64_t page, unsigned mask) {
        // The lowest bit of the address that is clear says how many pages: see abi::iommu::invalidation_range.
        const auto ones = mask == 0 ? 0 : (std::uint64_t{1} << (mask - 1)) - 1;
        all.push_back(DeviceTlbDescriptor{}
                          .set<"type">(static_cast<unsigned>(DescriptorType::device_tlb))
                          .set<"sid">(requester)
                          .set<"s">(mask != 0)
                          .set<"addr">((page | ones) << page_shift)
                          .bytes());
    });
    return all;
}

} // namespace sw::memory::iommu
