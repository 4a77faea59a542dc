// Copy: blocks of several ranges of a namespace to one range of it. NVM command set 1.0 "Copy command".
#include "model/nvme/io/ends.h"
#include "model/nvme/io/io.h"

#include <algorithm>
#include <array>

namespace model::nvme {

using CopyCommand = abi::nvme::Copy;
using abi::ConstView;
using abi::nvme::CopyRange;
using abi::nvme::CopyRangeWide;

namespace {

/// What the formats of source ranges say alike.
struct Source {
    std::uint64_t lba = 0, blocks = 0;
    std::uint64_t reference_tag = 0;
    std::uint16_t storage_tag = 0, application_tag = 0, application_mask = 0;
};

Source source_of(std::span<const std::byte> bytes, Guard guard) {
    if (guard == Guard::crc16) {
        const ConstView<CopyRange> range{bytes};
        return {range.get<"slba">(),   range.get<"nlb">() + std::uint64_t{1},
                range.get<"eilbrt">(), 0,
                range.get<"elbat">(),  range.get<"elbatm">()};
    }
    // Ten bytes, big endian: the storage tag, if any, and the reference tag.
    const ConstView<CopyRangeWide> range{bytes};
    const auto tags = range.get<"elbt">();
    return {range.get<"slba">(),
            range.get<"nlb">() + std::uint64_t{1},
            abi::load<std::uint64_t, abi::Endian::big>(tags.data() + 2),
            abi::load<std::uint16_t, abi::Endian::big>(tags.data()),
            range.get<"elbat">(),
            range.get<"elbatm">()};
}

} // namespace

Outcome Io::copy(Request& request, port::Time at) {
    const ConstView<CopyCommand> command{request.command.bytes()};
    auto& space = *request.space;
    const auto& shape = space.shape();
    const auto& limits = spaces_.config();
    const auto count = command.get<"nr">() + 1u;
    const auto format = command.get<"format">();
    // Format 0 has the tags of 16-bit guards, format 1 those of the others.
    if (format > 1)
        return ended(refuse(Status::invalid_field, parameter_of<CopyCommand, "format">()), at);
    if ((format == 0) != (shape.format.guard == Guard::crc16))
        return ended(refuse(Status::invalid_format, parameter_of<CopyCommand, "format">()), at);
    if (count > limits.copy_ranges)
        return ended(refuse(Status::size_limit_exceeded, parameter_of<CopyCommand, "nr">()), at);
    const auto range_bytes = format == 0 ? CopyRange::size : CopyRangeWide::size;
    std::array<std::byte, 256 * CopyRangeWide::size> bytes;
    const auto ranges = std::span(bytes).first(count * range_bytes);
    if (const auto refusal =
            data_.walker().walk(request.pointer, ranges.size(), Direction::from_host, data_ranges_, at);
        !refusal.is_ok())
        return ended(refusal, at);
    if (const auto refusal = data_.fetch(data_ranges_, ranges, at); !refusal.is_ok())
        return ended(refusal, at);

    // The result of a Copy that fails is the first range that was not copied: nothing is written before all are read,
    // so that is always the first one, and ranges may overlap.
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < ranges.size(); i += range_bytes) {
        const auto source = source_of(ranges.subspan(i), shape.format.guard);
        if (source.blocks > limits.copy_range_blocks)
            return ended(refuse(Status::size_limit_exceeded), at);
        if (!space.has(source.lba, source.blocks)) {
            auto outcome = ended(refuse(Status::lba_out_of_range), at);
            outcome.lba = source.lba;
            return outcome;
        }
        total += source.blocks;
    }
    if (total > limits.copy_blocks)
        return ended(refuse(Status::size_limit_exceeded), at);
    request.lba = command.get<"sdlba">(), request.blocks = total;
    if (!space.has(request.lba, total)) {
        auto outcome = ended(refuse(Status::lba_out_of_range, parameter_of<CopyCommand, "sdlba">()), at);
        outcome.lba = request.lba;
        return outcome;
    }
    // PRINFOR is about what is read, PRINFOW about what is written, where that of Read has its own.
    ProtectionRequest reading{.is_automatic = command.get<"read_pract">(),
                              .checks_guard = command.get<"read_prchk_guard">(),
                              .checks_application = command.get<"read_prchk_application">(),
                              .checks_reference = command.get<"read_prchk_reference">(),
                              .checks_storage = shape.format.guard == Guard::crc32 && command.get<"read_stc">()};
    request.protection = protection_of(request.fields, shape);
    if (!fits(shape, request.protection, request.lba))
        return ended(refuse(Status::invalid_protection, parameter_of<CopyCommand, "write_prchk_reference">()), at);

    const auto data = take(host_data_, total * shape.data_bytes());
    const auto metadata = take(host_metadata_, total * shape.metadata_bytes());
    std::uint64_t done = 0;
    for (std::size_t i = 0; i < ranges.size(); i += range_bytes) {
        const auto source = source_of(ranges.subspan(i), shape.format.guard);
        reading.reference_tag = source.reference_tag & reference_mask(shape);
        reading.storage_tag = source.storage_tag;
        reading.application_tag = source.application_tag, reading.application_mask = source.application_mask;
        if (!fits(shape, reading, source.lba))
            return ended(refuse(Status::invalid_protection, parameter_of<CopyCommand, "read_prchk_reference">()), at);
        Stored stored;
        if (auto outcome = load(space, source.lba, source.blocks, stored, at);
            !outcome.is_ok() || outcome.done == port::never)
            return outcome;
        if (shape.is_protected())
            if (const auto error = model::nvme::check(shape, reading, stored.data, stored.metadata); !error.is_ok())
                return ended(error.status, source.lba + error.block, at);
        std::ranges::copy(stored.data, data.subspan(done * shape.data_bytes()).begin());
        std::ranges::copy(stored.metadata, metadata.subspan(done * shape.metadata_bytes()).begin());
        done += source.blocks;
    }
    if (shape.is_protected()) {
        if (request.protection.is_automatic)
            protect(shape, request.protection, data, metadata);
        else if (auto outcome = check_protection(request, data, metadata, at); !outcome.is_ok())
            return outcome;
    }
    const std::array piece{std::span<const std::byte>(data)};
    return store(space, request.lba, total, piece, metadata, request.durability, at);
}

} // namespace model::nvme
