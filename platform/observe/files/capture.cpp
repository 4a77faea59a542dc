#include "platform/observe/files/capture.h"

#include "abi/layout.h"

#include <algorithm>

namespace platform::observe::files {
namespace {

using namespace abi;

// clang-format off
// draft-ietf-opsawg-pcapng: section 4.1 to 4.3 and 3.5; a section has the byte order of its writer, ours is little
// endian.
using SectionHeader = LittleLayout<"section_header", 28,
    U32<"type",           0x00>,
    U32<"length",         0x04>,
    U32<"byte_order",     0x08>,
    U16<"major",          0x0c>,
    U16<"minor",          0x0e>,
    U64<"section_length", 0x10>,  // all ones: not given
    U32<"trailer",        0x18>>; // the length again, as behind every block

using InterfaceDescription = LittleLayout<"interface_description", 16,
    U32<"type",        0x0>,
    U32<"length",      0x4>,
    U16<"link_type",   0x8>,
    U32<"snap_length", 0xc>>; // 0: unlimited

using EnhancedPacket = LittleLayout<"enhanced_packet", 28,
    U32<"type",            0x00>,
    U32<"length",          0x04>,
    U32<"interface",       0x08>,
    U32<"time_high",       0x0c>,
    U32<"time_low",        0x10>,
    U32<"captured_length", 0x14>,
    U32<"original_length", 0x18>>;

using Option = LittleLayout<"option", 4, U16<"code", 0x0>, U16<"length", 0x2>>;
// clang-format on

constexpr std::uint32_t section_header_type = 0x0a0d0d0a, interface_type = 1, enhanced_packet_type = 6;
constexpr std::uint32_t byte_order_magic = 0x1a2b3c4d;
constexpr std::uint16_t link_type_ethernet = 1, link_type_infiniband = 247;
constexpr std::uint16_t option_if_name = 2, option_if_tsresol = 9, option_epb_flags = 2;
constexpr std::byte nanoseconds{9};                // if_tsresol: a negative power of ten
constexpr std::uint32_t inbound = 1, outbound = 2; // epb_flags, bits 1..0
constexpr std::size_t write_threshold = 1 << 20;
/// How far a port may be ahead of another one: what its transmitter may be booked ahead, and what a packet may leave
/// later than booked (model/net/link: horizon and reach).
constexpr model::port::Time most_ahead = std::chrono::microseconds{12};
/// Without simulated time nothing ever is so old: then the order they come in is the order of their time.
constexpr std::size_t most_kept_bytes = 4 << 20;

constexpr std::size_t padded(std::size_t n) { return (n + 3) / 4 * 4; }

/// Writes option `code` to the start of `at` and returns what is behind it.
std::span<std::byte> put_option(std::span<std::byte> at, std::uint16_t code, std::span<const std::byte> value) {
    View<Option>(at).set<"code">(code).set<"length">(static_cast<std::uint16_t>(value.size()));
    std::ranges::copy(value, at.begin() + Option::size);
    return at.subspan(Option::size + padded(value.size()));
}

void put_trailer(std::span<std::byte> block) {
    store<std::uint32_t, Endian::little>(block.last(4).data(), static_cast<std::uint32_t>(block.size()));
}

} // namespace

class Capture::Interface final : public model::net::Tap {
public:
    Interface(Capture& capture, std::uint32_t number) : capture_(capture), number_(number) {}

    void on_frame(std::span<const std::byte> frame, unsigned direction, model::port::Time at) override {
        const auto options = Option::size + 4 + Option::size; // flags, and the end of options
        const auto block = capture_.keep(EnhancedPacket::size + padded(frame.size()) + options + 4, at);
        if (block.empty())
            return;
        const auto time = static_cast<std::uint64_t>(model::port::to_nanoseconds(at));
        View<EnhancedPacket>(block)
            .set<"type">(enhanced_packet_type)
            .set<"length">(static_cast<std::uint32_t>(block.size()))
            .set<"interface">(number_)
            .set<"time_high">(static_cast<std::uint32_t>(time >> 32))
            .set<"time_low">(static_cast<std::uint32_t>(time))
            .set<"captured_length">(static_cast<std::uint32_t>(frame.size()))
            .set<"original_length">(static_cast<std::uint32_t>(frame.size()));
        std::ranges::copy(frame, block.begin() + EnhancedPacket::size);
        std::array<std::byte, 4> flags{};
        store<std::uint32_t, Endian::little>(flags.data(), direction == 0 ? outbound : inbound);
        put_option(block.subspan(EnhancedPacket::size + padded(frame.size())), option_epb_flags, flags);
        put_trailer(block);
        ++capture_.frames_;
    }

private:
    Capture& capture_;
    std::uint32_t number_;
};

Capture::Capture(Output output) : output_(std::move(output)) {
    buffer_.reserve(write_threshold + 8192);
    const auto block = extend(SectionHeader::size);
    View<SectionHeader>(block)
        .set<"type">(section_header_type)
        .set<"length">(SectionHeader::size)
        .set<"byte_order">(byte_order_magic)
        .set<"major">(1)
        .set<"section_length">(~std::uint64_t{0})
        .set<"trailer">(SectionHeader::size);
}

Capture::~Capture() = default;

model::net::Tap& Capture::add_interface(std::string_view name, model::port::Encapsulation encapsulation) {
    const bool is_infiniband = encapsulation == model::port::Encapsulation::infiniband;
    const auto options = Option::size + padded(name.size()) + Option::size + 4 + Option::size;
    if (const auto block = extend(InterfaceDescription::size + options + 4); !block.empty()) {
        View<InterfaceDescription>(block)
            .set<"type">(interface_type)
            .set<"length">(static_cast<std::uint32_t>(block.size()))
            .set<"link_type">(is_infiniband ? link_type_infiniband : link_type_ethernet);
        const auto rest =
            put_option(block.subspan(InterfaceDescription::size), option_if_name, std::as_bytes(std::span(name)));
        put_option(rest, option_if_tsresol, std::span(&nanoseconds, 1));
        put_trailer(block);
    }
    interfaces_.push_back(std::make_unique<Interface>(*this, static_cast<std::uint32_t>(interfaces_.size())));
    return *interfaces_.back();
}

std::span<std::byte> Capture::extend(std::size_t length) {
    if (!is_open_)
        return {};
    if (buffer_.size() + length > write_threshold)
        write_out();
    const auto at = buffer_.size();
    buffer_.resize(at + length);
    return std::span(buffer_).subspan(at);
}

std::span<std::byte> Capture::keep(std::size_t length, model::port::Time at) {
    if (!is_open_)
        return {};
    newest_ = std::max(newest_, at);
    // Half of them at a time, so that none is sorted often.
    if (kept_.size() > most_kept_bytes)
        release(blocks_.size() / 2);
    if (!blocks_.empty() && newest_ - blocks_.front().at > 2 * most_ahead) {
        std::ranges::stable_sort(blocks_, {}, &Block::at);
        const auto due = std::ranges::upper_bound(blocks_, newest_ - most_ahead, {}, &Block::at);
        release(static_cast<std::size_t>(due - blocks_.begin()));
    }
    const auto begin = kept_.size();
    kept_.resize(begin + length);
    blocks_.push_back({.at = at, .begin = begin, .length = length});
    return std::span(kept_).subspan(begin);
}

/// Writes the `count` earliest and keeps the others.
void Capture::release(std::size_t count) {
    std::ranges::stable_sort(blocks_, {}, &Block::at);
    for (const auto& block : std::span(blocks_).first(count)) {
        const auto from = std::span(kept_).subspan(block.begin, block.length);
        std::ranges::copy(from, extend(block.length).begin());
    }
    std::vector<std::byte> rest;
    blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(count));
    for (auto& block : blocks_) {
        const auto from = std::span(kept_).subspan(block.begin, block.length);
        block.begin = rest.size();
        rest.insert(rest.end(), from.begin(), from.end());
    }
    kept_ = std::move(rest);
}

void Capture::write_out() {
    output_.write({reinterpret_cast<const char*>(buffer_.data()), buffer_.size()});
    buffer_.clear();
}

Output::Outcome Capture::close() {
    if (is_open_) {
        release(blocks_.size());
        write_out();
    }
    is_open_ = false;
    return output_.finish();
}

} // namespace platform::observe::files
