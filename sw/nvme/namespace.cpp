#include "sw/nvme/namespace.h"

#include "abi/nvme/identify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace sw::nvme {

using abi::nvme::IoOpcode;

namespace {

Result<void> carry_out(QueuePair& queue, QueuePair::Command& command, std::span<const Segment> data, Scheme scheme) {
    const auto done = queue.execute(command, data, scheme);
    if (!done)
        return std::unexpected(done.error());
    if (!done->is_ok())
        return failure(EIO, fmt::format("NVMe {}: {}",
                                        abi::nvme::name(static_cast<IoOpcode>(command.view().get<"opcode">())),
                                        describe(*done)));
    return {};
}

/// The first `bytes` of what is left of `data`, from `at` in its first segment on; moves on.
std::vector<Segment> take(std::span<const Segment>& data, std::uint64_t& at, std::uint64_t bytes) {
    std::vector<Segment> taken;
    while (bytes != 0) {
        const auto& front = data.front();
        const auto part = std::min(front.bytes - at, bytes);
        taken.push_back({front.bus + at, part});
        at += part;
        bytes -= part;
        if (at == front.bytes)
            data = data.subspan(1), at = 0;
    }
    return taken;
}

} // namespace

Result<Namespace> Namespace::open(Controller& controller, std::uint32_t number) {
    const auto data = controller.identify(abi::nvme::Cns::namespace_data, number);
    if (!data)
        return std::unexpected(data.error());
    return of(number, *data);
}

Result<Namespace> Namespace::of(std::uint32_t number, std::span<const std::byte> identified) {
    const abi::ConstView<abi::nvme::IdentifyNamespace> said{identified};
    if (said.get<"nsze">() == 0)
        return failure(ENODEV, fmt::format("NVMe namespace {}: is not attached", number));
    const auto format = said.get<"flbas">() & 0xf;
    const abi::ConstView<abi::nvme::LbaFormat> blocks{
        identified.subspan(abi::nvme::lba_formats_offset + 4u * format, 4)};
    const auto shift = blocks.get<"lbads">();
    if (blocks.get<"ms">() != 0 || shift < 9 || shift > 16)
        return failure(ENOTSUP, fmt::format("NVMe namespace {}: blocks of 2^{} bytes with {} of metadata", number,
                                            shift, blocks.get<"ms">()));
    Namespace opened(number);
    opened.blocks_ = said.get<"nsze">();
    opened.block_bytes_ = 1u << shift;
    return opened;
}

Namespace::Command Namespace::transfer(IoOpcode opcode, Blocks blocks) const {
    Command command;
    command.view().set<"opcode">(static_cast<std::uint8_t>(opcode));
    command.view().set<"nsid">(number_);
    abi::View<abi::nvme::ReadWrite> fields(command.bytes);
    fields.set<"slba">(blocks.first);
    fields.set<"nlb">(static_cast<std::uint16_t>(blocks.count - 1));
    return command;
}

Namespace::Command Namespace::write(Blocks blocks, bool is_durable) const {
    auto command = transfer(IoOpcode::write, blocks);
    abi::View<abi::nvme::ReadWrite>(command.bytes).set<"fua">(is_durable);
    return command;
}

Namespace::Command Namespace::flush() const {
    Command command;
    command.view().set<"opcode">(static_cast<std::uint8_t>(IoOpcode::flush));
    command.view().set<"nsid">(number_);
    return command;
}

Result<void> Namespace::transfer(QueuePair& queue, IoOpcode opcode, std::uint64_t block, std::span<const Segment> data,
                                 Scheme scheme) const {
    std::uint64_t left = 0, at = 0;
    for (const auto& segment : data)
        left += segment.bytes;
    if (left % block_bytes_ != 0)
        return failure(
            EINVAL, fmt::format("NVMe namespace {}: {} bytes are not whole blocks of {}", number_, left, block_bytes_));
    const auto most = std::min(queue.largest_transfer(), most_blocks() * block_bytes_) / block_bytes_ * block_bytes_;
    while (left != 0) {
        const auto bytes = std::min(left, most);
        auto command = transfer(opcode, {block, bytes / block_bytes_});
        if (auto done = carry_out(queue, command, take(data, at, bytes), scheme); !done)
            return done;
        block += bytes / block_bytes_;
        left -= bytes;
    }
    return {};
}

Result<void> Namespace::read(QueuePair& queue, std::uint64_t block, std::span<const Segment> data,
                             Scheme scheme) const {
    return transfer(queue, IoOpcode::read, block, data, scheme);
}

Result<void> Namespace::write(QueuePair& queue, std::uint64_t block, std::span<const Segment> data,
                              Scheme scheme) const {
    return transfer(queue, IoOpcode::write, block, data, scheme);
}

Result<void> Namespace::flush(QueuePair& queue) const {
    auto command = flush();
    return carry_out(queue, command, {}, Scheme::prp);
}

Result<void> Namespace::deallocate(QueuePair& queue, Blocks blocks) const {
    auto ranges = memory::Buffer::allocate(queue.transport(), page_bytes);
    if (!ranges)
        return std::unexpected(ranges.error());
    constexpr std::uint64_t most = 0xffff'ffff; // of a range
    while (blocks.count != 0) {
        const auto count = std::min(blocks.count, most);
        abi::View<abi::nvme::DsmRange> range(ranges->bytes());
        range.set<"slba">(blocks.first);
        range.set<"nlb">(static_cast<std::uint32_t>(count));
        Command command;
        command.view().set<"opcode">(static_cast<std::uint8_t>(IoOpcode::dataset_management));
        command.view().set<"nsid">(number_);
        abi::View<abi::nvme::DatasetManagement>(command.bytes).set<"ad">(true);
        const std::array data{Segment{ranges->bus(), abi::nvme::DsmRange::size}};
        if (auto done = carry_out(queue, command, data, Scheme::prp); !done)
            return done;
        blocks.first += count, blocks.count -= count;
    }
    return {};
}

} // namespace sw::nvme
