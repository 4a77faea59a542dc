#include "platform/host/enumerate.h"

#include "abi/pcie/access_control.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace platform::host {

using namespace abi::pcie;
using model::pcie::Range;
using model::pcie::size_code;
using model::pcie::size_of_code;

namespace {

/// Layout rows over configuration cycles: a dword at a time.
template <class L, abi::Name Row> auto get(ConfigAccess& access, Bdf bdf, std::uint16_t base = 0) {
    using Field = typename L::template field<Row>;
    constexpr auto dword = Field::offset / 4 * 4;
    abi::Block<L> block;
    abi::store<std::uint32_t, abi::Endian::little>(block.bytes.data() + dword,
                                                   access.read(bdf, static_cast<std::uint16_t>(base + dword), 4));
    return block.view().template get<Row>();
}
/// Read, change, write. `clear` rows that are cleared by ones share dwords only with rows written here as zeroes.
template <class L, abi::Name Row>
void set(ConfigAccess& access, Bdf bdf, typename L::template field<Row>::type value, std::uint16_t base = 0) {
    using Field = typename L::template field<Row>;
    constexpr auto dword = Field::offset / 4 * 4;
    // Status registers stand in the upper half of a dword and are cleared by ones: write the lower half alone.
    constexpr bool is_lower_half = Field::offset % 4 + (Field::high / 8) < 2;
    abi::Block<L> block;
    abi::store<std::uint32_t, abi::Endian::little>(block.bytes.data() + dword,
                                                   access.read(bdf, static_cast<std::uint16_t>(base + dword), 4));
    block.view().template set<Row>(value);
    access.write(bdf, static_cast<std::uint16_t>(base + dword), is_lower_half ? 2 : 4,
                 abi::load<std::uint32_t, abi::Endian::little>(block.bytes.data() + dword));
}

constexpr std::uint16_t no_vendor = 0xffff;
constexpr unsigned max_bus = 255;

struct Node {
    std::size_t function; ///< index in the enumeration
    std::vector<Node> children;
};

/// Space that a part of the tree needs in one window.
struct Need {
    std::uint64_t size = 0, alignment = 1;
    void add(std::uint64_t bytes, std::uint64_t align) {
        size = (size + align - 1) / align * align + bytes;
        alignment = std::max(alignment, align);
    }
};

class Enumerator {
public:
    Enumerator(ConfigAccess& access, const EnumerateConfig& config) : access_(access), config_(config) {}

    Enumeration run() {
        result_.max_payload = config_.max_payload;
        Node root{0, scan(0, Bdf{})};
        auto low = config_.low_mmio, high = config_.high_mmio;
        assign(root, low, false);
        assign(root, high, true);
        for (const auto& function : result_.functions)
            finish(function);
        return std::move(result_);
    }

private:
    FunctionFound& at(const Node& node) { return result_.functions[node.function]; }

    // --- finding ---

    std::vector<Node> scan(unsigned bus, Bdf parent) {
        std::vector<Node> nodes;
        for (unsigned device = 0; device < 32; ++device) {
            for (unsigned function = 0; function < 8; ++function) {
                const Bdf bdf{bus, device, function};
                if (get<CommonHeader, "vendor_id">(access_, bdf) == no_vendor) {
                    if (function == 0)
                        break; // a device has a function 0
                    continue;
                }
                nodes.push_back(look_at(bdf, parent));
                if (function == 0 && !get<CommonHeader, "multi_function">(access_, bdf))
                    break;
            }
        }
        return nodes;
    }

    Node look_at(Bdf bdf, Bdf parent) {
        FunctionFound found;
        found.bdf = bdf;
        found.parent = parent;
        found.vendor_id = get<CommonHeader, "vendor_id">(access_, bdf);
        found.device_id = get<CommonHeader, "device_id">(access_, bdf);
        found.class_code = get<CommonHeader, "class_code">(access_, bdf);
        found.is_bridge = get<CommonHeader, "header_type">(access_, bdf) == 1;
        set<CommonHeader, "memory_space_enable">(access_, bdf, false); // while BARs hold sizes and not addresses
        size_bars(found);
        if (const auto express = find_capability(access_, bdf, CapabilityId::pci_express); express != 0) {
            found.port_type = get<PciExpress, "port_type">(access_, bdf, express);
            const auto supported = size_of_code(get<PciExpress, "max_payload_supported">(access_, bdf, express));
            result_.max_payload = std::min(result_.max_payload, supported);
        }
        if (const auto msix = find_capability(access_, bdf, CapabilityId::msix); msix != 0)
            found.msix_vectors = static_cast<std::uint16_t>(get<MsixCapability, "table_size">(access_, bdf, msix) + 1);

        const auto index = result_.functions.size();
        const bool is_bridge = found.is_bridge;
        result_.functions.push_back(found);
        Node node{index, {}};
        if (is_bridge)
            node.children = descend(index);
        return node;
    }

    std::vector<Node> descend(std::size_t index) {
        const auto bdf = result_.functions[index].bdf;
        if (next_bus_ > max_bus) {
            result_.problems.push_back(fmt::format("{}: no bus number left", name(bdf)));
            return {};
        }
        const auto secondary = next_bus_++;
        set<Type1Header, "primary_bus">(access_, bdf, bdf.bus());
        set<Type1Header, "secondary_bus">(access_, bdf, static_cast<std::uint8_t>(secondary));
        set<Type1Header, "subordinate_bus">(access_, bdf, static_cast<std::uint8_t>(max_bus)); // until known
        auto children = scan(secondary, bdf);
        set<Type1Header, "subordinate_bus">(access_, bdf, static_cast<std::uint8_t>(next_bus_ - 1));
        result_.functions[index].secondary = static_cast<std::uint8_t>(secondary);
        result_.functions[index].subordinate = static_cast<std::uint8_t>(next_bus_ - 1);
        return children;
    }

    void size_bars(FunctionFound& found) {
        const auto count = found.is_bridge ? type1_bars : type0_bars;
        for (unsigned i = 0; i < count; ++i) {
            const auto offset = static_cast<std::uint16_t>(bar_offset + 4 * i);
            access_.write(found.bdf, offset, 4, ~0u);
            const auto probe = access_.read(found.bdf, offset, 4);
            access_.write(found.bdf, offset, 4, 0);
            if (probe == 0 || probe == ~0u)
                continue;
            abi::Block<MemoryBar> bar;
            abi::store<std::uint32_t, abi::Endian::little>(bar.bytes.data(), probe);
            if (bar.view().get<"is_io">())
                continue; // I/O space is not built
            auto& entry = found.bars[i];
            entry.is_prefetchable = bar.view().get<"prefetchable">();
            entry.is_64bit = bar.view().get<"type">() == bar_type_64 && i + 1 < count;
            std::uint64_t mask = ~std::uint64_t{0} << 32 | std::uint64_t{bar.view().get<"base">()} << 4;
            if (entry.is_64bit) {
                const auto upper = static_cast<std::uint16_t>(offset + 4);
                access_.write(found.bdf, upper, 4, ~0u);
                mask = (mask & 0xffff'ffff) | std::uint64_t{access_.read(found.bdf, upper, 4)} << 32;
                access_.write(found.bdf, upper, 4, 0);
                ++i;
            }
            entry.size = ~mask + 1;
            if (!std::has_single_bit(entry.size)) {
                result_.problems.push_back(fmt::format("{}: a BAR does not size", name(found.bdf)));
                entry = {};
            }
        }
    }

    // --- addresses ---

    /// Prefetchable 64-bit BARs live in the prefetchable windows above 4 GiB, everything else below.
    static bool is_high(const BarFound& bar) { return bar.is_64bit && bar.is_prefetchable; }

    struct Item {
        std::uint64_t size, alignment;
        BarFound* bar;
        const Node* bridge;
    };

    /// What lies on a bus, biggest first: each is aligned to its size, so little is lost between them.
    std::vector<Item> items_of(const Node& node, bool high) {
        std::vector<Item> items;
        for (const auto& child : node.children) {
            for (auto& bar : at(child).bars)
                if (bar.size != 0 && is_high(bar) == high)
                    items.push_back({bar.size, bar.size, &bar, nullptr});
            if (!at(child).is_bridge)
                continue;
            if (const auto need = need_of(child, high); need.size != 0)
                items.push_back({need.size, need.alignment, nullptr, &child});
        }
        std::ranges::stable_sort(items, std::ranges::greater{}, &Item::alignment);
        return items;
    }

    Need need_of(const Node& bridge, bool high) {
        Need need;
        for (const auto& item : items_of(bridge, high))
            need.add(item.size, item.alignment);
        if (need.size != 0) {
            need.size = (need.size + window_granule - 1) / window_granule * window_granule;
            need.alignment = std::max(need.alignment, window_granule);
        }
        return need;
    }

    void assign(const Node& node, Range& free, bool high) {
        for (const auto& item : items_of(node, high)) {
            const auto begin = (free.begin + item.alignment - 1) / item.alignment * item.alignment;
            if (begin < free.begin || begin > free.end || free.end - begin < item.size) {
                result_.problems.push_back(
                    fmt::format("no room for {} bytes of {} memory space", item.size, high ? "64-bit" : "32-bit"));
                continue;
            }
            free.begin = begin + item.size;
            if (item.bar != nullptr) {
                item.bar->address = begin;
                continue;
            }
            Range inner{begin, begin + item.size};
            open_window(at(*item.bridge).bdf, inner, high);
            assign(*item.bridge, inner, high);
        }
    }

    void open_window(Bdf bdf, Range range, bool high) {
        const auto base = range.begin / window_granule, limit = range.end / window_granule - 1;
        constexpr std::uint64_t low_bits = 0xfff;
        if (!high) {
            set<Type1Header, "memory_base">(access_, bdf, static_cast<std::uint32_t>(base));
            set<Type1Header, "memory_limit">(access_, bdf, static_cast<std::uint32_t>(limit));
            return;
        }
        set<Type1Header, "prefetchable_base">(access_, bdf, static_cast<std::uint32_t>(base & low_bits));
        set<Type1Header, "prefetchable_limit">(access_, bdf, static_cast<std::uint32_t>(limit & low_bits));
        set<Type1Header, "prefetchable_base_upper">(access_, bdf, static_cast<std::uint32_t>(base >> 12));
        set<Type1Header, "prefetchable_limit_upper">(access_, bdf, static_cast<std::uint32_t>(limit >> 12));
    }

    // --- enabling ---

    void finish(const FunctionFound& found) {
        bool is_placed = true;
        for (unsigned i = 0; i < type0_bars; ++i) {
            const auto& bar = found.bars[i];
            if (bar.size == 0)
                continue;
            is_placed &= bar.address != 0;
            const auto offset = static_cast<std::uint16_t>(bar_offset + 4 * i);
            access_.write(found.bdf, offset, 4, static_cast<std::uint32_t>(bar.address));
            if (bar.is_64bit)
                access_.write(found.bdf, static_cast<std::uint16_t>(offset + 4), 4,
                              static_cast<std::uint32_t>(bar.address >> 32));
        }
        if (const auto express = find_capability(access_, found.bdf, CapabilityId::pci_express); express != 0) {
            set<PciExpress, "max_payload_size">(access_, found.bdf, size_code(result_.max_payload), express);
            if (!found.is_bridge)
                set<PciExpress, "max_read_request_size">(access_, found.bdf, size_code(config_.max_read_request),
                                                         express);
        }
        if (found.is_bridge) {
            close_unused_windows(found);
            set<CommonHeader, "bus_master_enable">(access_, found.bdf, true); // lets requests of devices below go up
            control_access(found.bdf);
        }
        if (is_placed)
            set<CommonHeader, "memory_space_enable">(access_, found.bdf, true);
    }

    /// A bit that a port does not have stays clear.
    void control_access(Bdf bdf) {
        const auto at = find_capability(access_, bdf, ExtendedCapabilityId::access_control);
        if (at == 0)
            return;
        set<AccessControl, "source_validation">(access_, bdf, config_.acs.source_validation, at);
        set<AccessControl, "translation_blocking">(access_, bdf, config_.acs.translation_blocking, at);
        set<AccessControl, "request_redirect">(access_, bdf, config_.acs.request_redirect, at);
        set<AccessControl, "completion_redirect">(access_, bdf, config_.acs.completion_redirect, at);
        set<AccessControl, "upstream_forwarding">(access_, bdf, config_.acs.upstream_forwarding, at);
        set<AccessControl, "direct_translated">(access_, bdf, config_.acs.direct_translated, at);
    }

    /// A window with its base above its limit claims nothing; after reset both are zero and would claim the first MiB.
    void close_unused_windows(const FunctionFound& found) {
        const auto bdf = found.bdf;
        if (get<Type1Header, "memory_limit">(access_, bdf) == 0)
            set<Type1Header, "memory_base">(access_, bdf, 0xfff);
        if (get<Type1Header, "prefetchable_limit">(access_, bdf) == 0 &&
            get<Type1Header, "prefetchable_limit_upper">(access_, bdf) == 0)
            set<Type1Header, "prefetchable_base">(access_, bdf, 0xfff);
    }

    static std::string name(Bdf bdf) {
        return fmt::format("{:02x}:{:02x}.{}", bdf.bus(), bdf.device(), bdf.function());
    }

    ConfigAccess& access_;
    EnumerateConfig config_;
    Enumeration result_;
    unsigned next_bus_ = 1;
};

} // namespace

Enumeration enumerate(ConfigAccess& access, const EnumerateConfig& config) { return Enumerator(access, config).run(); }

std::uint16_t find_capability(ConfigAccess& access, Bdf bdf, CapabilityId id) {
    if (!get<CommonHeader, "capabilities_list">(access, bdf))
        return 0;
    std::uint16_t offset = get<CommonHeader, "capabilities_pointer">(access, bdf) & 0xfc;
    for (unsigned steps = 0; offset >= CommonHeader::size && steps < 48; ++steps) {
        if (get<CapabilityHeader, "id">(access, bdf, offset) == id)
            return offset;
        offset = get<CapabilityHeader, "next">(access, bdf, offset) & 0xfc;
    }
    return 0;
}

std::uint16_t find_capability(ConfigAccess& access, Bdf bdf, ExtendedCapabilityId id) {
    std::uint16_t offset = first_extended_capability;
    for (unsigned steps = 0; offset >= first_extended_capability && steps < 480; ++steps) {
        const auto found = get<ExtendedCapabilityHeader, "id">(access, bdf, offset);
        if (found == id)
            return offset;
        offset = get<ExtendedCapabilityHeader, "next">(access, bdf, offset) & 0xffc;
    }
    return 0;
}

const FunctionFound* Enumeration::find(Bdf bdf) const {
    const auto found = std::ranges::find(functions, bdf, &FunctionFound::bdf);
    return found != functions.end() ? &*found : nullptr;
}

const FunctionFound* Enumeration::find(std::uint16_t vendor_id, std::uint16_t device_id, unsigned nth) const {
    for (const auto& function : functions)
        if (function.vendor_id == vendor_id && function.device_id == device_id && nth-- == 0)
            return &function;
    return nullptr;
}

} // namespace platform::host
