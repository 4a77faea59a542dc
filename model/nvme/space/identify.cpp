// What Identify says of namespaces. NVMe base 2.0 "Identify command", NVM command set 1.0 "Identify Namespace".
#include "model/nvme/space/namespaces.h"

#include <algorithm>
#include <array>

namespace model::nvme {

using abi::nvme::IdentifyNamespace;
using abi::nvme::LbaFormat;

namespace {

constexpr std::size_t listed = 1024;
constexpr std::uint8_t deallocated_reads_zero = 1, write_zeroes_deallocates = 1 << 3;
constexpr std::uint8_t extended = 1 << 0, separate = 1 << 1;
constexpr std::uint8_t types_1_to_3 = 7, first_and_last = 3 << 3;
constexpr std::uint8_t can_report_deallocated = 1 << 2; // NSFEAT
constexpr std::uint8_t write_protected = 1;             // NSATTR
constexpr std::uint8_t ready = 1;                       // NSTAT

using Identifier = std::array<std::byte, 16>;

/// The drive's number, the namespace's generation and its number: never the same twice.
Identifier nguid_of(std::uint64_t drive, const Namespace& space) {
    Identifier id{};
    abi::store<std::uint64_t, abi::Endian::big>(id.data(), drive);
    // EUI-64 of a local administration: 02-00-00, and five bytes of our choice.
    abi::store<std::uint64_t, abi::Endian::big>(
        id.data() + 8, std::uint64_t{0x020000} << 40 | (space.generation() & 0xffffff) << 16 | (space.nsid() & 0xffff));
    return id;
}

std::uint64_t eui64_of(std::uint64_t drive, const Namespace& space) {
    return std::uint64_t{0x020000} << 40 | (drive & 0xffff) << 24 | (space.generation() & 0xffff) << 8 |
           (space.nsid() & 0xff);
}

/// Version 8, which leaves all else to its maker (RFC 9562 "UUID version 8").
Identifier uuid_of(std::uint64_t drive, const Namespace& space) {
    auto id = nguid_of(drive, space);
    id[6] = (id[6] & std::byte{0x0f}) | std::byte{0x80};
    id[8] = (id[8] & std::byte{0x3f}) | std::byte{0x80};
    return id;
}

std::span<std::byte> add(std::span<std::byte> page, abi::nvme::IdentifierType type, std::span<const std::byte> id) {
    abi::View<abi::nvme::NamespaceDescriptor>{page}
        .set<"nidt">(static_cast<std::uint8_t>(type))
        .set<"nidl">(static_cast<std::uint8_t>(id.size()));
    std::ranges::copy(id, page.subspan(4).begin());
    return page.subspan(4 + id.size());
}

} // namespace

void Namespaces::list(std::span<std::byte> page, std::uint32_t after, bool only_attached) const {
    std::ranges::fill(page, std::byte{});
    std::size_t count = 0;
    each([&](const Namespace& space) {
        if (space.nsid() > after && (space.is_attached() || !only_attached) && count < listed)
            abi::store<std::uint32_t, abi::Endian::little>(page.data() + 4 * count++, space.nsid());
    });
}

void Namespaces::fill_shape(abi::View<IdentifyNamespace> page) const {
    page.set<"nlbaf">(static_cast<std::uint8_t>(config_.formats.size() - 1))
        .set<"dlfeat">(deallocated_reads_zero | write_zeroes_deallocates);
    page.set<"nsfeat">(can_report_deallocated).set<"mc">(extended | separate).set<"dpc">(types_1_to_3 | first_and_last);
    page.set<"mssrl">(config_.copy_range_blocks).set<"mcl">(config_.copy_blocks);
    page.set<"msrc">(static_cast<std::uint8_t>(config_.copy_ranges - 1));
    for (std::size_t i = 0; i < config_.formats.size(); ++i) {
        const auto& format = config_.formats[i];
        abi::View<LbaFormat>{page.bytes().subspan(abi::nvme::lba_formats_offset + i * LbaFormat::size, LbaFormat::size)}
            .set<"ms">(format.metadata_bytes)
            .set<"lbads">(format.data_shift)
            .set<"rp">(format.relative_performance);
    }
}

bool Namespaces::identify(std::uint32_t nsid, std::span<std::byte> bytes) const {
    std::ranges::fill(bytes, std::byte{});
    const abi::View<IdentifyNamespace> page{bytes};
    if (nsid == abi::nvme::all_namespaces) {
        fill_shape(page);
        return true;
    }
    const auto* space = allocated(nsid);
    if (space == nullptr)
        return false;
    fill_shape(page);
    const auto& shape = space->shape();
    page.set<"nsze">(space->blocks()).set<"ncap">(space->blocks()).set<"nuse">(space->allocated().count());
    page.set<"flbas">(static_cast<std::uint8_t>((shape.format_index & 0xf) | (shape.is_extended ? 0x10 : 0)));
    page.set<"dps">(
        static_cast<std::uint8_t>(static_cast<unsigned>(shape.protection) | (shape.is_protection_first ? 8u : 0u)));
    page.set<"nsattr">(space->is_writable() ? 0 : write_protected).set<"nvmcap">(space->medium().size());
    page.set<"nguid">(nguid_of(config_.identity, *space));
    std::array<std::byte, 8> eui64{};
    abi::store<std::uint64_t, abi::Endian::big>(eui64.data(), eui64_of(config_.identity, *space));
    page.set<"eui64">(eui64);
    return true;
}

bool Namespaces::identify_descriptors(std::uint32_t nsid, std::span<std::byte> page) const {
    std::ranges::fill(page, std::byte{});
    const auto* space = allocated(nsid);
    if (space == nullptr)
        return false;
    std::array<std::byte, 8> eui64{};
    abi::store<std::uint64_t, abi::Endian::big>(eui64.data(), eui64_of(config_.identity, *space));
    page = add(page, abi::nvme::IdentifierType::eui64, eui64);
    page = add(page, abi::nvme::IdentifierType::nguid, nguid_of(config_.identity, *space));
    page = add(page, abi::nvme::IdentifierType::uuid, uuid_of(config_.identity, *space));
    add(page, abi::nvme::IdentifierType::command_set, std::array<std::byte, 1>{}); // NVM
    return true;
}

bool Namespaces::identify_nvm(std::uint32_t nsid, std::span<std::byte> page) const {
    std::ranges::fill(page, std::byte{});
    if (nsid != abi::nvme::all_namespaces && allocated(nsid) == nullptr)
        return false;
    constexpr auto first = abi::nvme::IdentifyNvmNamespace::field<"elbaf0">::offset;
    for (std::size_t i = 0; i < config_.formats.size(); ++i) {
        const auto guard = config_.formats[i].guard;
        abi::View<abi::nvme::ExtendedLbaFormat>{page.subspan(first + 4 * i, 4)}
            .set<"pif">(static_cast<std::uint32_t>(guard))
            .set<"sts">(guard == Guard::crc32 ? 16 : 0); // 80 bits less the 64 of the reference tag
    }
    return true;
}

bool Namespaces::identify_independent(std::uint32_t nsid, std::span<std::byte> bytes) const {
    std::ranges::fill(bytes, std::byte{});
    const auto* space = allocated(nsid);
    if (space == nullptr)
        return false;
    abi::View<abi::nvme::IdentifyIndependentNamespace>{bytes}
        .set<"nsattr">(space->is_writable() ? 0 : write_protected)
        .set<"nstat">(ready);
    return true;
}

} // namespace model::nvme
