// Blocks of pcapng one by one: their lengths, their numbers and where they lie; not what they mean.
#pragma once

#include "traces/codec/frames.h"
#include "traces/codec/pcapng.h"

#include <optional>
#include <span>
#include <vector>

namespace traces::codec {

/// A block of the file, valid until the next one is read.
struct RawBlock {
    std::uint64_t number = 0; ///< from 1
    FrameReader::Place place{};
    std::uint32_t type = 0;
    std::span<const std::byte> bytes; ///< all of it
    /// Without the trailer.
    std::span<const std::byte> content() const { return bytes.first(bytes.size() - pcapng::trailer_bytes); }
};

class BlockReader {
public:
    explicit BlockReader(FrameReader& frames) : frames_(frames) {}
    /// The next block; nothing at the end of the file, if that is the end of a block.
    Read<std::optional<RawBlock>> next();
    std::uint64_t count() const { return count_; }

private:
    FrameReader& frames_;
    std::vector<std::byte> bytes_;
    std::uint64_t count_ = 0;
};

/// What is behind the fixed part of a block: options one by one. A malformed list ends with is_broken().
class OptionReader {
public:
    struct Option {
        std::uint16_t code;
        std::span<const std::byte> value;
    };
    explicit OptionReader(std::span<const std::byte> bytes) : left_(bytes) {}
    std::optional<Option> next();
    bool is_broken() const { return is_broken_; }

private:
    std::span<const std::byte> left_;
    bool is_broken_ = false;
};

/// A block that grows at the end of a buffer. It is complete when close() has been called.
class BlockBuilder {
public:
    template <class Fixed>
    BlockBuilder(std::vector<std::byte>& buffer, std::uint32_t type, std::type_identity<Fixed>)
        : buffer_(buffer), begin_(buffer.size()) {
        buffer_.resize(begin_ + Fixed::size);
        fixed<Fixed>().template sub<"header">().template set<"type">(type);
    }
    /// The fixed part, until something is added.
    template <class Fixed> abi::View<Fixed> fixed() { return abi::View<Fixed>(std::span(buffer_).subspan(begin_)); }
    /// Adds bytes without padding.
    BlockBuilder& add(std::span<const std::byte> bytes) {
        buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
        return *this;
    }
    BlockBuilder& pad() {
        buffer_.resize(begin_ + pcapng::padded(buffer_.size() - begin_));
        return *this;
    }
    BlockBuilder& option(std::uint16_t code, std::span<const std::byte> value);
    BlockBuilder& end_options() { return option(pcapng::end_of_options, {}); }
    void close();

private:
    std::vector<std::byte>& buffer_;
    std::size_t begin_;
};

} // namespace traces::codec
