#include "sw/mlx/memory_region.h"

#include "abi/prm/mkey.h"
#include "sw/mlx/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace sw::mlx {

using namespace abi::prm;

namespace {

constexpr unsigned log_page_largest = 31; // a translation entry's page is at most 2 GiB here, as in the stock driver

void write_access(const Capabilities& capabilities, Access access, abi::View<Mkc> context) {
    context.set<"lr">(1)
        .set<"lw">(has(access, Access::local_write))
        .set<"rr">(has(access, Access::remote_read))
        .set<"rw">(has(access, Access::remote_write))
        .set<"a">(has(access, Access::remote_atomic));
    if (has(access, Access::relaxed_ordering)) // a hint: without the capability it is dropped
        context.set<"relaxed_ordering_write">(capabilities.get<"relaxed_ordering_write">())
            .set<"relaxed_ordering_read">(capabilities.get<"relaxed_ordering_read">());
}

Result<void> check_access(const Capabilities& capabilities, Access access) {
    const bool others_write = has(access, Access::remote_write) || has(access, Access::remote_atomic);
    if (others_write && !has(access, Access::local_write)) // IBA 10.6.3.1
        return failure(EINVAL, "register memory: remote write or atomic rights without local write");
    if (has(access, Access::remote_atomic) && !capabilities.has_atomics())
        return failure(EOPNOTSUPP, "register memory: remote atomic right, the device has no atomics");
    return {};
}

} // namespace

MemoryRegion::MemoryRegion(MemoryRegion&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)), umem_(std::move(other.umem_)), key_(other.key_),
      iova_(other.iova_), owns_iova_(std::exchange(other.owns_iova_, false)), length_(other.length_),
      log_page_size_(other.log_page_size_), page_count_(other.page_count_) {}

MemoryRegion& MemoryRegion::operator=(MemoryRegion&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(umem_, other.umem_);
    std::swap(key_, other.key_);
    std::swap(iova_, other.iova_);
    std::swap(owns_iova_, other.owns_iova_);
    std::swap(length_, other.length_);
    std::swap(log_page_size_, other.log_page_size_);
    std::swap(page_count_, other.page_count_);
    return *this;
}

MemoryRegion::~MemoryRegion() { (void)destroy(); }

Result<void> MemoryRegion::destroy() {
    if (!device_)
        return {};
    Input<DestroyMkeyIn> in(Opcode::destroy_mkey);
    in.view().set<"mkey_index">(key_.index());
    if (const auto out = run<DestroyMkeyOut>(device_->commands(), in); !out)
        return std::unexpected(out.error());
    if (owns_iova_)
        device_->iova_space().release(iova_);
    device_ = nullptr;
    umem_ = {};
    return {};
}

Result<MemoryRegion> MemoryRegion::create(Device& device, abi::Pd pd, memory::Umem umem, abi::Iova iova,
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
    const auto octowords = (pages.size() + 1) / 2; // two page addresses each
    Input<CreateMkeyIn> in(Opcode::create_mkey, 0, octowords * octoword_bytes);
    const auto variant = device.next_key_variant();
    const auto context = in.view().sub<"memory_key_mkey_entry">();
    set_access_mode(context, AccessMode::mtt);
    write_access(capabilities, options.access, context);
    context.set<"qpn">(mkey_any_qpn)
        .set<"mkey_7_0">(variant)
        .set<"pd">(pd.value)
        .set<"start_addr">(iova.value)
        .set<"len">(umem.length())
        .set<"translations_octword_size">(static_cast<std::uint32_t>(octowords))
        .set<"log_page_size">(*log_page);
    in.view().set<"translations_octword_actual_size">(static_cast<std::uint32_t>(octowords));
    for (std::size_t i = 0; i < pages.size(); ++i)
        in.set_tail64(i, pages[i]);
    const auto out = run<CreateMkeyOut>(device.commands(), in);
    if (!out)
        return std::unexpected(out.error());
    MemoryRegion region;
    region.device_ = &device;
    region.key_ = abi::Key(out->get<"mkey_index">(), variant);
    region.iova_ = iova;
    region.length_ = umem.length();
    region.log_page_size_ = *log_page;
    region.page_count_ = pages.size();
    region.umem_ = std::move(umem);
    return region;
}

Result<MemoryRegion> MemoryRegion::from_host(Device& device, abi::Pd pd, const transport::DmaMemory& memory,
                                             std::uint64_t offset, std::uint64_t length, const RegionOptions& options) {
    if (auto allowed = check_access(device.capabilities(), options.access); !allowed)
        return std::unexpected(allowed.error());
    auto umem = memory::Umem::from_host(memory, offset, length);
    if (!umem)
        return std::unexpected(std::move(umem.error()));
    // As a kernel's driver does: the bus address. It is the same in every run, and agrees with itself in every page
    // size.
    const abi::Iova own{memory.bus + offset};
    return create(device, pd, std::move(*umem), options.zero_based ? abi::Iova{0} : options.iova.value_or(own),
                  options);
}

Result<MemoryRegion> MemoryRegion::from_export(Device& device, abi::Pd pd, memory::DmaBufHandle handle,
                                               std::uint64_t offset, std::uint64_t length,
                                               const RegionOptions& options) {
    if (auto allowed = check_access(device.capabilities(), options.access); !allowed)
        return std::unexpected(allowed.error());
    auto umem = memory::Umem::from_export(device.transport(), std::move(handle), offset, length);
    if (!umem)
        return std::unexpected(std::move(umem.error()));
    if (options.zero_based || options.iova)
        return create(device, pd, std::move(*umem), options.zero_based ? abi::Iova{0} : *options.iova, options);

    // No address of its own: one that agrees with the bus address in as many bits as the region is long.
    const auto alignment = std::bit_ceil(std::clamp<std::uint64_t>(length, 4096, std::uint64_t{1} << log_page_largest));
    auto iova = device.iova_space().allocate(length, alignment, umem->ranges().front().bus & (alignment - 1));
    if (!iova)
        return std::unexpected(std::move(iova.error()));
    auto region = create(device, pd, std::move(*umem), *iova, options);
    if (region)
        region->owns_iova_ = true;
    else
        device.iova_space().release(*iova);
    return region;
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
