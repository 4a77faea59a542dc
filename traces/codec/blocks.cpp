#include "traces/codec/blocks.h"

#include "traces/codec/layouts.h"

#include <fmt/format.h>

namespace traces::codec {

using namespace abi;

Read<std::optional<RawBlock>> BlockReader::next() {
    const auto place = frames_.place();
    const auto refuse = [&](FaultKind kind, std::string reason) {
        return std::unexpected(Fault{.kind = kind,
                                     .file_offset = place.file_offset,
                                     .offset = place.offset,
                                     .block = count_ + 1,
                                     .reason = std::move(reason)});
    };
    /// The bytes were fewer than the block needs: why?
    const auto stop = [&](std::size_t got, std::size_t wanted) {
        if (frames_.fault() && frames_.fault()->kind != FaultKind::truncated) {
            auto fault = *frames_.fault();
            fault.block = count_ + 1;
            return std::unexpected(std::move(fault));
        }
        const auto cut = frames_.fault() ? fmt::format("; {}", frames_.fault()->reason) : std::string();
        if (got == 0)
            return refuse(FaultKind::truncated, fmt::format("no block follows block {}{}", count_, cut));
        return refuse(FaultKind::truncated,
                      fmt::format("the file ends within a block, of which it has {} bytes of {}{}", got, wanted, cut));
    };

    bytes_.resize(pcapng::BlockHeader::size);
    const auto got = frames_.read(bytes_);
    if (got == 0 && !frames_.fault())
        return std::nullopt;
    if (got < bytes_.size() && (count_ != 0 || frames_.fault()))
        return stop(got, bytes_.size());
    const ConstView<pcapng::BlockHeader> header(bytes_);
    const auto type = header.get<"type">();
    if (count_ == 0 && (got < bytes_.size() || type != pcapng::section_header_type))
        return refuse(FaultKind::foreign, "this is no pcapng file: it does not begin with a section header");
    if (count_ == 0) { // its length cannot be read before its byte order is known
        bytes_.resize(pcapng::BlockHeader::size + 4);
        if (frames_.read(std::span(bytes_).last(4)) < 4)
            return stop(bytes_.size() - 4, pcapng::SectionHeader::size);
        const auto order = load<std::uint32_t, Endian::little>(bytes_.data() + 8);
        if (order == std::byteswap(pcapng::byte_order_magic))
            return refuse(FaultKind::foreign, "a pcapng file in big endian byte order; traces are little endian");
        if (order != pcapng::byte_order_magic)
            return refuse(FaultKind::foreign, "this is no pcapng file: its byte order has no name");
    }
    const std::size_t length = ConstView<pcapng::BlockHeader>(bytes_).get<"length">();
    if (length % 4 != 0 || length < std::max(pcapng::least_block_bytes, bytes_.size() + pcapng::trailer_bytes))
        return refuse(FaultKind::corrupt, fmt::format("a block of type {:#x} cannot have {} bytes", type, length));
    if (length > most_block_bytes)
        return refuse(FaultKind::excessive,
                      fmt::format("a block of type {:#x} has {} bytes, of at most {}", type, length, most_block_bytes));
    const auto there = bytes_.size();
    bytes_.resize(length);
    const auto read = frames_.read(std::span(bytes_).subspan(there));
    if (there + read < length)
        return stop(there + read, length);
    const auto trailer = load<std::uint32_t, Endian::little>(bytes_.data() + length - pcapng::trailer_bytes);
    if (trailer != length)
        return refuse(FaultKind::corrupt,
                      fmt::format("a block of {} bytes says at its end that it has {}", length, trailer));
    return RawBlock{.number = ++count_, .place = place, .type = type, .bytes = bytes_};
}

std::optional<OptionReader::Option> OptionReader::next() {
    if (left_.empty())
        return std::nullopt;
    is_broken_ = true;
    if (left_.size() < pcapng::Option::size)
        return std::nullopt;
    const ConstView<pcapng::Option> head(left_);
    const auto code = head.get<"code">();
    const std::size_t length = head.get<"length">();
    if (left_.size() < pcapng::Option::size + pcapng::padded(length))
        return std::nullopt;
    if (code == pcapng::end_of_options) {
        is_broken_ = length != 0 || left_.size() != pcapng::Option::size;
        return std::nullopt;
    }
    const Option option{.code = code, .value = left_.subspan(pcapng::Option::size, length)};
    left_ = left_.subspan(pcapng::Option::size + pcapng::padded(length));
    is_broken_ = false;
    return option;
}

BlockBuilder& BlockBuilder::option(std::uint16_t code, std::span<const std::byte> value) {
    abi::Block<pcapng::Option> head;
    head.view().set<"code">(code).set<"length">(static_cast<std::uint16_t>(value.size()));
    return add(head.bytes).add(value).pad();
}

void BlockBuilder::close() {
    pad();
    buffer_.resize(buffer_.size() + pcapng::trailer_bytes);
    const auto length = static_cast<std::uint32_t>(buffer_.size() - begin_);
    View<pcapng::BlockHeader>(std::span(buffer_).subspan(begin_)).set<"length">(length);
    store<std::uint32_t, Endian::little>(buffer_.data() + buffer_.size() - pcapng::trailer_bytes, length);
}

} // namespace traces::codec
