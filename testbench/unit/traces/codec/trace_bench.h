// A trace in memory: where its bytes go and come from, and TLPs to fill it with.
#pragma once

#include "abi/pcie/tlp.h"
#include "testbench/harness/seed.h"
#include "traces/codec/reader.h"
#include "traces/codec/writer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace trace_bench {

using namespace traces::codec;
using Bytes = std::vector<std::byte>;

struct MemoryDestination final : Destination {
    Bytes bytes;
    std::size_t room = SIZE_MAX; ///< before the disk is full
    std::size_t writes = 0, kept = 0;
    Outcome write(std::span<const std::byte> more) override {
        ++writes;
        if (more.size() > room - bytes.size())
            return std::unexpected("no space left");
        bytes.insert(bytes.end(), more.begin(), more.end());
        return {};
    }
    Outcome keep() override {
        kept = bytes.size();
        return {};
    }
};

struct MemorySource final : Source {
    std::span<const std::byte> left;
    std::size_t most = SIZE_MAX; ///< that one call gives
    explicit MemorySource(std::span<const std::byte> bytes, std::size_t most_at_once = SIZE_MAX)
        : left(bytes), most(most_at_once) {}
    std::expected<std::size_t, std::string> read(std::span<std::byte> into) override {
        const auto count = std::min({into.size(), left.size(), most});
        std::ranges::copy(left.first(count), into.begin());
        left = left.subspan(count);
        return count;
    }
};

inline Bytes bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}
inline Bytes random_bytes(std::size_t count, std::mt19937_64& random) {
    Bytes out(count);
    std::ranges::generate(out, [&] { return static_cast<std::byte>(random()); });
    return out;
}

/// The header of a write of `bytes`, a multiple of four up to 4096.
inline Bytes write_header(std::uint64_t address, std::size_t bytes) {
    Bytes out(abi::pcie::MemoryRequest64::size);
    const abi::View<abi::pcie::MemoryRequest64> view(out);
    view.sub<"header">().set<"fmt">(abi::pcie::TlpFormat::data_4dw).set<"length">(bytes / 4 % 1024);
    view.set<"requester">(0x100)
        .set<"first_enables">(0xf)
        .set<"last_enables">(bytes > 4 ? 0xf : 0)
        .set<"address_upper">(static_cast<std::uint32_t>(address >> 32))
        .set<"address">(static_cast<std::uint32_t>(address) >> 2);
    return out;
}
/// The header of a read below 4 GiB.
inline Bytes read_header(std::uint32_t address, std::size_t bytes) {
    Bytes out(abi::pcie::MemoryRequest32::size);
    const abi::View<abi::pcie::MemoryRequest32> view(out);
    view.sub<"header">().set<"length">(bytes / 4 % 1024);
    view.set<"requester">(0x100).set<"first_enables">(0xf).set<"last_enables">(0xf).set<"address">(address >> 2);
    return out;
}

inline Head small_head() {
    return {.identity = {.revision = "test", .seed = 7},
            .configuration = "mtu = 1024\n",
            .names = {"host0.hca0", "host0.hca0.firmware"},
            .interfaces = {{InterfaceKind::pcie, "host0.hca0"},
                           {InterfaceKind::ethernet, "host0.hca0.port1"},
                           {InterfaceKind::infiniband, "host0.hca0.port2"},
                           {InterfaceKind::events, "events"}}};
}

/// A record that owns its bytes.
struct Kept {
    std::uint32_t interface = 0;
    std::int64_t time_ps = 0;
    Mark mark;
    Bytes head, payload;
    bool operator==(const Kept&) const = default;
};
inline Kept keep(const Record& record) {
    Kept kept{record.interface,
              record.time_ps,
              record.mark,
              {record.head.begin(), record.head.end()},
              {record.payload.begin(), record.payload.end()}};
    kept.mark.flags &= static_cast<std::uint8_t>(~by_reference); // how the payload was stored is not what it was
    return kept;
}

/// All that can be read, and what stopped it.
struct Story {
    Head head;
    std::vector<Kept> records;
    std::uint64_t confirmed = 0;
    std::optional<Fault> fault;
    std::string why() const { return fault ? fault->text() : std::string(); }
};
inline Story read_all(std::span<const std::byte> bytes, std::size_t at_once = SIZE_MAX) {
    MemorySource source(bytes, at_once);
    Reader reader(source);
    Story story;
    if (const auto opened = reader.open(); !opened)
        story.fault = opened.error();
    story.head = reader.head();
    while (!story.fault) {
        const auto record = reader.next();
        if (!record)
            story.fault = record.error();
        else if (*record == nullptr)
            break;
        else
            story.records.push_back(keep(**record));
    }
    story.confirmed = reader.confirmed_records();
    return story;
}

/// A trace of `count` records of all kinds, and what was recorded. Each 16th message comes by reference.
struct Sample {
    MemoryDestination destination;
    std::vector<Kept> records;
};
inline void record(Writer& writer, Sample& sample, std::mt19937_64& random) {
    const auto number = sample.records.size();
    Kept kept{.interface = static_cast<std::uint32_t>(random() % 4),
              .time_ps = static_cast<std::int64_t>(number * 1000 + random() % 1000),
              .mark = {.direction = random() % 2 ? Direction::inbound : Direction::outbound,
                       .gate = number / 3,
                       .cause = static_cast<std::uint32_t>(number == 0 ? 0 : random() % number)},
              .head = {},
              .payload = {}};
    if (kept.interface == 1 || kept.interface == 2) {
        kept.mark.kind = RecordKind::frame;
        kept.head = random_bytes(14 + random() % 300, random);
    } else if (kept.interface == 3) {
        kept.mark.kind = RecordKind::event;
        kept.head = random_bytes(24 + random() % 20, random);
    } else if (random() % 4 == 0) {
        kept.mark.kind = RecordKind::signal;
        kept.head = random_bytes(SignalRecord::size, random);
    } else if (random() % 2) {
        kept.head = read_header(static_cast<std::uint32_t>(random()), 64);
    } else {
        const auto length = 4 + random() % 128 / 4 * 4;
        kept.head = write_header(random(), length);
        kept.payload = number % 5 ? random_bytes(length, random) : Bytes(length, std::byte{0x5a});
        if (length > PayloadReference::size) {
            const auto reference = writer.refer(kept.payload);
            if (reference) {
                writer.write(kept.interface, kept.time_ps, kept.mark, kept.head, *reference);
                sample.records.push_back(std::move(kept));
                return;
            }
        }
    }
    writer.write(kept.interface, kept.time_ps, kept.mark, kept.head, kept.payload);
    sample.records.push_back(std::move(kept));
}
inline Sample make_sample(std::size_t count, Writer::Options options, std::mt19937_64& random, bool is_closed = true) {
    Sample sample;
    Writer writer(sample.destination, small_head(), options);
    for (std::size_t i = 0; i < count; ++i)
        record(writer, sample, random);
    if (is_closed)
        static_cast<void>(writer.close());
    return sample;
}

} // namespace trace_bench
