// Who wrote to which line of memory last, as far as a bounded book remembers: so that a stale answer can say what
// overtook it.
#pragma once

#include "model/gpu/memory/access.h"

#include <algorithm>
#include <array>

namespace model::gpu::memory {

class Writers {
public:
    static constexpr std::size_t lines = 1024;
    static constexpr std::uint64_t line_bytes = 128;

    struct Last {
        Writer writer = Writer::nobody;
        port::Time at{};
    };

    void note(std::uint64_t address, std::size_t length, Writer writer, port::Time at) {
        if (length == 0)
            return;
        const auto last = (address + length - 1) / line_bytes;
        // A write longer than the book would only push out itself.
        for (auto line = std::max(address / line_bytes, last - std::min<std::uint64_t>(last, lines - 1)); line <= last;
             ++line) {
            auto& entry = entries_[line % lines];
            if (entry.line != line + 1)
                entry = {.line = line + 1, .inbound = before, .gpu = before};
            (writer == Writer::inbound ? entry.inbound : entry.gpu) = at;
        }
    }
    /// The last write to the line of `address` since `since`; an inbound one before one of the GPU itself.
    Last find(std::uint64_t address, port::Time since) const {
        const auto line = address / line_bytes;
        const auto& entry = entries_[line % lines];
        if (entry.line != line + 1)
            return {};
        if (entry.inbound >= since)
            return {Writer::inbound, entry.inbound};
        return entry.gpu >= since ? Last{Writer::gpu, entry.gpu} : Last{};
    }

private:
    static constexpr auto before = port::Time::min();
    struct Entry {
        std::uint64_t line = 0; ///< its number plus one; 0: none
        port::Time inbound = before, gpu = before;
    };
    std::array<Entry, lines> entries_{};
};

} // namespace model::gpu::memory
