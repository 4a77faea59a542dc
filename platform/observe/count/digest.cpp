#include "platform/observe/count/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

namespace platform::observe::count {
namespace {

/// Little, so that the digests of many components stay in the processor's cache.
constexpr std::size_t flush_at = 512, room = 1024;

/// Values one after the other, into room that there is.
class Pen {
public:
    explicit Pen(std::byte* at) : at_(at) {}
    template <class T> void put(T value) {
        if constexpr (std::is_same_v<T, std::string_view>) {
            put(static_cast<std::uint32_t>(value.size()));
            std::ranges::copy(std::as_bytes(std::span(value)), at_);
            at_ += value.size();
        } else if constexpr (std::is_same_v<T, bool>) {
            put(static_cast<std::uint8_t>(value));
        } else {
            if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1)
                value = static_cast<T>(std::byteswap(value));
            std::memcpy(at_, &value, sizeof value);
            at_ += sizeof value;
        }
    }

private:
    std::byte* at_;
};

template <class T> std::size_t length_of(const T& value) {
    if constexpr (std::is_same_v<T, std::string_view>)
        return sizeof(std::uint32_t) + value.size();
    else if constexpr (std::is_same_v<T, bool>)
        return sizeof(std::uint8_t);
    else
        return sizeof value;
}

/// Appends the canonical form of an event. Room is asked for once, and what a type has is known to the compiler: this
/// is done for each event of a run.
template <bool has_source> void encode(const traces::Stamp& stamp, const traces::Event& event, Bytes& out) {
    std::visit(
        [&]<class E>(const E& e) {
            std::apply(
                [&](const auto&... member) {
                    const auto length = sizeof stamp.time_ps + (has_source ? sizeof stamp.source : 0) + 1 +
                                        (std::size_t{0} + ... + length_of(plain(std::invoke(member.pointer, e))));
                    Pen pen(out.extend(length));
                    pen.put(stamp.time_ps);
                    if constexpr (has_source)
                        pen.put(stamp.source);
                    pen.put(static_cast<std::uint8_t>(event_type<E>));
                    (pen.put(plain(std::invoke(member.pointer, e))), ...);
                },
                E::members);
        },
        event);
}

} // namespace

void Digest::Free::operator()(XXH64_state_s* state) const { XXH64_freeState(state); }

void Bytes::grow(std::size_t bytes) {
    const auto capacity = 2 * (size_ + bytes);
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    end_ = capacity;
}

Digest::Digest() : state_(XXH64_createState()), pending_(room) {
    if (!state_)
        throw std::bad_alloc();
    XXH64_reset(state_.get(), traces::events_version);
}

Digest::~Digest() = default;

void Digest::on(const traces::Stamp& stamp, const traces::Event& event) {
    encode<true>(stamp, event, pending_);
    count();
}

void Digest::add(const traces::Stamp& stamp, const traces::Event& event) {
    encode<false>(stamp, event, pending_);
    count();
}

void Digest::count() {
    ++events_;
    if (pending_.size() >= flush_at)
        flush();
}

void Digest::flush() const {
    XXH64_update(state_.get(), pending_.view().data(), pending_.size());
    pending_.clear();
}

std::uint64_t Digest::value() const {
    flush();
    return XXH64_digest(state_.get());
}

std::string Digest::text() const { return fmt::format("{:016x}", value()); }

} // namespace platform::observe::count
