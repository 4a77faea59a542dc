#include "sw/mlx/device/capabilities.h"

#include <algorithm>

namespace sw::mlx {
namespace {

using namespace abi::prm;

std::uint16_t op_mod(CapabilityType type, CapabilityMode mode) {
    return static_cast<std::uint16_t>(static_cast<unsigned>(type) << 1 | static_cast<unsigned>(mode));
}

template <class Page, class Out> abi::ConstView<Page> page_of(const Output<Out>& out) {
    return abi::ConstView<Page>(std::span<const std::byte>(out.view().template sub<"capability">().bytes()));
}

template <class Page> void copy_page(abi::Block<Page>& into, const Output<QueryHcaCapOut>& out) {
    std::ranges::copy(page_of<Page>(out).bytes(), into.bytes.begin());
}

/// SET_HCA_CAP of one page; `edit` gets a view of it, already filled with `from`.
template <class Page, class Edit>
Result<void> set_capability(CommandChannel& commands, CapabilityType type, std::span<const std::byte> from,
                            Edit&& edit) {
    Input<SetHcaCapIn> in(Opcode::set_hca_cap, op_mod(type, CapabilityMode::maximum));
    const auto capability = in.view().sub<"capability">().bytes();
    std::ranges::copy(from, capability.begin());
    edit(abi::View<Page>(std::span<std::byte>(capability)));
    if (const auto out = run<SetHcaCapOut>(commands, in); !out)
        return std::unexpected(out.error());
    return {};
}

Result<void> choose_general(CommandChannel& commands, const CapabilityChoice& choice, abi::Block<CmdHcaCap>& chosen) {
    const auto current = query_capability(commands, CapabilityType::general, CapabilityMode::current);
    if (!current)
        return std::unexpected(current.error());
    const auto maximum = query_capability(commands, CapabilityType::general, CapabilityMode::maximum);
    if (!maximum)
        return std::unexpected(maximum.error());
    const auto most = page_of<CmdHcaCap>(*maximum);
    return set_capability<CmdHcaCap>(
        commands, CapabilityType::general, current->view().sub<"capability">().bytes(), [&](auto page) {
            page.template set<"pkey_table_size">(0); // 128 entries
            page.template set<"log_max_qp">(
                std::min<std::uint32_t>(choice.log_max_qp, most.template get<"log_max_qp">()));
            page.template set<"cmdif_checksum">(choice.command_signatures ? most.template get<"cmdif_checksum">() : 0);
            page.template set<"log_uar_page_sz">(0); // 4 KiB
            std::ranges::copy(page.bytes(), chosen.bytes.begin());
        });
}

} // namespace

Result<Output<QueryHcaCapOut>> query_capability(CommandChannel& commands, CapabilityType type, CapabilityMode mode) {
    return run<QueryHcaCapOut>(commands, Input<QueryHcaCapIn>(Opcode::query_hca_cap, op_mod(type, mode)));
}

Result<void> choose_capabilities(CommandChannel& commands, const CapabilityChoice& choice) {
    abi::Block<CmdHcaCap> general;
    if (auto done = choose_general(commands, choice, general); !done)
        return done;
    if (general.view().get<"atomic">()) {
        for (const auto mode : {CapabilityMode::current, CapabilityMode::maximum}) {
            const auto page = query_capability(commands, CapabilityType::atomic, mode);
            if (!page)
                return std::unexpected(page.error());
            // Host byte order for 8-byte atomics. The command carries this field alone; the device keeps the rest.
            if (mode == CapabilityMode::maximum &&
                page_of<AtomicCaps>(*page).get<"supported_atomic_req_8b_endianness_mode_1">())
                if (auto set = set_capability<AtomicCaps>(
                        commands, CapabilityType::atomic, {},
                        [](auto atomic) { atomic.template set<"atomic_req_8b_endianness_mode">(1); });
                    !set)
                    return set;
        }
    }
    if (general.view().get<"roce">()) {
        const auto current = query_capability(commands, CapabilityType::roce, CapabilityMode::current);
        if (!current)
            return std::unexpected(current.error());
        const auto maximum = query_capability(commands, CapabilityType::roce, CapabilityMode::maximum);
        if (!maximum)
            return std::unexpected(maximum.error());
        if (page_of<RoceCap>(*maximum).get<"sw_r_roce_src_udp_port">())
            return set_capability<RoceCap>(commands, CapabilityType::roce, current->view().sub<"capability">().bytes(),
                                           [](auto roce) { roce.template set<"sw_r_roce_src_udp_port">(1); });
    }
    return {};
}

Result<Capabilities> query_capabilities(CommandChannel& commands) {
    Capabilities capabilities;
    const auto fetch = [&](CapabilityType type, auto& into) -> Result<void> {
        const auto page = query_capability(commands, type, CapabilityMode::current);
        if (!page)
            return std::unexpected(page.error());
        copy_page(into, *page);
        return {};
    };
    if (auto done = fetch(CapabilityType::general, capabilities.general); !done)
        return std::unexpected(done.error());
    if (capabilities.has_atomics())
        if (auto done = fetch(CapabilityType::atomic, capabilities.atomic); !done)
            return std::unexpected(done.error());
    if (capabilities.get<"roce">())
        if (auto done = fetch(CapabilityType::roce, capabilities.roce); !done)
            return std::unexpected(done.error());
    return capabilities;
}

} // namespace sw::mlx
