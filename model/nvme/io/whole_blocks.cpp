// Commands that change what blocks are without data of the host for them: Write Zeroes, Write Uncorrectable, Dataset
// Management. NVM command set 1.0.
#include "model/nvme/io/ends.h"
#include "model/nvme/io/io.h"

namespace model::nvme {

using abi::nvme::DatasetManagement;
using abi::nvme::DsmRange;

namespace {
constexpr std::uint64_t most_bytes_at_once = 1 << 20;
} // namespace

Outcome Io::write_zeroes(Request& request, port::Time at) {
    auto& space = *request.space;
    const auto& shape = request.shape();
    // The host may be given its space back either way; whether the blocks count as deallocated is what DEAC says.
    auto result = space.medium().discard(space.data_at(request.lba), request.data_length(), request.durability, at);
    if (!result.is_ok() || result.done == port::never)
        return ended(result, space);
    auto done = result.done;
    const bool is_deallocated = request.fields.get<"deac">();
    if (shape.metadata_bytes() != 0) {
        const std::array<std::byte, 4096> none{};
        const auto in_piece = std::max<std::uint64_t>(1, most_bytes_at_once / shape.stored_bytes());
        for (std::uint64_t first = 0; first < request.blocks; first += in_piece) {
            const auto count = std::min(in_piece, request.blocks - first);
            const auto metadata = take(host_metadata_, count * shape.metadata_bytes());
            std::ranges::fill(metadata, std::byte{});
            if (shape.is_protected() && request.protection.is_automatic && !is_deallocated) {
                auto protection = request.protection;
                if (shape.protection != Protection::type3)
                    protection.reference_tag += first;
                protect_zeroes(shape, protection, none, metadata);
            } else if (shape.is_protected()) {
                for (std::uint64_t i = 0; i < count; ++i)
                    fill_escape(shape, metadata.subspan(i * shape.metadata_bytes(), shape.metadata_bytes()));
            }
            const std::array piece{std::span<const std::byte>(metadata)};
            result = space.medium().write(space.metadata_at(request.lba + first), piece, request.durability, at);
            if (!result.is_ok() || result.done == port::never)
                return ended(result, space);
            done = std::max(done, result.done);
        }
    }
    return mark(space, request.lba, request.blocks, {.is_allocated = !is_deallocated}, request.durability, done);
}

Outcome Io::write_uncorrectable(Request& request, port::Time at) {
    return mark(*request.space, request.lba, request.blocks, {.is_uncorrectable = true}, request.durability, at);
}

Outcome Io::manage_datasets(Request& request, port::Time at) {
    const abi::ConstView<DatasetManagement> command{request.command.bytes()};
    const auto count = command.get<"nr">() + 1u;
    auto& space = *request.space;
    if (config_.max_ranges != 0 && count > config_.max_ranges)
        return ended(refuse(Status::size_limit_exceeded, parameter_of<DatasetManagement, "nr">()), at);
    if (command.get<"ad">() && !space.is_writable())
        return ended(refuse(Status::namespace_write_protected), at);
    std::array<std::byte, 256 * DsmRange::size> bytes;
    const auto ranges = std::span(bytes).first(count * DsmRange::size);
    if (const auto refusal =
            data_.walker().walk(request.pointer, ranges.size(), Direction::from_host, data_ranges_, at);
        !refusal.is_ok())
        return ended(refusal, at);
    if (const auto refusal = data_.fetch(data_ranges_, ranges, at); !refusal.is_ok())
        return ended(refusal, at);
    // All ranges are looked at before the first one takes effect.
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < ranges.size(); i += DsmRange::size) {
        const abi::ConstView<DsmRange> range{ranges.subspan(i, DsmRange::size)};
        const std::uint64_t blocks = range.get<"nlb">();
        total += blocks;
        if (!space.has(range.get<"slba">(), blocks)) {
            auto outcome = ended(refuse(Status::lba_out_of_range), at);
            outcome.lba = range.get<"slba">();
            return outcome;
        }
        if (config_.max_range_blocks != 0 && blocks > config_.max_range_blocks)
            return ended(refuse(Status::size_limit_exceeded), at);
    }
    if (config_.max_deallocated_blocks != 0 && total > config_.max_deallocated_blocks)
        return ended(refuse(Status::size_limit_exceeded), at);
    if (!command.get<"ad">()) // the other attributes are hints
        return ended(at);
    auto done = at;
    for (std::size_t i = 0; i < ranges.size(); i += DsmRange::size) {
        const abi::ConstView<DsmRange> range{ranges.subspan(i, DsmRange::size)};
        const auto lba = range.get<"slba">();
        const std::uint64_t blocks = range.get<"nlb">();
        auto result =
            space.medium().discard(space.data_at(lba), blocks * space.shape().data_bytes(), durability(false), at);
        if (result.is_ok() && space.shape().metadata_bytes() != 0)
            result = space.medium().discard(space.metadata_at(lba), blocks * space.shape().metadata_bytes(),
                                            durability(false), result.done);
        if (!result.is_ok() || result.done == port::never)
            return ended(result, space);
        done = std::max(done, result.done);
        if (const auto outcome = mark(space, lba, blocks, {.is_allocated = false}, durability(false), done);
            !outcome.is_ok())
            return outcome;
    }
    return ended(done);
}

} // namespace model::nvme
