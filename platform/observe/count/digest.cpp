#include "platform/observe/count/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <bit>
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

void Digest::on(const traces::Stamp& stamp, const traces::Event& event) {
    ++events_;
    put(pending_, stamp.time_ps);
    put(pending_, stamp.source);
    put(pending_, static_cast<std::uint8_t>(event.index()));
    for_each_member(event, [&]<class T>(std::string_view, const T& value) {
        if constexpr (std::is_same_v<T, std::string_view>) {
            put(pending_, static_cast<std::uint32_t>(value.size()));
            const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
            pending_.insert(pending_.end(), bytes, bytes + value.size());
        } else if constexpr (std::is_same_v<T, bool>) {
            put(pending_, static_cast<std::uint8_t>(value));
        } else {
            put(pending_, value);
        }
    });
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
