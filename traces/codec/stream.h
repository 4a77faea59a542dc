// Where the bytes of a trace come from, and where they go: a file, memory in a test, a pipe.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>

namespace traces::codec {

class Source {
public:
    virtual ~Source() = default;
    /// Fills at most `into`; 0: there is no more. The error is what a person can be told.
    virtual std::expected<std::size_t, std::string> read(std::span<std::byte> into) = 0;
};

class Destination {
public:
    using Outcome = std::expected<void, std::string>;
    virtual ~Destination() = default;
    virtual Outcome write(std::span<const std::byte> bytes) = 0;
    /// What was written so far is there even if this process, or where `write` promises that the machine, dies now.
    virtual Outcome keep() { return {}; }
    /// Nothing will be written: what was made for it goes away.
    virtual void give_up() {}
};

} // namespace traces::codec
