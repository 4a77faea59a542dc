// One number for a run: xxHash64 over every event in a canonical form (time, source, type, then the members in the
// order of their table; little endian at the member's own size, texts as length and bytes). The same configuration and
// seed give the same digest on any machine; any difference in any event gives another.
#pragma once

#include "platform/observe/event.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

struct XXH64_state_s;

namespace platform::observe::count {

/// Bytes that are written one after the other and read together. Nothing is cleared before it is written.
class Bytes {
public:
    explicit Bytes(std::size_t capacity)
        : data_(std::make_unique_for_overwrite<std::byte[]>(capacity)), end_(capacity) {}

    std::size_t size() const { return size_; }
    std::span<const std::byte> view() const { return {data_.get(), size_}; }
    void clear() { size_ = 0; }
    /// Where so many bytes more will stand, to be written by the caller.
    std::byte* extend(std::size_t bytes) {
        if (end_ - size_ < bytes) [[unlikely]]
            grow(bytes);
        return data_.get() + std::exchange(size_, size_ + bytes);
    }

private:
    void grow(std::size_t bytes);

    std::unique_ptr<std::byte[]> data_;
    std::size_t size_ = 0, end_;
};

class Digest final : public traces::Sink {
public:
    Digest();
    ~Digest() override;
    Digest(const Digest&) = delete;
    Digest& operator=(const Digest&) = delete;

    void on(const traces::Stamp& stamp, const traces::Event& event) override;
    /// One event more, without its source.
    void add(const traces::Stamp& stamp, const traces::Event& event);

    /// Of the events so far; more may follow.
    std::uint64_t value() const;
    /// value() as 16 hexadecimal digits.
    std::string text() const;
    std::uint64_t events() const { return events_; }

private:
    struct Free {
        void operator()(XXH64_state_s* state) const;
    };
    void count();
    void flush() const;

    mutable std::unique_ptr<XXH64_state_s, Free> state_;
    mutable Bytes pending_; ///< encoded and not yet hashed: several events an update
    std::uint64_t events_ = 0;
};

} // namespace platform::observe::count
