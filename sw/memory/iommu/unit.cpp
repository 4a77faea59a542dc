#include "sw/memory/iommu/unit.h"

#include "abi/layout.h"
#include "sw/base/barrier.h"
#include "sw/memory/iommu/address_space.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace sw::memory::iommu {

using namespace abi::iommu;

namespace {
constexpr std::chrono::nanoseconds unit_patience = std::chrono::seconds{1};

constexpr unsigned type_of(DescriptorType type) { return static_cast<unsigned>(type); }
} // namespace

std::string to_string(const Fault& fault) {
    return fmt::format("{:02x}:{:02x}.{} {} {:#x}: reason {:#04x}, {}", fault.requester >> 8,
                       fault.requester >> 3 & 0x1f, fault.requester & 7, fault.is_write ? "writes" : "reads",
                       fault.address, static_cast<unsigned>(fault.reason), name(fault.reason));
}

// --- registers ---

std::uint32_t Unit::read32(Register offset) {
    std::array<std::byte, 4> bytes{};
    machine_.mmio_read(0, static_cast<std::uint64_t>(offset), bytes);
    return abi::load<std::uint32_t, abi::Endian::little>(bytes.data());
}
std::uint64_t Unit::read64(std::uint32_t offset) {
    std::array<std::byte, 8> bytes{};
    machine_.mmio_read(0, offset, bytes);
    return abi::load<std::uint64_t, abi::Endian::little>(bytes.data());
}
void Unit::write32(Register offset, std::uint32_t value) {
    std::array<std::byte, 4> bytes;
    abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), value);
    machine_.mmio_write(0, static_cast<std::uint64_t>(offset), bytes);
}
void Unit::write64(Register offset, std::uint64_t value) {
    std::array<std::byte, 8> bytes;
    abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), value);
    machine_.mmio_write(0, static_cast<std::uint64_t>(offset), bytes);
}

// --- life ---

Result<std::unique_ptr<Unit>> Unit::open(transport::Transport& machine, const UnitOptions& options) {
    std::unique_ptr<Unit> unit(new Unit(machine, options));
    if (auto started = unit->start(); !started)
        return std::unexpected(std::move(started.error()));
    return unit;
}

Result<void> Unit::start() {
    const auto version = read32(Register::ver);
    if (version == 0 || version == ~0u)
        return failure(ENODEV, "open the remapping unit: nothing answers at its registers");
    capability_ = Capability{read64(static_cast<std::uint32_t>(Register::cap))};
    extended_ = ExtendedCapability{read64(static_cast<std::uint32_t>(Register::ecap))};
    if (options_.levels < 3 || options_.levels > 5 || (capability_.get<"sagaw">() >> (options_.levels - 2) & 1) == 0)
        return failure(EINVAL,
                       fmt::format("open the remapping unit: tables of {} levels are not supported (SAGAW {:#x})",
                                   options_.levels, capability_.get<"sagaw">()));
    if (!extended_.get<"qi">() || !extended_.get<"c">() || !capability_.get<"psi">())
        return failure(ENOTSUP,
                       "open the remapping unit: it has no queued, page-selective invalidation or does not see the "
                       "processor's caches");
    domains_.resize(std::size_t{1} << (4 + 2 * capability_.get<"nd">()));
    domains_[0] = true; // caching mode marks what is not present with it

    auto root = Buffer::allocate(machine_, page_bytes);
    if (!root)
        return std::unexpected(std::move(root.error()));
    root_ = std::move(*root);
    auto queue = InvalidationQueue::create(machine_);
    if (!queue)
        return std::unexpected(std::move(queue.error()));
    queue_ = std::move(*queue);

    // A unit that somebody left on is turned off first: its tables are not ours.
    if (auto off = command({}, 0, "turn it off"); !off)
        return off;
    base::mmio_wmb(); // the empty root table before the register that leads to it
    write64(Register::rtaddr, RootTableAddress{}.set<"rta">(root_.bus()).value());
    if (auto set = command(GlobalCommand{}.set<"srtp">(true),
                           static_cast<std::uint32_t>(GlobalStatus{}.set<"rtps">(true).value()), "set its root table");
        !set)
        return set;
    write32(Register::iqt, 0);
    write64(Register::iqa, queue_->address().value());
    const auto queue_on = GlobalCommand{}.set<"qie">(true);
    if (auto on = command(queue_on, static_cast<std::uint32_t>(GlobalStatus{}.set<"qies">(true).value()),
                          "turn its queue on");
        !on)
        return on;
    // Whatever was cached before belongs to the root table before.
    const std::array<Descriptor, 2> all{
        ContextCacheDescriptor{}
            .set<"type">(type_of(DescriptorType::context_cache))
            .set<"g">(ContextGranularity::global)
            .bytes(),
        IotlbDescriptor{}.set<"type">(type_of(DescriptorType::iotlb)).set<"g">(IotlbGranularity::global).bytes()};
    if (auto done = queue_->run(all); !done)
        return done;
    take_faults();
    is_open_ = true;
    auto te = queue_on;
    return command(te.set<"te">(true), static_cast<std::uint32_t>(GlobalStatus{}.set<"tes">(true).value()),
                   "turn translation on");
}

Result<void> Unit::command(GlobalCommand bits, std::uint32_t wanted, std::string_view what) {
    write32(Register::gcmd, static_cast<std::uint32_t>(bits.value()));
    constexpr auto switches = static_cast<std::uint32_t>(GlobalStatus::mask<"tes"> | GlobalStatus::mask<"qies">);
    const bool is_done = transport::poll_until(machine_, unit_patience, [&] {
        const auto status = read32(Register::gsts);
        return wanted != 0 ? (status & wanted) == wanted : (status & switches) == 0;
    });
    return is_done ? Result<void>{}
                   : failure(EIO, fmt::format("open the remapping unit: {}: its status does not follow", what));
}

Unit::~Unit() {
    if (is_open_) [[maybe_unused]]
        const auto closed = command({}, 0, "turn it off");
}

Result<void> Unit::close() {
    if (std::ranges::count(domains_, true) > 1)
        return failure(EBUSY, "close the remapping unit: address spaces are left");
    is_open_ = false;
    return command({}, 0, "turn it off");
}

PageTableFormat Unit::format() const {
    return {.levels = options_.levels,
            .pages_2m = options_.pages_2m && (capability_.get<"sslps">() & 1) != 0,
            .pages_1g = options_.pages_1g && (capability_.get<"sslps">() & 2) != 0};
}

// --- devices ---

Result<std::uint16_t> Unit::take_domain() {
    const auto free = std::ranges::find(domains_, false);
    if (free == domains_.end())
        return failure(ENOSPC, fmt::format("make an address space: all {} domains are taken", domains_.size()));
    *free = true;
    return static_cast<std::uint16_t>(free - domains_.begin());
}

/// Where the context of a function stands; makes its bus's table.
Result<std::byte*> Unit::context_of(std::uint16_t requester) {
    const auto bus = static_cast<std::uint8_t>(requester >> 8);
    auto& table = contexts_[bus];
    if (table.size() == 0) {
        auto memory = Buffer::allocate(machine_, page_bytes);
        if (!memory)
            return std::unexpected(std::move(memory.error()));
        table = std::move(*memory);
        base::dma_wmb(); // the table is zero before the root entry leads to it
        RootEntry{}.set<"p">(true).set<"ctp">(table.bus()).to({root_.data() + bus * RootEntry::size, RootEntry::size});
    }
    return table.data() + (requester & 0xff) * ContextEntry::size;
}

Result<void> Unit::attach(std::uint16_t requester, AddressSpace& space, bool has_device_tlb) {
    if (&space.unit() != this)
        return failure(EINVAL,
                       fmt::format("attach {:#06x}: the address space belongs to another remapping unit", requester));
    if (attached_.contains(requester))
        return failure(EBUSY, fmt::format("attach {:#06x}: it has an address space; detach it first", requester));
    if (has_device_tlb && !extended_.get<"dt">())
        return failure(ENOTSUP, fmt::format("attach {:#06x}: the remapping unit knows no device-TLBs", requester));
    const auto context = context_of(requester);
    if (!context)
        return std::unexpected(context.error());
    const auto entry =
        ContextEntry{}
            .set<"p">(true)
            .set<"tt">(has_device_tlb ? TranslationType::with_device_tlb : TranslationType::untranslated_only)
            .set<"ssptptr">(space.root())
            .set<"aw">(options_.levels - 2)
            .set<"did">(space.domain());
    // The half that says "present" last.
    const auto bytes = entry.bytes();
    std::copy(bytes.begin() + 8, bytes.end(), *context + 8);
    base::dma_wmb(); // width and domain before "present"
    std::copy(bytes.begin(), bytes.begin() + 8, *context);
    attached_.emplace(requester, Attachment{&space, has_device_tlb});
    if (auto* listener = machine_.ownership_listener())
        listener->attach(requester, space.domain());
    // Entries that are not present are not cached, unless the unit is an emulation that wants to be told of changes.
    return capability_.get<"cm">() ? forget_context(requester, 0) : Result<void>{};
}

Result<void> Unit::detach(std::uint16_t requester) {
    const auto found = attached_.find(requester);
    if (found == attached_.end())
        return failure(ENOENT, fmt::format("detach {:#06x}: it is not attached", requester));
    const auto domain = found->second.space->domain();
    const auto context = context_of(requester);
    if (!context)
        return std::unexpected(context.error());
    // "Present" goes first: no walk may see a half of an entry.
    std::fill_n(*context, 8, std::byte{0});
    base::dma_wmb(); // "present" before the rest
    std::fill_n(*context + 8, 8, std::byte{0});
    attached_.erase(found);
    auto forgotten = forget_context(requester, domain);
    if (auto* listener = machine_.ownership_listener())
        listener->detach(requester);
    return forgotten;
}

Result<void> Unit::forget_context(std::uint16_t requester, std::uint16_t domain) {
    const std::array<Descriptor, 2> both{ContextCacheDescriptor{}
                                             .set<"type">(type_of(DescriptorType::context_cache))
                                             .set<"g">(ContextGranularity::device)
                                             .set<"did">(domain)
                                             .set<"sid">(requester)
                                             .bytes(),
                                         IotlbDescriptor{}
                                             .set<"type">(type_of(DescriptorType::iotlb))
                                             .set<"g">(IotlbGranularity::domain)
                                             .set<"dw">(true)
                                             .set<"dr">(true)
                                             .set<"did">(domain)
                                             .bytes()};
    return queue_->run(both);
}

// --- pages ---

Result<void> Unit::invalidate(const AddressSpace& space, std::uint64_t iova, std::uint64_t bytes, bool leaves_only) {
    if (missing_invalidations_ != 0) {
        --missing_invalidations_;
        return {};
    }
    const auto max_mask = static_cast<unsigned>(capability_.get<"mamv">());
    const auto pages = page_descriptors(space.domain(), iova, bytes, max_mask, leaves_only);
    if (auto done = queue_->run(pages); !done)
        return done;
    // A device that misses asks the IOTLB, so its own TLB is invalidated last.
    std::vector<Descriptor> copies;
    for (const auto& [requester, attachment] : attached_)
        if (attachment.space == &space && attachment.has_device_tlb)
            std::ranges::copy(device_tlb_descriptors(requester, iova, bytes), std::back_inserter(copies));
    return queue_->run(copies);
}

// --- faults ---

std::vector<Fault> Unit::take_faults() {
    std::vector<Fault> faults;
    const auto count = static_cast<unsigned>(capability_.get<"nfr">()) + 1;
    const auto base = static_cast<std::uint32_t>(capability_.get<"fro">() * register_offset_unit);
    const auto status = FaultStatus{read32(Register::fsts)};
    if (!status.get<"ppf">())
        return faults;
    for (auto index = static_cast<unsigned>(status.get<"fri">()); faults.size() < count; index = (index + 1) % count) {
        const auto at = base + index * static_cast<std::uint32_t>(FaultRecord::size);
        const FaultRecord record{{read64(at), read64(at + 8)}};
        if (!record.get<"f">())
            break;
        faults.push_back(
            {.requester = static_cast<std::uint16_t>(record.get<"sid">()),
             .address = record.get<"fi">(),
             .is_write = !record.get<"t1">(),
             .pasid = record.get<"pp">() ? std::optional(static_cast<std::uint32_t>(record.get<"pv">())) : std::nullopt,
             .reason = static_cast<FaultReason>(record.get<"fr">())});
        write32(static_cast<Register>(at + 12), 1u << 31);
    }
    return faults;
}

bool Unit::take_overflow() {
    const bool is_lost = FaultStatus{read32(Register::fsts)}.get<"pfo">();
    if (is_lost)
        write32(Register::fsts, static_cast<std::uint32_t>(FaultStatus{}.set<"pfo">(true).value()));
    return is_lost;
}

} // namespace sw::memory::iommu
