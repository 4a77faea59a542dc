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
#include <vector>

struct XXH64_state_s;

namespace platform::observe::count {

/// Appends the canonical form of an event.
void encode(const traces::Stamp& stamp, const traces::Event& event, std::vector<std::byte>& out);
/// Where its source stands in it.
inline constexpr std::size_t source_begin = 8, source_end = 10;

class Digest final : public traces::Sink {
public:
    Digest();
    ~Digest() override;
    Digest(const Digest&) = delete;
    Digest& operator=(const Digest&) = delete;

    void on(const traces::Stamp& stamp, const traces::Event& event) override;
    /// The bytes of one event more, by whoever has encoded it.
    void add(std::span<const std::byte> event);

    /// Of the events so far; more may follow.
    std::uint64_t value() const;
    /// value() as 16 hexadecimal digits.
    std::string text() const;
    std::uint64_t events() const { return events_; }

private:
    struct Free {
        void operator()(XXH64_state_s* state) const;
    };
    void flush() const;

    mutable std::unique_ptr<XXH64_state_s, Free> state_;
    mutable std::vector<std::byte> pending_; ///< encoded and not yet hashed: many events an update
    std::uint64_t events_ = 0;
};

} // namespace platform::observe::count
