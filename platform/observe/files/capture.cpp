#include "platform/observe/files/capture.h"

#include "traces/codec/blocks.h"
#include "traces/codec/erf.h"

#include <algorithm>
#include <array>

namespace platform::observe::files {
namespace {

namespace codec = traces::codec;
namespace pcapng = traces::codec::pcapng;

constexpr std::byte nanoseconds{9}; // if_tsresol: a negative power of ten
constexpr std::size_t write_threshold = 1 << 20;
/// How far a frame may be ahead of another one: what a transmitter may be booked ahead (model/net/link: horizon), and
/// how late bytes may come from memory, at the longest latency that a link can have.
constexpr model::port::Time most_ahead = std::chrono::microseconds{500};
/// Without simulated time nothing ever is so old: then the order they come in is the order of their time.
constexpr std::size_t most_kept_bytes = 4 << 20;

} // namespace

class Capture::Interface final : public model::net::Tap {
public:
    Interface(Capture& capture, std::uint32_t number, bool is_infiniband)
        : capture_(capture), number_(number), is_infiniband_(is_infiniband) {}

    void on_frame(std::span<const std::byte> frame, unsigned direction, model::port::Time at) override {
        if (!capture_.is_open_)
            return;
        const auto wrapped = (is_infiniband_ ? codec::ErfHeader::size : 0) + frame.size();
        const auto length = static_cast<std::uint32_t>(wrapped);
        const auto time = static_cast<std::uint64_t>(model::port::to_nanoseconds(at));
        capture_.release_due(at);
        auto& kept = capture_.kept_;
        const auto begin = kept.size();
        codec::BlockBuilder block(kept, pcapng::enhanced_packet_type, std::type_identity<pcapng::EnhancedPacket>{});
        block.fixed<pcapng::EnhancedPacket>()
            .set<"interface">(number_)
            .set<"time_high">(static_cast<std::uint32_t>(time >> 32))
            .set<"time_low">(static_cast<std::uint32_t>(time))
            .set<"captured_length">(length)
            .set<"original_length">(length);
        if (is_infiniband_)
            block.add(codec::erf_header(static_cast<std::uint64_t>(at.count()), frame.size(), frame.size()).bytes);
        std::array<std::byte, 4> flags{};
        abi::store<std::uint32_t, abi::Endian::little>(flags.data(),
                                                       direction == 0 ? pcapng::outbound : pcapng::inbound);
        block.add(frame).pad().option(pcapng::option_epb_flags, flags).end_options().close();
        capture_.blocks_.push_back({.at = at, .begin = begin, .length = kept.size() - begin});
        ++capture_.frames_;
    }

private:
    Capture& capture_;
    std::uint32_t number_;
    bool is_infiniband_;
};

Capture::Capture(Output output) : output_(std::move(output)) {
    buffer_.reserve(write_threshold + 8192);
    codec::BlockBuilder block(buffer_, pcapng::section_header_type, std::type_identity<pcapng::SectionHeader>{});
    block.fixed<pcapng::SectionHeader>()
        .set<"byte_order">(pcapng::byte_order_magic)
        .set<"major">(1)
        .set<"section_length">(pcapng::unknown_length);
    block.close();
}

Capture::~Capture() = default;

model::net::Tap& Capture::add_interface(std::string_view name, model::port::Encapsulation encapsulation) {
    const bool is_infiniband = encapsulation == model::port::Encapsulation::infiniband;
    if (is_open_) {
        codec::BlockBuilder block(buffer_, pcapng::interface_type, std::type_identity<pcapng::InterfaceDescription>{});
        block.fixed<pcapng::InterfaceDescription>().set<"link_type">(is_infiniband ? codec::link_type_erf
                                                                                   : codec::link_type_ethernet);
        block.option(pcapng::option_if_name, std::as_bytes(std::span(name)))
            .option(pcapng::option_if_tsresol, std::span(&nanoseconds, 1))
            .end_options()
            .close();
    }
    interfaces_.push_back(
        std::make_unique<Interface>(*this, static_cast<std::uint32_t>(interfaces_.size()), is_infiniband));
    return *interfaces_.back();
}

/// Writes what nothing can come before any more, now that a frame of `at` has come.
void Capture::release_due(model::port::Time at) {
    newest_ = std::max(newest_, at);
    // Half of them at a time, so that none is sorted often.
    if (kept_.size() > most_kept_bytes)
        release(blocks_.size() / 2);
    if (!blocks_.empty() && newest_ - blocks_.front().at > 2 * most_ahead) {
        std::ranges::stable_sort(blocks_, {}, &Block::at);
        const auto due = std::ranges::upper_bound(blocks_, newest_ - most_ahead, {}, &Block::at);
        release(static_cast<std::size_t>(due - blocks_.begin()));
    }
}

/// Writes the `count` earliest and keeps the others.
void Capture::release(std::size_t count) {
    std::ranges::stable_sort(blocks_, {}, &Block::at);
    for (const auto& block : std::span(blocks_).first(count)) {
        const auto from = std::span(kept_).subspan(block.begin, block.length);
        if (buffer_.size() + from.size() > write_threshold)
            write_out();
        buffer_.insert(buffer_.end(), from.begin(), from.end());
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
