// The link of a function as an importer makes it up: accesses as TLPs, each record marked as injected, all at time 0.
#pragma once

#include "traces/codec/signal.h"
#include "traces/codec/writer.h"

#include <cstdint>
#include <span>
#include <vector>

namespace platform::importer {

class InjectedLink {
public:
    InjectedLink(traces::codec::Writer& writer, std::uint32_t interface) : writer_(writer), interface_(interface) {}

    /// What follows happens in the course of another access from outside.
    void begin_access() {
        ++gate_;
        cause_ = 0;
    }
    /// Software writes: what follows happens because of it.
    void store(std::uint64_t address, std::span<const std::byte> bytes);
    void device_writes(std::uint64_t address, std::span<const std::byte> bytes);
    /// The device reads, and gets `bytes`.
    void device_reads(std::uint64_t address, std::span<const std::byte> bytes);
    void bar_begins(std::uint32_t bar, std::uint64_t address);

private:
    std::uint32_t write(traces::codec::Direction direction, std::uint64_t address, std::span<const std::byte> bytes);
    std::uint32_t put(traces::codec::RecordKind kind, traces::codec::Direction direction, std::uint32_t cause,
                      std::span<const std::byte> head, std::span<const std::byte> payload = {});
    /// The dwords that carry the bytes of an access.
    std::span<const std::byte> padded(std::uint64_t address, std::span<const std::byte> bytes);

    traces::codec::Writer& writer_;
    std::uint32_t interface_;
    std::uint64_t gate_ = 0;
    std::uint32_t cause_ = 0;
    std::uint8_t tag_ = 0;
    std::vector<std::byte> padded_;
};

} // namespace platform::importer
