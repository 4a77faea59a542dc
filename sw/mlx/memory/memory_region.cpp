#include "sw/mlx/memory/memory_region.h"

#include "abi/prm/mkey.h"
#include "sw/mlx/command/command.h"
#include "sw/mlx/memory/pager.h"
#include "sw/mlx/memory/umr.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace sw::mlx {

using namespace abi::prm;

namespace {

constexpr unsigned log_page_largest = 31; // a translation entry's page is at most 2 GiB here, as in the stock driver

} // namespace

Result<void> MemoryRegion::check_access(const Capabilities& capabilities, Access access) {
    const bool others_write = has(access, Access::remote_write) || has(access, Access::remote_atomic);
    if (others_write && !has(access, Access::local_write)) // IBA 10.6.3.1
        return failure(EINVAL, "register memory: remote write or atomic rights without local write");
    if (has(access, Access::remote_atomic) && !capabilities.has_atomics())
        return failure(EOPNOTSUPP, "register memory: remote atomic right, the device has no atomics");
    return {};
}

MemoryRegion::MemoryRegion(MemoryRegion&& other) noexcept { *this = std::move(other); }

/// All but is_busy_, which says who is inside this object.
MemoryRegion& MemoryRegion::operator=(MemoryRegion&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(export_, other.export_);
    std::swap(paged_, other.paged_);
    std::swap(key_, other.key_);
    std::swap(pd_, other.pd_);
    std::swap(takes_umr_, other.takes_umr_);
    std::swap(iova_, other.iova_);
    std::swap(owns_iova_, other.owns_iova_);
    std::swap(length_, other.length_);
    std::swap(log_page_size_, other.log_page_size_);
    std::swap(page_count_, other.page_count_);
    return *this;
}

MemoryRegion::~MemoryRegion() { (void)destroy(); }

Result<void> MemoryRegion::destroy_key() {
    Input<DestroyMkeyIn> in(Opcode::destroy_mkey);
    in.view().set<"mkey_index">(key_.index());
    if (const auto out = run<DestroyMkeyOut>(device_->commands(), in); !out)
        return std::unexpected(out.error());
    if (export_)
        export_->has_key = false;
    return {};
}

Result<void> MemoryRegion::destroy() {
    if (!device_)
        return {};
    const Inside inside(is_busy_);
    if (!inside)
        return failure(EBUSY, fmt::format("deregister key {:#x}: another thread is inside the region", key_.value));
    memory::Lock lock; // no revocation, and no change of pages, between the key's end and the mapping's
    if (export_) {
        auto held = export_->umem->reservation().lock(device_->transport());
        if (!held)
            return std::unexpected(std::move(held.error()));
        lock = std::move(*held);
    }
    if (paged_)
        if (auto held = paged_->hold(); !held)
            return held;
    auto gone = destroy_key();
    if (paged_) {
        paged_->has_key = paged_->has_key && !gone;
        paged_->is_changing = false;
    }
    if (!gone)
        return gone;
    lock = {};
    if (is_on_demand() && device_->pager()) // whoever waits inside finds no key
        device_->pager()->erase(key_);
    if (paged_)
        paged_->memory->stop_listening(std::exchange(paged_->ticket, {}));
    if (owns_iova_)
        device_->iova_space().release(iova_);
    owns_iova_ = false;
    device_ = nullptr;
    export_.reset();
    paged_.reset();
    return {};
}

Result<MemoryRegion> MemoryRegion::create(Device& device, abi::Pd pd, const memory::Umem& umem, abi::Iova iova,
                                          const RegionOptions& options) {
    const auto& capabilities = device.capabilities();
    memory::PageSizes sizes{.log_min = 12, .log_max = log_page_largest};
    if (const auto smallest = capabilities.get<"log_pg_sz">())
        sizes.log_min = std::min<unsigned>(smallest, log_page_largest);
    if (options.log_page_size) {
        if (*options.log_page_size < sizes.log_min)
            return failure(EINVAL, fmt::format("register memory: pages of 2^{} bytes, the device has 2^{} and more",
                                               *options.log_page_size, sizes.log_min));
        sizes.log_max = std::min(sizes.log_max, *options.log_page_size);
    }
    const auto log_page = umem.best_page_size(iova, sizes);
    if (!log_page)
        return failure(
            EINVAL, fmt::format("register memory: iova {:#x} and bus address {:#x} differ within a page of 2^{} bytes",
                                iova.value, umem.ranges().front().bus, sizes.log_min));
    const auto pages = umem.pages(*log_page);
    return create_key(device, pd, {.iova = iova, .length = umem.length(), .log_page_size = *log_page, .pages = pages},
                      options);
}

Result<MemoryRegion> MemoryRegion::create_key(Device& device, abi::Pd pd, const Shape& shape,
                                              const RegionOptions& options) {
    const auto octowords = (shape.pages.size() + 1) / 2; // two page addresses each
    Input<CreateMkeyIn> in(Opcode::create_mkey, 0, octowords * octoword_bytes);
    const auto variant = device.next_key_variant();
    const auto context = in.view().sub<"memory_key_mkey_entry">();
    set_access_mode(context, AccessMode::mtt);
    write_access(device.capabilities(), options.access, context);
    const bool takes_umr = options.takes_umr || options.mode != DmaBufMode::pinned;
    context.set<"qpn">(mkey_any_qpn)
        .set<"umr_en">(takes_umr)
        .set<"mkey_7_0">(variant)
        .set<"pd">(pd.value)
        .set<"start_addr">(shape.iova.value)
        .set<"len">(shape.length)
        .set<"translations_octword_size">(static_cast<std::uint32_t>(octowords))
        .set<"log_page_size">(shape.log_page_size);
    in.view()
        .set<"translations_octword_actual_size">(static_cast<std::uint32_t>(octowords))
        .set<"pg_access">(shape.pages_have_rights);
    for (std::size_t i = 0; i < shape.pages.size(); ++i)
        in.set_tail64(i, shape.pages[i]);
    const auto out = run<CreateMkeyOut>(device.commands(), in);
    if (!out)
        return std::unexpected(out.error());
    MemoryRegion region;
    region.device_ = &device;
    region.key_ = abi::Key(out->get<"mkey_index">(), variant);
    region.pd_ = pd;
    region.takes_umr_ = takes_umr;
    region.iova_ = shape.iova;
    region.length_ = shape.length;
    region.log_page_size_ = shape.log_page_size;
    region.page_count_ = shape.pages.size();
    return region;
}

Result<MemoryRegion> MemoryRegion::from_host(Device& device, abi::Pd pd, const transport::DmaMemory& memory,
                                             std::uint64_t offset, std::uint64_t length, const RegionOptions& options) {
    if (auto allowed = check_access(device.capabilities(), options.access); !allowed)
        return std::unexpected(allowed.error());
    const auto umem = memory::Umem::from_host(memory, offset, length);
    if (!umem)
        return std::unexpected(umem.error());
    // The bus address, as in a kernel's driver: it is the same in every run, and any page size fits.
    const abi::Iova own{memory.bus + offset};
    return create(device, pd, *umem, options.zero_based ? abi::Iova{0} : options.iova.value_or(own), options);
}

/// The region of a mapped dma-buf, at an iova of its own where none is given.
Result<MemoryRegion> MemoryRegion::create_at_iova(Device& device, abi::Pd pd, const memory::Umem& umem,
                                                  const RegionOptions& options) {
    if (options.zero_based || options.iova)
        return create(device, pd, umem, options.zero_based ? abi::Iova{0} : *options.iova, options);
    // No address was given: take one that has the offset of the bus address within pages as large as the region.
    const auto length = umem.length();
    const auto alignment = std::bit_ceil(std::clamp<std::uint64_t>(length, 4096, std::uint64_t{1} << log_page_largest));
    auto iova = device.iova_space().allocate(length, alignment, umem.ranges().front().bus & (alignment - 1));
    if (!iova)
        return std::unexpected(std::move(iova.error()));
    auto region = create(device, pd, umem, *iova, options);
    if (region)
        region->owns_iova_ = true;
    else
        device.iova_space().release(*iova);
    return region;
}

Result<MemoryRegion> MemoryRegion::from_export(Device& device, abi::Pd pd, memory::DmaBufHandle handle,
                                               std::uint64_t offset, std::uint64_t length,
                                               const RegionOptions& options) {
    if (auto allowed = check_access(device.capabilities(), options.access); !allowed)
        return std::unexpected(allowed.error());
    const auto iova = options.zero_based ? std::optional(abi::Iova{0}) : options.iova;
    if (iova && ((iova->value ^ offset) & (memory::dma_page - 1)) != 0)
        return failure(EINVAL, fmt::format("register a dma-buf: iova {:#x} and offset {:#x} differ within a page",
                                           iova->value, offset));
    if (options.mode == DmaBufMode::on_demand)
        return from_export_on_demand(device, pd, std::move(handle), {offset, length}, options);
    const bool is_revocable = options.mode == DmaBufMode::revocable;
    if (is_revocable) // a revocation needs the queue, so it must exist before
        if (auto queue = device.umr(); !queue)
            return std::unexpected(std::move(queue.error()));
    auto state = std::make_shared<Export>();
    memory::Lock lock;
    if (is_revocable) {
        auto locked = memory::UmemDmaBuf::get_revocable(device.transport(), std::move(handle), {offset, length});
        if (!locked)
            return std::unexpected(std::move(locked.error()));
        state->umem = std::move(locked->umem);
        lock = std::move(locked->lock);
    } else {
        auto umem = memory::UmemDmaBuf::get_pinned(device.transport(), std::move(handle), {offset, length});
        if (!umem)
            return std::unexpected(std::move(umem.error()));
        state->umem = std::move(*umem);
    }
    auto region = create_at_iova(device, pd, state->umem->umem(), options);
    if (!region)
        return region;
    state->device = &device;
    state->key = region->key_;
    state->has_key = true;
    if (is_revocable)
        if (auto set = state->umem->set_revoke(lock, [state = state.get()] { return state->free_key(); }); !set)
            return std::unexpected(std::move(set.error()));
    region->export_ = std::move(state);
    return region;
}

Result<void> MemoryRegion::Export::free_key() const {
    if (!has_key)
        return {};
    if (!device->health().look_now_and_then()) // a device in that state does no DMA
        return {};
    const auto queue = device->umr();
    if (!queue)
        return std::unexpected(queue.error());
    return (*queue)->revoke(key);
}

Result<void> MemoryRegion::rereg_access(abi::Pd pd, Access access) {
    const auto refuse = [&](int code, std::string_view why) {
        return failure(code, fmt::format("reregister key {:#x}: {}", key_.value, why));
    };
    if (!device_)
        return refuse(EINVAL, "it is deregistered");
    const Inside inside(is_busy_);
    if (!inside)
        return refuse(EBUSY, "another thread is inside the region");
    if (auto allowed = check_access(device_->capabilities(), access); !allowed)
        return allowed;
    if (!takes_umr_)
        return refuse(EOPNOTSUPP, "it was made without umr_en, so rights and protection domain stay");
    memory::Lock lock; // no revocation while rights change
    if (export_) {
        auto held = export_->umem->reservation().lock(device_->transport());
        if (!held)
            return std::unexpected(std::move(held.error()));
        lock = std::move(*held);
    }
    if (is_revoked())
        return refuse(EINVAL, "it was revoked, and that is for good");
    const auto queue = device_->umr();
    if (!queue)
        return std::unexpected(queue.error());
    if (auto changed = (*queue)->change_access(key_, pd, access); !changed)
        return changed;
    pd_ = pd;
    return {};
}

Result<void> MemoryRegion::rereg_export(memory::DmaBufHandle handle, std::uint64_t offset, std::uint64_t length,
                                        const RegionOptions& options) {
    if (!device_)
        return failure(EINVAL, fmt::format("reregister key {:#x}: it is deregistered", key_.value));
    const Inside inside(is_busy_);
    if (!inside)
        return failure(EBUSY, fmt::format("reregister key {:#x}: another thread is inside the region", key_.value));
    auto made = from_export(*device_, pd_, std::move(handle), offset, length, options);
    if (!made)
        return std::unexpected(std::move(made.error()));
    *this = std::move(*made);
    return made->destroy(); // which is what this was before
}

Result<MemoryRegion> MemoryRegion::physical(Device& device, abi::Pd pd, Access access) {
    if (auto allowed = check_access(device.capabilities(), access); !allowed)
        return std::unexpected(allowed.error());
    Input<CreateMkeyIn> in(Opcode::create_mkey);
    const auto variant = device.next_key_variant();
    const auto context = in.view().sub<"memory_key_mkey_entry">();
    set_access_mode(context, AccessMode::pa);
    write_access(device.capabilities(), access, context);
    context.set<"qpn">(mkey_any_qpn).set<"mkey_7_0">(variant).set<"pd">(pd.value).set<"length64">(1);
    const auto out = run<CreateMkeyOut>(device.commands(), in);
    if (!out)
        return std::unexpected(out.error());
    MemoryRegion region;
    region.device_ = &device;
    region.key_ = abi::Key(out->get<"mkey_index">(), variant);
    region.length_ = ~std::uint64_t{0};
    return region;
}

} // namespace sw::mlx
