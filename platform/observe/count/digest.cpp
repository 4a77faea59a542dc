#include "platform/observe/count/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <bit>
#include <cassert>
#include <cstring>

namespace platform::observe::count {
namespace {

/// Little, so that the digests of many components stay in the processor's cache.
constexpr std::size_t flush_at = 512, room = 1024;

template <class T> void put(Bytes& out, T value) {
    if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1)
        value = static_cast<T>(std::byteswap(value));
    std::memcpy(out.extend(sizeof(T)), &value, sizeof(T));
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

void encode(const traces::Stamp& stamp, const traces::Event& event, Bytes& out) {
    [[maybe_unused]] const auto begin = out.size();
    put(out, stamp.time_ps);
    assert(out.size() - begin == source_begin && "the time stands in front of the source");
    put(out, stamp.source);
    assert(out.size() - begin == source_end && "the type stands behind the source");
    put(out, static_cast<std::uint8_t>(event.index()));
    for_each_member(event, [&]<class T>(std::string_view, const T& value) {
        if constexpr (std::is_same_v<T, std::string_view>) {
            put(out, static_cast<std::uint32_t>(value.size()));
            out.append(std::as_bytes(std::span(value)));
        } else if constexpr (std::is_same_v<T, bool>) {
            put(out, static_cast<std::uint8_t>(value));
        } else {
            put(out, value);
        }
    });
}

void Digest::on(const traces::Stamp& stamp, const traces::Event& event) {
    ++events_;
    encode(stamp, event, pending_);
    if (pending_.size() >= flush_at)
        flush();
}

void Digest::add(std::span<const std::byte> head, std::span<const std::byte> tail) {
    ++events_;
    pending_.append(head);
    pending_.append(tail);
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
