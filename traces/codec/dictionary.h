// Payloads that records refer to by their digest. Writer and reader keep the same window: the newest entries whose
// bytes fit, the oldest leave first. So both know without being told what may be referred to, and neither needs more
// memory than the window has.
#pragma once

#include "traces/codec/digest.h"

#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

namespace traces::codec {

class Dictionary {
public:
    /// An entry takes this much of the window besides its bytes, so that many small ones are bounded, too.
    static constexpr std::uint64_t entry_overhead = 128;

    explicit Dictionary(std::uint64_t window_bytes) : window_(window_bytes) {}
    std::optional<std::span<const std::byte>> find(const Digest& digest) const;
    /// Adds an entry that is not there yet, and lets the oldest go as far as it needs. False: the window is too small.
    bool add(const Digest& digest, std::span<const std::byte> bytes);
    std::uint64_t used_bytes() const { return used_; }

private:
    struct Hash { ///< a digest is one
        std::size_t operator()(const Digest& digest) const {
            std::size_t value = 0;
            std::memcpy(&value, digest.data(), sizeof value);
            return value;
        }
    };
    using Entries = std::unordered_map<Digest, std::vector<std::byte>, Hash>;
    std::uint64_t window_, used_ = 0;
    Entries entries_;
    std::deque<const Entries::value_type*> order_; ///< oldest first
};

} // namespace traces::codec
