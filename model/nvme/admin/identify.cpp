// What Identify says. NVMe base 2.0 "Identify command"; NVM command set 1.0 "Identify".
#include "abi/nvme/registers.h"
#include "model/nvme/admin/admin.h"

#include <bit>
#include <string_view>

namespace model::nvme {

using abi::nvme::Cns;
using port::Time;

namespace {
/// ASCII, filled up with spaces.
template <std::size_t Bytes> std::array<std::byte, Bytes> padded(std::string_view text, char fill = ' ') {
    std::array<std::byte, Bytes> bytes;
    for (std::size_t i = 0; i < Bytes; ++i)
        bytes[i] = static_cast<std::byte>(i < text.size() ? text[i] : fill);
    return bytes;
}
/// Sizes as MDTS has them: 4 KiB << n; 0: no limit.
std::uint8_t page_shift(std::uint64_t bytes) {
    using abi::nvme::least_page_bytes;
    return bytes < 2 * least_page_bytes ? 0 : static_cast<std::uint8_t>(std::bit_width(bytes / least_page_bytes) - 1);
}
/// SANICAP: NODMMAS of 01b, and all three actions.
constexpr std::uint32_t no_deallocate_modifies_nothing = 1u << 30, all_sanitize_actions = 7;
constexpr std::uint8_t has_crypto_erase = 1 << 2;  // FNA: Format NVM with SES of 2
constexpr std::uint8_t has_write_protect = 1 << 0; // NWPC
/// Units of 4 KiB, as sizes of the host memory buffer are said.
std::uint32_t in_pages(std::uint64_t bytes) { return static_cast<std::uint32_t>((bytes + 4095) / 4096); }
} // namespace

/// OCFS: format 0 is that of guards of 16 bits, format 1 that of the others, and a drive has those of its formats of
/// logical blocks.
std::uint16_t Admin::copy_formats() const {
    unsigned formats = 0;
    for (const auto& format : spaces_.config().formats)
        formats |= format.guard == Guard::crc16 ? 1u << 0 : 1u << 1;
    return static_cast<std::uint16_t>(config_.io.has_copy ? formats : 0);
}

void Admin::fill_controller(abi::View<abi::nvme::IdentifyController> page) const {
    using Option = abi::nvme::OptionalIo;
    const auto has = [](bool is_there, Option option) { return is_there ? static_cast<unsigned>(option) : 0u; };
    const auto nqn = config_.nqn.empty() ? "nqn.2024-01.org.hcasim:nvme:" + config_.serial : config_.nqn;
    const auto& io = config_.io;
    const unsigned oncs =
        has(io.has_compare, Option::compare) | has(io.has_write_uncorrectable, Option::write_uncorrectable) |
        has(io.has_dataset_management, Option::dataset_management) | has(io.has_write_zeroes, Option::write_zeroes) |
        has(true, Option::save_and_select) | has(true, Option::timestamp) | has(io.has_verify, Option::verify) |
        has(io.has_copy, Option::copy);
    page.set<"vid">(config_.vendor_id)
        .set<"ssvid">(config_.vendor_id)
        .set<"sn">(padded<20>(config_.serial))
        .set<"mn">(padded<40>(config_.model))
        .set<"fr">(padded<8>(config_.firmware))
        .set<"rab">(3)
        .set<"mdts">(page_shift(io.max_transfer_bytes))
        .set<"ver">(abi::nvme::version_2_0)
        .set<"oaes">(1u << 8)
        .set<"cntrltype">(1)
        .set<"oacs">(options())
        .set<"acl">(3)
        .set<"aerl">(static_cast<std::uint8_t>(config_.event_requests - 1))
        .set<"frmw">(0x03)
        .set<"lpa">(0x0e)
        .set<"elpe">(static_cast<std::uint8_t>(config_.error_entries - 1))
        .set<"edstt">(1)
        .set<"dsto">(1)
        .set<"sanicap">(no_deallocate_modifies_nothing | all_sanitize_actions)
        .set<"wctemp">(343)
        .set<"cctemp">(353)
        .set<"tnvmcap">(spaces_.capacity())
        .set<"unvmcap">(spaces_.unallocated())
        .set<"sqes">(0x66)
        .set<"cqes">(0x44)
        .set<"nn">(spaces_.max())
        .set<"mnan">(spaces_.max())
        .set<"oncs">(static_cast<std::uint16_t>(oncs))
        .set<"fuses">(io.has_fused ? 1 : 0)
        .set<"fna">(has_crypto_erase)
        .set<"vwc">(io.has_cache ? 7 : 6)
        .set<"nwpc">(has_write_protect) // no other state: see Namespaces::protect
        .set<"ocfs">(copy_formats())
        .set<"sgls">(config_.has_sgl ? 0xd'0001u : 0)
        .set<"subnqn">(padded<256>(nqn, '\0'));
    if (config_.flash.host_buffer != 0)
        page.set<"hmpre">(in_pages(config_.flash.host_buffer))
            .set<"hmmin">(in_pages(config_.flash.least_host_buffer()))
            .set<"hmminds">(HostBuffer::least_pages)
            .set<"hmmaxd">(static_cast<std::uint16_t>(HostBuffer::most_descriptors));
    page.sub<"psd0">().set<"mp">(900);
}

Outcome Admin::identify(Command command, Time at) {
    using L = abi::nvme::Identify;
    const abi::ConstView<L> fields(std::span<const std::byte>(command.bytes()));
    const auto nsid = command.get<"nsid">();
    const auto bad_field = refuse(Status::invalid_field, parameter_of<L, "cns">());
    const auto bad_namespace = refuse(Status::invalid_namespace, parameter_of<abi::nvme::Command, "nsid">());
    page_.assign(abi::nvme::identify_bytes, std::byte{});
    const std::span<std::byte> page(page_);
    const bool has_number = spaces_.is_valid(nsid);
    const auto* space = has_number ? spaces_.allocated(nsid) : nullptr;
    const bool is_active = space != nullptr && space->is_attached();
    switch (static_cast<Cns>(fields.get<"cns">())) {
    case Cns::namespace_data:
        if (!has_number && nsid != abi::nvme::all_namespaces)
            return end(bad_namespace, at);
        if (is_active || nsid == abi::nvme::all_namespaces)
            spaces_.identify(nsid, page); // one that is not active is all zero
        break;
    case Cns::controller: fill_controller(abi::View<abi::nvme::IdentifyController>(page)); break;
    case Cns::active_namespaces:
    case Cns::allocated_namespaces:
        if (nsid >= 0xffff'fffe)
            return end(bad_namespace, at);
        spaces_.list(page, nsid, static_cast<Cns>(fields.get<"cns">()) == Cns::active_namespaces);
        break;
    case Cns::descriptors:
        if (!is_active)
            return end(has_number ? refuse(Status::invalid_field) : bad_namespace, at);
        spaces_.identify_descriptors(nsid, page);
        break;
    case Cns::namespace_of_set:
        if (fields.get<"csi">() != 0)
            return end(refuse(Status::invalid_command_set, parameter_of<L, "csi">()), at);
        if (!has_number && nsid != abi::nvme::all_namespaces)
            return end(bad_namespace, at);
        if (is_active)
            spaces_.identify_nvm(nsid, page);
        break;
    case Cns::controller_of_set:
        if (fields.get<"csi">() != 0)
            return end(refuse(Status::invalid_command_set, parameter_of<L, "csi">()), at);
        abi::View<abi::nvme::IdentifyNvmController>(page)
            .set<"vsl">(page_shift(config_.io.max_verify_bytes))
            .set<"wzsl">(page_shift(config_.io.max_write_zeroes_bytes))
            .set<"wusl">(page_shift(config_.io.max_write_uncorrectable_bytes))
            .set<"dmrl">(static_cast<std::uint8_t>(std::min(config_.io.max_ranges, 255u)))
            .set<"dmrsl">(static_cast<std::uint32_t>(config_.io.max_range_blocks))
            .set<"dmsl">(config_.io.max_deallocated_blocks);
        break;
    case Cns::independent_namespace:
        if (!has_number)
            return end(bad_namespace, at);
        if (is_active)
            spaces_.identify_independent(nsid, page);
        break;
    case Cns::allocated_namespace:
        if (!has_number)
            return end(bad_namespace, at);
        spaces_.identify(nsid, page);
        break;
    case Cns::controllers_of_namespace:
        if (!has_number)
            return end(bad_namespace, at);
        if (is_active && fields.get<"cntid">() == 0)
            abi::View<abi::nvme::ControllerList>(page).set<"num">(1);
        break;
    case Cns::controllers:
        if (fields.get<"cntid">() == 0)
            abi::View<abi::nvme::ControllerList>(page).set<"num">(1);
        break;
    case Cns::command_sets: page[0] = std::byte{1}; break; // combination 0: the NVM command set
    default: return end(bad_field, at);
    }
    return send(command, page_, at);
}

} // namespace model::nvme
