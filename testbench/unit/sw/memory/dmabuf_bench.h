// An exporter whose buffer lies where the test says, and what it was asked, for tests of dma-bufs and their importers.
#pragma once

#include "sw/memory/attachment.h"
#include "sw/memory/dmabuf.h"
#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <string>
#include <vector>

namespace testbench {

/// 64 KiB in three pieces that do not touch.
inline const std::vector<sw::memory::BusRange> three_pieces{
    {0x1000'0000, 0x4000}, {0x2000'0000, 0x8000}, {0x3000'0000, 0x4000}};
/// What an exporter of these has mapped or got back after one mapping.
inline const std::vector<sw::memory::ScatterList> given_once(1, three_pieces);

/// A dynamic exporter: counts pins, gives `ranges`, remembers what came back.
struct ScriptedExporter {
    FakeTransport device; ///< the importer's
    std::vector<sw::memory::BusRange> ranges = three_pieces;
    std::vector<sw::memory::MappingOffer> offers{{}};
    unsigned pins = 0, attached = 0, released = 0;
    int refuse_pin = 0, refuse_map = 0; ///< errno
    std::vector<sw::memory::ScatterList> mapped, unmapped;
    sw::memory::DmaBufHandle buffer;

    explicit ScriptedExporter(bool is_dynamic = true) {
        using sw::memory::Attachment;
        using sw::memory::Lock;
        sw::memory::Exporter exporter{.name = "exporter"};
        exporter.attach = [this](Attachment&) -> sw::Result<void> {
            ++attached;
            return {};
        };
        exporter.detach = [this](Attachment&) { --attached; };
        exporter.offers = [this] { return offers; };
        if (is_dynamic) {
            exporter.pin = [this](Attachment&, const Lock&) -> sw::Result<void> {
                if (refuse_pin != 0)
                    return sw::failure(refuse_pin, "scripted");
                ++pins;
                return {};
            };
            exporter.unpin = [this](Attachment&, const Lock&) { --pins; };
        }
        exporter.map = [this](Attachment&, const Lock&) -> sw::Result<sw::memory::ScatterList> {
            if (refuse_map != 0)
                return sw::failure(refuse_map, "scripted");
            mapped.push_back(ranges);
            return ranges;
        };
        exporter.unmap = [this](Attachment&, const sw::memory::ScatterList& list) { unmapped.push_back(list); };
        exporter.map_physical = [this](Attachment&, const Lock&) -> sw::Result<sw::memory::PhysicalList> {
            return ranges;
        };
        exporter.unmap_physical = [this](Attachment&, const sw::memory::PhysicalList& list) {
            unmapped.push_back(list);
        };
        exporter.release = [this] { ++released; };
        std::uint64_t size = 0;
        for (const auto& range : ranges)
            size += range.size;
        auto made = sw::memory::DmaBuf::make(std::move(exporter), size);
        REQUIRE(made);
        buffer = std::move(*made);
    }
    sw::memory::Lock lock() {
        auto lock = buffer->reservation().try_lock();
        REQUIRE(lock);
        return lock;
    }
    /// Time flies while somebody waits for what never comes.
    void hurry() {
        device.on_relax = [this] { device.time += std::chrono::milliseconds{250}; };
    }
    /// Attaches an importer that can be told; `told` counts how often it was.
    std::unique_ptr<sw::memory::Attachment> attach(unsigned* told = nullptr) {
        auto made = buffer->attach(device, {.name = "importer", .move_notify = [told](const sw::memory::Lock&) {
                                                if (told)
                                                    ++*told;
                                            }});
        REQUIRE(made);
        return std::move(*made);
    }
    std::unique_ptr<sw::memory::Attachment> attach_silent() {
        auto made = buffer->attach(device, {.name = "importer"});
        REQUIRE(made);
        return std::move(*made);
    }
};

/// A refusal has the code and its message names the rule.
template <class T> void check_refused(const sw::Result<T>& result, int code, const std::string& rule) {
    REQUIRE_FALSE(result);
    CHECK(result.error().code == code);
    INFO(result.error().what);
    CHECK(result.error().what.find(rule) != std::string::npos);
}

} // namespace testbench
