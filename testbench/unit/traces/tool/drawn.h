// What a picture has, read back: its tracks, slices, instants and counters.
#pragma once

#include "testbench/unit/traces/tool/session.h"
#include "traces/tool/perfetto.h"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace trace_tool_bench {

using namespace traces::tool;
using trace_bench::MemoryDestination;
using trace_bench::MemorySource;

/// A message of protocol buffers: numbers and texts by the numbers of their fields.
struct Message {
    std::map<unsigned, std::vector<std::uint64_t>> numbers;
    std::map<unsigned, std::vector<std::string>> texts;

    explicit Message(std::string_view bytes) {
        const auto varint = [&] {
            std::uint64_t value = 0;
            for (unsigned shift = 0;; shift += 7) {
                const auto byte = static_cast<unsigned char>(bytes.at(0));
                bytes.remove_prefix(1);
                value |= std::uint64_t{byte & 0x7fu} << shift;
                if (byte < 0x80)
                    return value;
            }
        };
        while (!bytes.empty()) {
            const auto tag = varint();
            const auto field = static_cast<unsigned>(tag >> 3);
            if (tag % 8 == 0) {
                numbers[field].push_back(varint());
            } else if (tag % 8 == 1) {
                numbers[field].push_back(
                    abi::load<std::uint64_t, abi::Endian::little>(std::as_bytes(std::span(bytes).first(8)).data()));
                bytes.remove_prefix(8);
            } else {
                REQUIRE(tag % 8 == 2);
                const auto length = varint();
                texts[field].emplace_back(bytes.substr(0, length));
                bytes.remove_prefix(length);
            }
        }
    }
};

struct Drawn {
    std::string name, track; ///< of the event and its track
    std::uint64_t type = 0, at_ns = 0, track_id = 0;
    std::int64_t value = 0;
    std::vector<std::uint64_t> flows;
};
inline constexpr std::uint64_t slice_begin = 1, slice_end = 2, instant = 3, counter = 4;

inline std::vector<Drawn> read(const MemoryDestination& out) {
    std::map<std::uint64_t, std::string> tracks;
    std::vector<Drawn> drawn;
    std::map<std::uint64_t, std::uint64_t> times;
    const Message picture(text_of(out));
    for (const auto& packet : picture.texts.at(1)) {
        Message fields(packet);
        if (fields.texts.contains(60)) {
            Message descriptor(fields.texts[60][0]);
            if (descriptor.numbers.contains(5))
                CHECK(tracks.contains(descriptor.numbers[5][0]));
            CHECK(tracks.emplace(descriptor.numbers[1][0], descriptor.texts[2][0]).second);
            continue;
        }
        Message event(fields.texts.at(11)[0]);
        Drawn one;
        one.type = event.numbers[9][0];
        one.at_ns = fields.numbers[8][0];
        one.track_id = event.numbers[11][0];
        REQUIRE(tracks.contains(one.track_id));
        one.track = tracks[one.track_id];
        CHECK(one.at_ns >= times[one.track_id]); // times of a track do not fall
        times[one.track_id] = one.at_ns;
        if (event.texts.contains(23))
            one.name = event.texts[23][0];
        if (event.numbers.contains(30))
            one.value = static_cast<std::int64_t>(event.numbers[30][0]);
        one.flows = event.numbers[47];
        drawn.push_back(one);
    }
    return drawn;
}
inline std::vector<Drawn> draw(const Bytes& trace) {
    MemoryDestination out;
    const auto outcome = perfetto(
        [&] {
            return std::expected<std::unique_ptr<codec::Source>, std::string>(std::make_unique<MemorySource>(trace));
        },
        out);
    CHECK(outcome.text() == "");
    return read(out);
}
inline const Drawn& find(const std::vector<Drawn>& drawn, std::string_view track, std::string_view name,
                         std::uint64_t type = instant) {
    for (const auto& one : drawn)
        if (one.track.contains(track) && one.name.contains(name) && one.type == type)
            return one;
    FAIL("nothing named " << name << " on " << track);
    return drawn.front();
}

/// Slices of a track do not overlap, and each has an end.
inline void check_slices(const std::vector<Drawn>& drawn) {
    std::map<std::uint64_t, std::uint64_t> open, ends;
    for (const auto& one : drawn)
        if (one.type == slice_begin) {
            CHECK(!open.contains(one.track_id));
            CHECK(one.at_ns >= ends[one.track_id]);
            open[one.track_id] = one.at_ns;
        } else if (one.type == slice_end) {
            REQUIRE(open.contains(one.track_id));
            CHECK(one.at_ns > open[one.track_id]);
            open.erase(one.track_id);
            ends[one.track_id] = one.at_ns;
        }
    CHECK(open.empty());
}

} // namespace trace_tool_bench
