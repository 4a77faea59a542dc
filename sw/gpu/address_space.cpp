#include "sw/gpu/address_space.h"

#include "sw/transport/mmio.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace sw::gpu {

using abi::gpu::InvalidateRequest;
using abi::gpu::max_depth;
using abi::gpu::Mtype;
using abi::gpu::Pde;
using abi::gpu::Pte;
using abi::gpu::Register;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t page = 1 << abi::gpu::page_shift;
constexpr unsigned flush_engine = 17;  ///< that the driver uses for its own invalidations (gfxhub_v3_0.c)
constexpr std::uint64_t gap = 1 << 16; ///< between areas, so that who leaves one faults

constexpr std::uint32_t at(Register first, unsigned number = 0, unsigned dwords = 1) {
    return static_cast<std::uint32_t>(first) + 4 * dwords * number;
}

constexpr auto bytes_of = [](const auto& pieces) { // which have whole pages
    std::uint64_t bytes = 0;
    for (const auto& piece : pieces)
        bytes += piece.bytes;
    return bytes;
};

} // namespace

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

Result<std::unique_ptr<AddressSpace>> AddressSpace::create(Gpu& gpu, const Options& options) {
    if (options.vmid >= abi::gpu::contexts)
        return failure(EINVAL, fmt::format("GPU address space: context {} of {}", options.vmid, abi::gpu::contexts));
    if (gpu.transport().bar_size(options.register_bar) <= abi::gpu::remap_page)
        return failure(ENODEV, fmt::format("GPU address space: BAR {} has no registers", options.register_bar));
    std::unique_ptr<AddressSpace> made(new AddressSpace(gpu, options));
    TRY(made->begin());
    return made;
}

AddressSpace::~AddressSpace() {
    while (!areas_.empty())
        if (!unmap(areas_.begin()->first))
            break;
    if (is_on_)
        set_context(false);
}

Result<void> AddressSpace::begin() {
    const auto root = take_table();
    if (!root)
        return std::unexpected(root.error());
    root_ = *root;
    flush_host_path();
    set_context(true);
    return make_known();
}

std::uint32_t AddressSpace::read(std::uint32_t offset) {
    return transport::read32<abi::Endian::little>(gpu_.transport(), options_.register_bar, offset);
}
void AddressSpace::write(std::uint32_t offset, std::uint32_t value) {
    transport::write32<abi::Endian::little>(gpu_.transport(), options_.register_bar, offset, value);
}

void AddressSpace::set_context(bool is_on) {
    const auto own = options_.vmid;
    const auto set = [&](Register first, std::uint64_t value) {
        write(at(first, own, 2), static_cast<std::uint32_t>(value));
        write(at(first, own, 2) + 4, static_cast<std::uint32_t>(value >> 32));
    };
    is_on_ = is_on;
    if (!is_on)
        return write(at(Register::context0_cntl, own), 0);
    set(Register::context0_base, Pde{}.set<"valid">(true).set<"base">(root_).value());
    set(Register::context0_start, 0);
    set(Register::context0_end, (std::uint64_t{1} << (abi::gpu::address_bits - abi::gpu::page_shift)) - 1);
    write(at(Register::context0_cntl, own),
          static_cast<std::uint32_t>(
              abi::gpu::ContextControl{}.set<"enable_context">(true).set<"page_table_depth">(max_depth).value()));
}

/// Zeroed. Tables are taken from blocks that stay where they are.
Result<std::uint64_t> AddressSpace::take_table() {
    if (next_table_ == tables_end_) {
        auto block = gpu_.allocate(vram_block);
        if (!block)
            return std::unexpected(block.error());
        auto pin = gpu_.pin(*block);
        if (!pin)
            return std::unexpected(pin.error());
        next_table_ = block->ranges().front().offset;
        tables_end_ = next_table_ + block->ranges().front().size;
        table_pins_.push_back(std::move(*pin));
        tables_.push_back(std::move(*block));
    }
    static constexpr std::array<std::byte, page> zeroes{};
    gpu_.transport().bar_write(gpu_.vram_bar(), next_table_, zeroes);
    return std::exchange(next_table_, next_table_ + page);
}

std::uint64_t AddressSpace::read_entry(std::uint64_t where) {
    std::array<std::byte, 8> bytes{};
    gpu_.transport().bar_read(gpu_.vram_bar(), where, bytes);
    return abi::load<std::uint64_t, abi::Endian::little>(bytes.data());
}
void AddressSpace::write_entry(std::uint64_t where, std::uint64_t value) {
    std::array<std::byte, 8> bytes;
    abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), value);
    gpu_.transport().bar_write(gpu_.vram_bar(), where, bytes);
}

Result<void> AddressSpace::set(std::uint64_t address, Pte entry) {
    auto table = root_;
    for (auto level = max_depth; level > 0; --level) {
        auto& below = table_of_[{level, address / abi::gpu::span(level)}];
        if (below == 0) {
            const auto taken = take_table();
            if (!taken)
                return std::unexpected(taken.error());
            below = *taken;
            write_entry(table + abi::gpu::index(address, level) * 8,
                        Pde{}.set<"valid">(true).set<"base">(below).value());
        }
        table = below;
    }
    write_entry(table + abi::gpu::index(address, 0) * 8, entry.value());
    return {};
}

std::optional<Pte> AddressSpace::entry(std::uint64_t address) {
    auto table = root_;
    for (auto level = max_depth; level > 0; --level) {
        const auto directory = Pde(read_entry(table + abi::gpu::index(address, level) * 8));
        if (!directory.get<"valid">())
            return std::nullopt;
        table = directory.get<"base">();
    }
    const auto found = Pte(read_entry(table + abi::gpu::index(address, 0) * 8));
    return found.get<"valid">() ? std::optional(found) : std::nullopt;
}

Result<void> AddressSpace::lead(std::uint64_t address, std::span<const Piece> pieces, const Kind& kind,
                                const std::optional<Pin>& pin) {
    // The buffer is asked when entries are written, and never later (gmc_v11_0_get_vm_pte).
    const auto mtype = pin && pin->is_uncached() ? Mtype::uc : kind.mtype;
    for (const auto& piece : pieces)
        for (std::uint64_t done = 0; done < piece.bytes; done += page, address += page)
            TRY(set(address, Pte{}
                                 .set<"valid">(true)
                                 .set<"system">(kind.is_system)
                                 .set<"snooped">(kind.is_system)
                                 .set<"readable">(true)
                                 .set<"writeable">(kind.is_writeable)
                                 .set<"page">(piece.physical + done)
                                 .set<"mtype">(mtype)));
    return {};
}

Result<std::uint64_t> AddressSpace::place(std::vector<Piece> pieces, const Kind& kind, Area area) {
    const auto begin = next_address_;
    TRY(lead(begin, pieces, kind, area.pin));
    area.kind = kind;
    area.bytes = bytes_of(pieces);
    area.pieces = std::move(pieces);
    next_address_ = (begin + area.bytes + gap - 1) / gap * gap + gap;
    areas_.emplace(begin, std::move(area));
    TRY(make_known());
    return begin;
}

Result<std::vector<AddressSpace::Piece>> AddressSpace::pieces_of(const VramBuffer& buffer, std::optional<Pin>& pin) {
    auto pinned = gpu_.pin(buffer);
    if (!pinned)
        return std::unexpected(pinned.error());
    pin.emplace(std::move(*pinned));
    std::vector<Piece> pieces;
    for (const auto& range : buffer.ranges())
        pieces.push_back({range.offset, range.size});
    return pieces;
}

Result<std::uint64_t> AddressSpace::map(const VramBuffer& buffer, Mtype mtype, bool is_writeable) {
    Area area;
    auto pieces = pieces_of(buffer, area.pin);
    if (!pieces)
        return std::unexpected(pieces.error());
    return place(std::move(*pieces), {.is_writeable = is_writeable, .mtype = mtype}, std::move(area));
}

Result<std::uint64_t> AddressSpace::map_host(std::uint64_t bus, std::uint64_t bytes, Mtype mtype) {
    return place({{bus, bytes}}, {.is_system = true, .mtype = mtype}, {});
}

Result<std::uint64_t> AddressSpace::import(const memory::DmaBufHandle& buffer, Mtype mtype) {
    if (!options_.accepts_foreign && buffer->exporter_name() != "GPU")
        return failure(EINVAL, fmt::format("import into the GPU: the buffer is of {}, whose facts only its driver has",
                                           buffer->exporter_name()));
    const auto own = next_address_; // where place() puts it
    auto attached = buffer->attach(
        gpu_.transport(), {.name = "GPU address space",
                           .allow_peer2peer = true,
                           .move_notify = [this, own](const memory::Lock& lock) { (void)is_taken_back(own, lock); }});
    if (!attached)
        return std::unexpected(attached.error());
    Area area{.import = std::move(*attached)};
    std::vector<Piece> pieces;
    {
        const auto lock = buffer->reservation().lock(gpu_.transport());
        if (!lock)
            return std::unexpected(lock.error());
        const auto list = area.import->map(*lock);
        if (!list)
            return std::unexpected(list.error());
        area.list = *list;
        for (const auto& range : **list)
            pieces.push_back({range.bus, range.size});
    }
    return place(std::move(pieces), {.is_system = true, .mtype = mtype}, std::move(area));
}

/// Called by the exporter, with the lock held.
Result<void> AddressSpace::is_taken_back(std::uint64_t address, const memory::Lock& lock) {
    const auto found = areas_.find(address);
    if (found == areas_.end() || found->second.list == nullptr)
        return {};
    TRY(take_out(address, found->second));
    return found->second.import->unmap(lock, std::exchange(found->second.list, nullptr));
}

Result<void> AddressSpace::take_out(std::uint64_t address, const Area& area) {
    for (std::uint64_t done = 0; done < area.bytes && omitted_ != Step::entries; done += page)
        TRY(set(address + done, Pte{}));
    return let_go();
}

Result<AddressSpace::Area*> AddressSpace::find(std::uint64_t address) {
    const auto found = areas_.find(address);
    if (found == areas_.end())
        return failure(ENOENT, fmt::format("GPU address space: nothing is mapped at {:#x}", address));
    return &found->second;
}

/// The entries of a known area become others.
Result<void> AddressSpace::change(std::uint64_t address, const Area& area, const std::optional<Pin>& pin) {
    if (omitted_ != Step::entries)
        TRY(lead(address, area.pieces, area.kind, pin));
    return let_go();
}

Result<void> AddressSpace::protect(std::uint64_t address) {
    const auto area = find(address);
    if (!area)
        return std::unexpected(area.error());
    (*area)->kind.is_writeable = false;
    return change(address, **area, (*area)->pin);
}

Result<void> AddressSpace::move(std::uint64_t address, const VramBuffer& to) {
    std::optional<Pin> pin;
    auto pieces = pieces_of(to, pin);
    if (!pieces)
        return std::unexpected(pieces.error());
    return move(address, std::move(*pieces), false, std::move(pin));
}

Result<void> AddressSpace::move_to_host(std::uint64_t address, std::uint64_t bus) {
    const auto area = find(address);
    if (!area)
        return std::unexpected(area.error());
    return move(address, {{bus, (*area)->bytes}}, true, {});
}

Result<void> AddressSpace::move(std::uint64_t address, std::vector<Piece> pieces, bool is_system,
                                std::optional<Pin> pin) {
    const auto found = find(address);
    if (!found)
        return std::unexpected(found.error());
    auto& area = **found;
    if (bytes_of(pieces) != area.bytes)
        return failure(EINVAL, fmt::format("GPU address space: what has {:#x} bytes does not move to {:#x}", area.bytes,
                                           bytes_of(pieces)));
    area.kind = {.is_system = is_system, .mtype = area.kind.mtype};
    area.pieces = std::move(pieces);
    TRY(change(address, area, pin));
    area.pin.swap(pin); // where it was, it need not be any more
    return {};
}

Result<void> AddressSpace::unmap(std::uint64_t address) {
    const auto found = find(address);
    if (!found)
        return std::unexpected(found.error());
    auto area = std::move(**found);
    areas_.erase(address);
    auto outcome = area.import == nullptr || area.list != nullptr ? take_out(address, area) : Result<void>{};
    if (area.list == nullptr)
        return outcome;
    const auto lock = area.import->buffer()->reservation().lock(gpu_.transport());
    if (!lock)
        return std::unexpected(lock.error());
    const auto given_back = area.import->unmap(*lock, area.list);
    return outcome ? given_back : outcome;
}

Result<void> AddressSpace::make_known() {
    if (omitted_ != Step::host_path)
        flush_host_path();
    if (omitted_ == Step::invalidation)
        return {};
    return invalidate(flush_engine, InvalidateRequest{}
                                        .set<"per_vmid_invalidate_req">(1u << options_.vmid)
                                        .set<"invalidate_l2_ptes">(true)
                                        .set<"invalidate_l2_pde0">(true)
                                        .set<"invalidate_l2_pde1">(true)
                                        .set<"invalidate_l2_pde2">(true)
                                        .set<"invalidate_l1_ptes">(true));
}

Result<void> AddressSpace::let_go() {
    TRY(make_known());
    // Translations before caches: by an old one a line would be filled again.
    return omitted_ == Step::rinse ? Result<void>{} : gpu_.rinse();
}

void AddressSpace::flush_host_path() {
    write(abi::gpu::remap_page + abi::gpu::hdp_mem_flush, 0);
    (void)read(abi::gpu::remap_page + abi::gpu::hdp_mem_flush);
}

Result<void> AddressSpace::invalidate(unsigned engine, InvalidateRequest request) {
    if (engine >= abi::gpu::engines)
        return failure(EINVAL, fmt::format("invalidate: engine {} of {}", engine, abi::gpu::engines));
    const auto wanted = static_cast<std::uint32_t>(request.get<"per_vmid_invalidate_req">());
    write(at(Register::invalidate0_req, engine), static_cast<std::uint32_t>(request.value()));
    if (omitted_ == Step::acknowledgement)
        return {};
    const auto is_done = [&] { return (read(at(Register::invalidate0_ack, engine)) & wanted) == wanted; };
    if (!transport::poll_until(gpu_.transport(), 100ms, is_done))
        return failure(ETIMEDOUT, fmt::format("invalidate: engine {} does not acknowledge", engine));
    return {};
}

} // namespace sw::gpu
