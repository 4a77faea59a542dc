// Numbers by which content is known: XXH3 of 128 bits, in the byte order of its canonical form. Fast, and no proof
// against somebody who looks for two contents with one digest; the dictionary therefore compares bytes, too.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace traces::codec {

using Digest = std::array<std::byte, 16>;

Digest digest_of(std::span<const std::byte> bytes);

/// The digest of all bytes so far.
class RunningDigest {
public:
    RunningDigest();
    void add(std::span<const std::byte> bytes);
    Digest value() const;

private:
    struct State;
    struct Free {
        void operator()(State* state) const;
    };
    std::unique_ptr<State, Free> state_;
};

} // namespace traces::codec
