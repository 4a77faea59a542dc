#include "model/gpu/translation/address_space.h"

#include <algorithm>

namespace model::gpu::translation {

using abi::gpu::ContextControl;
using abi::gpu::Pde;
using abi::gpu::Pte;

namespace {
/// The field has 5 bits; larger fragments than the address space do not exist.
constexpr unsigned max_fragment = abi::gpu::address_bits - abi::gpu::page_shift - 1;
} // namespace

std::expected<Page, Fault> AddressSpaces::translate(unsigned vmid, std::uint64_t address, Kind kind, port::Time at,
                                                    unsigned client) {
    const auto page_number = address >> abi::gpu::page_shift;
    const Entry* found = nullptr;
    for (unsigned order = 1; orders_[vmid] >> order != 0; ++order) {
        if ((orders_[vmid] >> order & 1) == 0)
            continue;
        const auto& entry = slot(vmid, page_number >> (order - 1), order);
        if (entry.order == order && entry.vmid == vmid && entry.tag == page_number >> (order - 1)) {
            found = &entry;
            break;
        }
    }
    if (found == nullptr) {
        const auto walked = find_entry(vmid, address, at);
        if (!walked)
            return record({walked.error(), address, vmid, kind, at, client});
        const auto fragment = std::min(std::max<unsigned>(static_cast<unsigned>(walked->entry.get<"fragment">()),
                                                          walked->level * abi::gpu::level_bits),
                                       max_fragment);
        const auto order = fragment + 1;
        auto& entry = slot(vmid, page_number >> fragment, order);
        entry = {.tag = page_number >> fragment,
                 .vmid = static_cast<std::uint8_t>(vmid),
                 .order = static_cast<std::uint8_t>(order),
                 .pte = walked->entry,
                 .since = at};
        orders_[vmid] |= std::uint64_t{1} << order;
        found = &entry;
    }

    const auto& pte = found->pte;
    const auto covered = std::uint64_t{1} << (abi::gpu::page_shift + found->order - 1u);
    const auto inside = address & (covered - 1);
    // A fragment stands for contiguous memory. If that is not so, this is other memory than the table says.
    const auto physical = (pte.get<"page">() & ~(covered - 1)) | inside;
    const Page page{.physical = pte.get<"system">() ? Physical::bus(physical) : Physical::vram(physical),
                    .left = covered - inside,
                    .mtype = static_cast<Mtype>(pte.get<"mtype">()),
                    .is_readable = pte.get<"readable">(),
                    .is_writeable = pte.get<"writeable">(),
                    .is_prt = !pte.get<"valid">(),
                    .is_noalloc = pte.get<"noalloc">()};
    if (page.is_prt)
        return page;
    if ((kind != Kind::write && !page.is_readable) || (kind != Kind::read && !page.is_writeable))
        return record({Reason::no_right, address, vmid, kind, at, client});
    if (watch_ != nullptr && page.physical.is_bus()) [[unlikely]]
        tell(*found, address, page.physical.address(), page.left);
    return page;
}

void AddressSpaces::tell(const Entry& entry, std::uint64_t address, std::uint64_t bus, std::uint64_t left) const {
    constexpr auto page = std::uint64_t{1} << abi::gpu::page_shift;
    const port::Allowance allowance{.grant = {.kind = port::GrantKind::gpu_page,
                                              .object = address & ~(page - 1),
                                              .holder = entry.vmid,
                                              .since = entry.since},
                                    .address = bus & ~(page - 1),
                                    .length = left + bus % page};
    tell({&allowance, 1});
}

/// What copy engines move is payload; everything else of a GPU is not.
void AddressSpaces::tell(std::span<const port::Allowance> allowances) const {
    for (const auto purpose : {port::Purpose::control, port::Purpose::payload})
        watch_->use(purpose, allowances);
}

std::expected<AddressSpaces::Found, Reason> AddressSpaces::find_entry(unsigned vmid, std::uint64_t address,
                                                                      port::Time at) {
    const auto& context = contexts_[vmid];
    const ContextControl control{context.control};
    const auto number = address >> abi::gpu::page_shift;
    if (!control.get<"enable_context">() || number < context.first_page || number > context.last_page ||
        address >> abi::gpu::address_bits != 0)
        return std::unexpected(Reason::no_context);
    Pde directory{context.base};
    for (auto level = static_cast<unsigned>(control.get<"page_table_depth">());; --level) {
        if (!directory.get<"valid">())
            return std::unexpected(Reason::not_valid);
        // A table on its own covers the context from its first page on; below a directory it covers its part.
        const auto relative = address - (context.first_page << abi::gpu::page_shift);
        const auto is_root = level == control.get<"page_table_depth">();
        const auto index = is_root ? relative >> (abi::gpu::page_shift + abi::gpu::level_bits * level)
                                   : abi::gpu::index(relative, level);
        const auto where = directory.get<"base">() + index * 8;
        std::array<std::byte, 8> bytes;
        const auto read =
            below_.read(directory.get<"system">() ? Physical::bus(where) : Physical::vram(where), bytes, false, at);
        if (!read.is_ok)
            return std::unexpected(Reason::walk_failed);
        const auto pte = Pte::from(bytes);
        if (level == 0 || pte.get<"is_leaf">()) {
            // Linux writes EXECUTABLE into entries that are not valid: not zero does not mean valid.
            if (!pte.get<"valid">() && !pte.get<"prt">())
                return std::unexpected(Reason::not_valid);
            return Found{pte, level};
        }
        directory = Pde::from(bytes);
    }
}

std::unexpected<Fault> AddressSpaces::record(const Fault& fault) {
    if (fault_)
        has_more_faults_ = true;
    else
        fault_ = fault;
    return std::unexpected(fault);
}

std::uint32_t AddressSpaces::fault_status() const {
    abi::gpu::FaultStatus status;
    if (!fault_)
        return 0;
    status.set<"more_faults">(has_more_faults_)
        .set<"cid">(fault_->client)
        .set<"rw">(fault_->kind != Kind::read)
        .set<"atomic">(fault_->kind == Kind::atomic)
        .set<"vmid">(fault_->vmid);
    switch (fault_->reason) {
    case Reason::no_context: status.set<"mapping_error">(true); break;
    case Reason::walk_failed: status.set<"walker_error">(1); break;
    case Reason::not_valid: status.set<"walker_error">(0).set<"permission_faults">(1); break; // bit 0: not valid
    case Reason::no_right:
        status.set<"permission_faults">(fault_->kind == Kind::read ? 2 : 4); // bit 1: readable, bit 2: writeable
        break;
    }
    return static_cast<std::uint32_t>(status.value());
}

void AddressSpaces::invalidate(abi::gpu::InvalidateRequest request) {
    if (request.get<"clear_protection_fault_status_addr">())
        clear_fault();
    // There is one cache here for both levels of the silicon. What only one of them forgets, the other still knows.
    if (!request.get<"invalidate_l2_ptes">() || !request.get<"invalidate_l1_ptes">())
        return;
    const auto mask = request.get<"per_vmid_invalidate_req">();
    for (auto& entry : cache_)
        if ((mask >> entry.vmid & 1) != 0)
            entry.order = 0;
    for (unsigned vmid = 0; vmid < orders_.size(); ++vmid)
        if ((mask >> vmid & 1) != 0)
            orders_[vmid] = 0;
}

void AddressSpaces::reset() {
    contexts_ = {};
    cache_ = {};
    orders_ = {};
    clear_fault();
}

} // namespace model::gpu::translation
