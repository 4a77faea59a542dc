#include "platform/bridge/in_process.h"

#include "abi/pcie/capability.h"
#include "model/tlm/time.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace platform::bridge {

using abi::pcie::MsixCapability;
using abi::pcie::MsixEntry;
using model::port::Time;
using model::tlm::kernel_now;
using model::tlm::to_sc;

namespace {
/// How long a polling loop that sees nothing lets time pass, at least and at most. A device write ends it early.
constexpr Time first_nap = std::chrono::microseconds{1}, longest_nap = std::chrono::microseconds{64};
constexpr unsigned naps_doubled = 6;
/// Completions and flags that a driver polls in memory of a device are no longer.
constexpr std::size_t longest_poll = 64;
} // namespace

InProcessTransport::InProcessTransport(host::Host& host, abi::pcie::Bdf bdf)
    : host_(host), root_complex_(host.root_complex()), processor_(root_complex_.processor()), bdf_(bdf) {
    if (const auto* found = host.enumeration().find(bdf))
        bars_ = found->bars;
}

InProcessTransport::InProcessTransport(host::Host& host) : InProcessTransport(host, abi::pcie::Bdf{0xff, 0x1f, 7}) {
    const auto registers = root_complex_.core().map().iommu;
    bars_ = {};
    if (host.config().iommu)
        bars_[0] = {.address = registers.begin, .size = registers.end - registers.begin};
}

InProcessTransport::~InProcessTransport() {
    for (const auto vector : vectors_)
        host_.interrupts().release(vector);
}

// --- configuration and registers ---

std::uint32_t InProcessTransport::config_read(std::uint16_t offset, unsigned bytes) {
    settle();
    const auto result = root_complex_.config_read(bdf_, offset, bytes, kernel_now());
    wait_until(result.done);
    return result.value;
}

void InProcessTransport::config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    settle();
    wait_until(root_complex_.config_write(bdf_, offset, bytes, value, kernel_now()).done);
}

const host::BarFound* InProcessTransport::bar(unsigned number) const {
    return number < bars_.size() && bars_[number].size != 0 ? &bars_[number] : nullptr;
}

std::uint64_t InProcessTransport::bar_size(unsigned number) { return bar(number) ? bar(number)->size : 0; }
std::uint64_t InProcessTransport::bar_address(unsigned number) { return bar(number) ? bar(number)->address : 0; }

void InProcessTransport::mmio_read(unsigned number, std::uint64_t offset, std::span<std::byte> into) {
    settle();
    const auto* range = bar(number);
    if (range == nullptr || offset > range->size || into.size() > range->size - offset) {
        std::ranges::fill(into, std::byte{0xff});
        return;
    }
    const auto result = processor_.fetch(range->address + offset, into, kernel_now(), model::port::Purpose::control);
    if (!result.is_ok())
        std::ranges::fill(into, std::byte{0xff});
    wait_until(result.done);
}

void InProcessTransport::bar_read(unsigned number, std::uint64_t offset, std::span<std::byte> into) {
    settle();
    const Look look{number, offset, into.size()};
    polls_bar_ = into.size() <= longest_poll && look == last_look_;
    last_look_ = look;
    const auto* range = combining_bar(number, offset, into.size());
    if (range == nullptr)
        return Transport::bar_read(number, offset, into);
    auto& access = host_.bar_access();
    auto done = kernel_now();
    for (auto address = range->address + offset; !into.empty();) {
        const auto piece = into.first(access.load_piece(address, into.size()));
        const auto load = access.load(processor_, address, piece, kernel_now());
        if (!load.result.is_ok())
            std::ranges::fill(piece, std::byte{0xff});
        done = std::max(done, load.result.done);
        wait_until(load.begin);
        address += piece.size();
        into = into.subspan(piece.size());
    }
    wait_until(done);
}

void InProcessTransport::bar_write(unsigned number, std::uint64_t offset, std::span<const std::byte> from) {
    settle();
    const auto* range = combining_bar(number, offset, from.size());
    if (range == nullptr)
        return Transport::bar_write(number, offset, from);
    auto& access = host_.bar_access();
    for (auto address = range->address + offset; !from.empty();) {
        const auto piece = from.first(access.store_piece(address, from.size()));
        wait_until(access.store(processor_, address, piece, kernel_now()).begin);
        address += piece.size();
        from = from.subspan(piece.size());
    }
    pay_for_store();
}

void InProcessTransport::mmio_write(unsigned number, std::uint64_t offset, std::span<const std::byte> from) {
    settle();
    if (number >= bars_.size() || offset >= bars_[number].size || from.size() > bars_[number].size - offset)
        return;
    // Posted: the processor goes on, whatever becomes of it, when the store has left it.
    processor_.store(bars_[number].address + offset, from, kernel_now(), model::port::Purpose::control);
    pay_for_store();
}

const host::BarFound* InProcessTransport::combining_bar(unsigned number, std::uint64_t offset,
                                                        std::size_t length) const {
    const auto* range = bar(number);
    const bool has_all = range != nullptr && offset <= range->size && length <= range->size - offset;
    return has_all && range->is_prefetchable ? range : nullptr;
}

void InProcessTransport::wait_until(Time done) {
    if (done > kernel_now())
        processor_now().alarm.wait_until(done);
}

void InProcessTransport::spend(sw::transport::Work work, std::size_t count) {
    if (!host_.config().timed)
        return;
    const auto& cost = host_.config().software;
    owed() += static_cast<std::int64_t>(count) * (work == sw::transport::Work::post ? cost.post : cost.poll);
    // The device may look at the memory in which it is told, as it does for receives.
    if (work == sw::transport::Work::post)
        settle();
}

/// What is stored is not left in the processor's buffers.
void InProcessTransport::pay_for_store() {
    if (host_.config().timed)
        owed() += host_.config().software.store;
}

void InProcessTransport::settle() {
    if (!host_.config().timed)
        return;
    if (const auto spent = std::exchange(owed(), Time{}); spent != Time{})
        wait_until(kernel_now() + spent);
}

InProcessTransport::Processor& InProcessTransport::processor_now() {
    const auto self = sc_core::sc_get_current_process_handle();
    if (last_processor_ == nullptr || last_processor_->thread != self) {
        const auto found = std::ranges::find(processors_, self, &Processor::thread);
        last_processor_ = found != processors_.end() ? &*found : &processors_.emplace_back(self);
    }
    return *last_processor_;
}

// --- memory ---

sw::Result<sw::transport::DmaMemory> InProcessTransport::allocate(std::size_t bytes, std::size_t alignment) {
    const auto block = host_.memory().allocate(bytes, alignment);
    if (!block)
        return sw::failure(ENOMEM, fmt::format("allocate {} bytes of DMA memory aligned to {}: no room in {}", bytes,
                                               alignment, host_.name()));
    if (host_.ownership() != nullptr)
        own(block->bus, block->size, describe_memory());
    return sw::transport::DmaMemory{block->data, block->bus, bytes};
}

void InProcessTransport::release(const sw::transport::DmaMemory& memory) {
    constexpr auto page = host::Memory::page;
    if (host_.ownership() != nullptr)
        disown(memory.bus, (memory.size + page - 1) / page * page);
    host_.memory().release(memory.bus);
}

std::string InProcessTransport::describe_memory() const {
    ++allocations_;
    if (host_.enumeration().find(bdf_) == nullptr) // the remapping unit's driver
        return fmt::format("DMA memory of the host, allocation {}", allocations_);
    return fmt::format("DMA memory of {:02x}:{:02x}.{}, allocation {}", bdf_.bus(), bdf_.device(), bdf_.function(),
                       allocations_);
}

void InProcessTransport::own(std::uint64_t bus, std::uint64_t bytes, std::string_view who) {
    host_.ownership()->own(bus, bytes, std::string(who));
}
void InProcessTransport::own_memory(const std::byte* data, std::uint64_t bytes, std::string_view who) {
    if (const auto bus = host_.memory().bus_of(data); bus != 0)
        own(bus, bytes, who);
}
void InProcessTransport::disown(std::uint64_t bus, std::uint64_t bytes) { host_.ownership()->disown(bus, bytes); }
void InProcessTransport::map(std::uint16_t domain, std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes) {
    host_.ownership()->map(domain, iova, physical, bytes);
}
void InProcessTransport::unmap(std::uint16_t domain, std::uint64_t iova, std::uint64_t bytes) {
    host_.ownership()->unmap(domain, iova, bytes);
}
void InProcessTransport::attach(std::uint16_t requester, std::uint16_t domain) {
    host_.ownership()->attach(requester, domain);
}
void InProcessTransport::detach(std::uint16_t requester) { host_.ownership()->detach(requester); }

sw::Result<std::uint64_t> InProcessTransport::map_peer(std::uint64_t bus, std::size_t bytes) {
    for (const auto& function : host_.enumeration().functions)
        for (const auto& range : function.bars)
            if (range.size != 0 && bus >= range.address && bus - range.address <= range.size &&
                bytes <= range.size - (bus - range.address))
                return bus;
    return sw::failure(EINVAL, fmt::format("map {:#x}+{:#x}: no function has that range in a BAR", bus, bytes));
}

// --- interrupts ---

sw::Result<void> InProcessTransport::enable_interrupts(unsigned count) {
    disable_interrupts();
    const auto* function = host_.enumeration().find(bdf_);
    if (function == nullptr || count > function->msix_vectors)
        return sw::failure(EINVAL, fmt::format("enable {} MSI-X vectors: the function has {}", count,
                                               function != nullptr ? function->msix_vectors : 0));
    for (unsigned i = 0; i < count; ++i) {
        const auto vector = host_.interrupts().allocate();
        if (!vector) {
            disable_interrupts();
            return sw::failure(ENOSPC, fmt::format("enable {} MSI-X vectors: the host has no more", count));
        }
        vectors_.push_back(*vector);
    }
    // As Linux does: enabled with everything masked, entries written, then the function mask goes.
    struct Config final : host::ConfigAccess {
        InProcessTransport& self;
        explicit Config(InProcessTransport& transport) : self(transport) {}
        std::uint32_t read(abi::pcie::Bdf, std::uint16_t offset, unsigned bytes) override {
            return self.config_read(offset, bytes);
        }
        void write(abi::pcie::Bdf, std::uint16_t offset, unsigned bytes, std::uint32_t value) override {
            self.config_write(offset, bytes, value);
        }
    } config(*this);
    msix_capability_ = host::find_capability(config, bdf_, abi::pcie::CapabilityId::msix);
    if (msix_capability_ == 0)
        return sw::failure(ENODEV, "enable MSI-X: the function does not answer");
    set_msix(true, true);
    for (unsigned i = 0; i < count; ++i)
        write_entry(i, vectors_[i], false);
    set_msix(true, false);
    return {};
}

void InProcessTransport::set_msix(bool is_enabled, bool is_masked) {
    abi::Block<MsixCapability> block;
    abi::store<std::uint32_t, abi::Endian::little>(block.bytes.data(), config_read(msix_capability_, 4));
    block.view().set<"enable">(is_enabled).set<"function_mask">(is_masked);
    config_write(msix_capability_, 4, abi::load<std::uint32_t, abi::Endian::little>(block.bytes.data()));
}

void InProcessTransport::write_entry(unsigned vector, std::uint32_t data, bool is_masked) {
    abi::Block<MsixCapability> where;
    abi::store<std::uint32_t, abi::Endian::little>(where.bytes.data() + 4, config_read(msix_capability_ + 4, 4));
    abi::Block<MsixEntry> entry;
    entry.view()
        .set<"address">(static_cast<std::uint32_t>(host::Interrupts::message_address >> 2))
        .set<"data">(data)
        .set<"mask">(is_masked);
    const auto table = std::uint64_t{where.view().get<"table_offset">()} * 8 + vector * MsixEntry::size;
    for (std::size_t at = 0; at < MsixEntry::size; at += 4)
        mmio_write(where.view().get<"table_bir">(), table + at, std::span(entry.bytes).subspan(at, 4));
}

void InProcessTransport::disable_interrupts() {
    if (vectors_.empty())
        return;
    if (msix_capability_ != 0) {
        for (unsigned i = 0; i < vectors_.size(); ++i)
            write_entry(i, 0, true);
        set_msix(false, false);
    }
    for (const auto vector : vectors_)
        host_.interrupts().release(vector);
    vectors_.clear();
    msix_capability_ = 0;
}

bool InProcessTransport::wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) {
    settle();
    if (vector >= vectors_.size())
        return false;
    auto& interrupts = host_.interrupts();
    const auto number = vectors_[vector];
    const auto start = kernel_now();
    const auto deadline = timeout > std::chrono::duration_cast<std::chrono::nanoseconds>(model::port::never - start)
                              ? model::port::never
                              : start + timeout;
    for (;;) {
        const auto now = kernel_now();
        if (interrupts.take(number, now)) {
            if (host_.config().timed)
                wait_until(now + host_.config().software.interrupt);
            return true;
        }
        if (now >= deadline)
            return false;
        const auto until = std::min(deadline, interrupts.next(number));
        processor_now().alarm.wait_until(until, interrupts.event(number));
    }
}

// --- time ---

void InProcessTransport::relax() { nap(longest_nap); }

void InProcessTransport::relax_until(Time time) {
    settle();
    if (const auto now = kernel_now(); time > now)
        nap(time - now);
}

void InProcessTransport::nap(Time longest) {
    settle();
    auto& writes = root_complex_.memory_writes();
    if (writes.count() != seen_writes_) {
        // Something was written since the last look: the caller looks again before time passes.
        seen_writes_ = writes.count();
        idle_ = 0;
        return;
    }
    // Nobody is told when memory of a device changes: who looks there again and again looks without a long pause.
    const bool is_poll = std::exchange(polls_bar_, false);
    const auto span = is_poll ? first_nap : std::min(longest_nap, first_nap * (1 << std::min(idle_++, naps_doubled)));
    writes.watch(true);
    processor_now().alarm.wait_until(kernel_now() + std::min(span, longest), root_complex_.memory_written());
    writes.watch(false);
}

std::chrono::nanoseconds InProcessTransport::now() {
    settle();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(kernel_now());
}

} // namespace platform::bridge
