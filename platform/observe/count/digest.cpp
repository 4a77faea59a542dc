#include "platform/observe/count/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <bit>
#include <cassert>
#include <cstring>

namespace platform::observe::count {
namespace {

constexpr std::size_t flush_at = 8192;

template <class T> void put(std::vector<std::byte>& out, T value) {
    if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1)
        value = static_cast<T>(std::byteswap(value));
    const auto at = out.size();
    out.resize(at + sizeof(T));
    std::memcpy(out.data() + at, &value, sizeof(T));
}

} // namespace

void Digest::Free::operator()(XXH64_state_s* state) const { XXH64_freeState(state); }

Digest::Digest() : state_(XXH64_createState()) {
    if (!state_)
        throw std::bad_alloc();
    XXH64_reset(state_.get(), traces::events_version);
    pending_.reserve(flush_at + 1024);
}

Digest::~Digest() = default;

void encode(const traces::Stamp& stamp, const traces::Event& event, std::vector<std::byte>& out) {
    [[maybe_unused]] const auto begin = out.size();
    put(out, stamp.time_ps);
    assert(out.size() - begin == source_begin && "the time stands in front of the source");
    put(out, stamp.source);
    assert(out.size() - begin == source_end && "the type stands behind the source");
    put(out, static_cast<std::uint8_t>(event.index()));
    for_each_member(event, [&]<class T>(std::string_view, const T& value) {
        if constexpr (std::is_same_v<T, std::string_view>) {
            put(out, static_cast<std::uint32_t>(value.size()));
            const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
            out.insert(out.end(), bytes, bytes + value.size());
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

void Digest::add(std::span<const std::byte> event) {
    ++events_;
    pending_.insert(pending_.end(), event.begin(), event.end());
    if (pending_.size() >= flush_at)
        flush();
}

void Digest::flush() const {
    XXH64_update(state_.get(), pending_.data(), pending_.size());
    pending_.clear();
}

std::uint64_t Digest::value() const {
    flush();
    return XXH64_digest(state_.get());
}

std::string Digest::text() const { return fmt::format("{:016x}", value()); }

} // namespace platform::observe::count
