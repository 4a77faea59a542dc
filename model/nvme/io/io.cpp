#include "model/nvme/io/io.h"

#include "abi/nvme/opcode.h"
#include "model/nvme/io/ends.h"

#include <algorithm>

namespace model::nvme {

using abi::nvme::Command;
using abi::nvme::fused_first;
using abi::nvme::fused_second;
using abi::nvme::IoOpcode;
using abi::nvme::ReadWrite;

namespace {

constexpr auto opcode_field = parameter_of<Command, "opcode">();
constexpr auto fuse_field = parameter_of<Command, "fuse">();
constexpr auto psdt_field = parameter_of<Command, "psdt">();
constexpr auto slba_field = parameter_of<ReadWrite, "slba">();
constexpr auto nlb_field = parameter_of<ReadWrite, "nlb">();
constexpr auto prinfo_field = parameter_of<ReadWrite, "prchk_reference">();

} // namespace

const std::array<Io::Row, 8> Io::rows{{
    {IoOpcode::read, nullptr, true, false, &IoConfig::max_transfer_bytes, &Io::read},
    {IoOpcode::write, nullptr, true, true, &IoConfig::max_transfer_bytes, &Io::write},
    {IoOpcode::compare, &IoConfig::has_compare, true, false, &IoConfig::max_transfer_bytes, &Io::compare},
    {IoOpcode::verify, &IoConfig::has_verify, true, false, &IoConfig::max_verify_bytes, &Io::verify},
    {IoOpcode::write_zeroes, &IoConfig::has_write_zeroes, true, true, &IoConfig::max_write_zeroes_bytes,
     &Io::write_zeroes},
    {IoOpcode::write_uncorrectable, &IoConfig::has_write_uncorrectable, true, true,
     &IoConfig::max_write_uncorrectable_bytes, &Io::write_uncorrectable},
    {IoOpcode::dataset_management, &IoConfig::has_dataset_management, false, false, nullptr, &Io::manage_datasets},
    {IoOpcode::copy, &IoConfig::has_copy, false, true, nullptr, &Io::copy},
}};

Refusal Io::set_cache(bool is_on, port::Time& at) {
    if (has_cache_ && !is_on)
        if (const auto refusal = spaces_.flush(at); !refusal.is_ok())
            return refusal;
    has_cache_ = is_on;
    return {};
}

std::optional<port::Time> Io::ready(Sqe sqe, port::Time at) {
    const abi::ConstView<Command> command{sqe};
    const abi::ConstView<ReadWrite> fields{sqe};
    if (command.get<"opcode">() != static_cast<std::uint8_t>(IoOpcode::read) || command.get<"fuse">() != 0 ||
        spaces_.hold() != Status::success)
        return std::nullopt;
    auto* space = spaces_.active(command.get<"nsid">()).space;
    const auto lba = fields.get<"slba">(), blocks = fields.get<"nlb">() + std::uint64_t{1};
    if (space == nullptr || !space->has(lba, blocks))
        return std::nullopt;
    const auto& shape = space->shape();
    if (config_.max_transfer_bytes != 0 && blocks * shape.data_bytes() > config_.max_transfer_bytes)
        return std::nullopt;
    const auto data = space->medium().prepare(space->data_at(lba), blocks * shape.data_bytes(), at);
    if (shape.metadata_bytes() == 0)
        return data;
    return std::max(data, space->medium().prepare(space->metadata_at(lba), blocks * shape.metadata_bytes(), at));
}

Outcome Io::execute(Sqe sqe, port::Time at) {
    const abi::ConstView<Command> command{sqe};
    const auto fuse = command.get<"fuse">();
    if (fuse == 0)
        return dispatch(sqe, at);
    if (!config_.has_fused || fuse > fused_second)
        return ended(refuse(Status::invalid_field, fuse_field), at);
    return ended(refuse(Status::aborted_missing_fused), at);
}

std::pair<Outcome, Outcome> Io::execute_fused(Sqe compare, Sqe write, port::Time at) {
    const abi::ConstView<Command> first{compare}, second{write};
    const abi::ConstView<ReadWrite> compared{compare}, written{write};
    if (!config_.has_fused)
        return {ended(refuse(Status::invalid_field, fuse_field), at),
                ended(refuse(Status::invalid_field, fuse_field), at)};
    // Both are about the same blocks ("Fused Operation", "Compare and Write").
    const auto is = [](abi::ConstView<Command> command, std::uint32_t fuse, IoOpcode opcode) {
        return command.get<"fuse">() == fuse && command.get<"opcode">() == static_cast<std::uint8_t>(opcode);
    };
    if (!is(first, fused_first, IoOpcode::compare) || !is(second, fused_second, IoOpcode::write))
        return {ended(refuse(Status::invalid_field, opcode_field), at),
                ended(refuse(Status::invalid_field, opcode_field), at)};
    if (first.get<"nsid">() != second.get<"nsid">() || compared.get<"slba">() != written.get<"slba">() ||
        compared.get<"nlb">() != written.get<"nlb">())
        return {ended(refuse(Status::invalid_field, slba_field), at),
                ended(refuse(Status::invalid_field, slba_field), at)};
    const auto outcome = dispatch(compare, at);
    if (!outcome.is_ok() || outcome.done == port::never)
        return {outcome, ended(refuse(Status::aborted_failed_fused), outcome.done)};
    data_.walker().grants().begin_second();
    return {outcome, dispatch(write, outcome.done)};
}

Outcome Io::dispatch(Sqe sqe, port::Time at) {
    const abi::ConstView<Command> command{sqe};
    const auto opcode = static_cast<IoOpcode>(command.get<"opcode">());
    if (spaces_.hold() != Status::success)
        return ended(fail(spaces_.hold()), at);
    if (opcode == IoOpcode::flush)
        return flush(command, at);
    const auto row = std::ranges::find(rows, opcode, &Row::opcode);
    if (row == rows.end() || (row->is_there != nullptr && !(config_.*row->is_there)))
        return ended(refuse(Status::invalid_opcode, opcode_field), at);
    const auto found = spaces_.active(command.get<"nsid">());
    if (found.space == nullptr)
        return ended(found.refusal, at);
    const abi::ConstView<ReadWrite> fields{sqe};
    Request request{command,
                    fields,
                    found.space,
                    fields.get<"slba">(),
                    fields.get<"nlb">() + std::uint64_t{1},
                    row->has_range ? protection_of(fields, found.space->shape()) : ProtectionRequest{},
                    DataPointer::of(command),
                    durability(fields.get<"fua">())};
    if (const auto refusal = check(*row, request); !refusal.is_ok()) {
        auto outcome = ended(refusal, at);
        outcome.lba = row->has_range ? request.lba : 0;
        return outcome;
    }
    return (this->*row->handler)(request, at);
}

Refusal Io::check(const Row& row, const Request& request) const {
    if (request.pointer.type == abi::nvme::DataPointerType::reserved)
        return refuse(Status::invalid_field, psdt_field);
    if (row.has_range) {
        const auto limit = row.limit == nullptr ? 0 : config_.*row.limit;
        // More than MDTS is an invalid field, more than a command's own limit is a size limit.
        if (limit != 0 && row.limit == &IoConfig::max_transfer_bytes && request.host_length() > limit)
            return refuse(Status::invalid_field, nlb_field);
        if (limit != 0 && row.limit != &IoConfig::max_transfer_bytes && request.data_length() > limit)
            return refuse(Status::size_limit_exceeded, nlb_field);
        if (!request.space->has(request.lba, request.blocks))
            return refuse(Status::lba_out_of_range, slba_field);
        if (!fits(request.shape(), request.protection, request.lba))
            return refuse(Status::invalid_protection, prinfo_field);
    }
    if (row.is_write && !request.space->is_writable())
        return refuse(Status::namespace_write_protected);
    return {};
}

ProtectionRequest Io::protection_of(abi::ConstView<ReadWrite> fields, const Shape& shape) {
    ProtectionRequest request{.is_automatic = fields.get<"pract">(),
                              .checks_guard = fields.get<"prchk_guard">(),
                              .checks_application = fields.get<"prchk_application">(),
                              .checks_reference = fields.get<"prchk_reference">(),
                              .checks_storage = false,
                              .application_tag = fields.get<"lbat">(),
                              .application_mask = fields.get<"lbatm">(),
                              .reference_tag = fields.get<"ilbrt">(),
                              .storage_tag = 0};
    // The wider guards have more of a reference tag, and a storage tag (NVM command set 1.0 "Storage Tag").
    if (shape.format.guard != Guard::crc16)
        request.reference_tag |= std::uint64_t{fields.get<"elbt_upper">()} << 32;
    request.reference_tag &= reference_mask(shape);
    if (shape.is_protected() && shape.format.guard == Guard::crc32) {
        const abi::ConstView<Command> command{fields.bytes()};
        request.checks_storage = fields.get<"stc">();
        request.storage_tag = static_cast<std::uint16_t>(command.get<"cdw2">());
    }
    return request;
}

// NVMe base 2.0 "Flush command". All commands before it have ended, so their writes are in the medium.
Outcome Io::flush(abi::ConstView<Command> command, port::Time at) {
    const auto nsid = command.get<"nsid">();
    if (nsid == abi::nvme::all_namespaces) {
        const auto refusal = spaces_.flush(at);
        return ended(refusal, at);
    }
    const auto found = spaces_.active(nsid);
    if (found.space == nullptr)
        return ended(found.refusal, at);
    const auto refusal = spaces_.flush(*found.space, at);
    return ended(refusal, at);
}

Refusal Io::walk(const Request& request, Direction direction, port::Time& at) {
    if (const auto refusal = data_.walker().walk(request.pointer, request.host_length(), direction, data_ranges_, at);
        !refusal.is_ok())
        return refusal;
    metadata_ranges_.clear();
    if (!request.has_own_metadata())
        return {};
    return data_.walker().walk_metadata(request.pointer, request.metadata_length(), direction, metadata_ranges_, at);
}

Outcome Io::unreadable(const Namespace& space, std::uint64_t lba, std::uint64_t blocks, port::Time at) const {
    if (const auto bad = space.uncorrectable().find(lba, blocks, true))
        return ended(Status::unrecovered_read_error, *bad, at);
    if (space.reports_deallocated())
        if (const auto gone = space.allocated().find(lba, blocks, false))
            return ended(Status::deallocated_block, *gone, at);
    return ended(at);
}

Outcome Io::mark(Namespace& space, std::uint64_t lba, std::uint64_t blocks, Namespace::Marks marks,
                 Durability durability, port::Time at) {
    if (space.mark(lba, blocks, marks, durability))
        return ended(at);
    auto outcome = ended(fail(Status::write_fault), at);
    outcome.lba = lba;
    return outcome;
}

Outcome Io::check_protection(const Request& request, std::span<const std::byte> data,
                             std::span<const std::byte> metadata, port::Time at) const {
    const auto error = model::nvme::check(request.shape(), request.protection, data, metadata);
    return error.is_ok() ? ended(at) : ended(error.status, request.lba + error.block, at);
}

} // namespace model::nvme
