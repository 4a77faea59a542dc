// A translator with a table of its own, for the tests of this room.
#pragma once

#include "model/hca/tpt/translate.h"
#include "testbench/unit/model/hca/icm/slow_memory.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace tpt_test {

using namespace model::hca;
using namespace model::hca::tpt;

struct Bench {
    static constexpr std::uint32_t index = 0xdd;
    static constexpr std::uint8_t variant = 0x5d;
    static constexpr abi::Key key{index, variant};
    static constexpr abi::Pd pd{9};

    explicit Bench(const HcaConfig& c = untimed())
        : config(c), contexts(config, memory, counters), translator(table, config, contexts, counters, events) {}

    static HcaConfig untimed() {
        HcaConfig config;
        config.timed = false;
        return config;
    }
    /// Attributes of a key with every right; a test changes what it is about.
    static MkeyAttributes attributes(std::uint64_t start, std::uint64_t length, std::uint8_t page_shift = 12) {
        MkeyAttributes a;
        a.variant = variant;
        a.rights = {true, true, true, true, true};
        a.pd = pd;
        a.start = start;
        a.length = length;
        a.page_shift = page_shift;
        return a;
    }
    void create(const MkeyAttributes& a, std::vector<std::uint64_t> mtt) {
        table.destroy(index);
        table.create(index, a, std::move(mtt));
    }
    Request request(std::uint64_t address, std::uint64_t length, Access access = Access::local_read) const {
        return {.key = key, .address = address, .length = length, .access = access, .pd = pd, .qpn = 5};
    }
    std::expected<Segments, Violation> translate(std::uint64_t address, std::uint64_t length,
                                                 Access access = Access::local_read) {
        return translator.translate(request(address, length, access), {});
    }
    /// The violation, or nothing.
    std::optional<Violation> refusal(const Request& r) {
        const auto result = translator.translate(r, {});
        return result ? std::nullopt : std::optional(result.error());
    }
    std::optional<Violation> refusal(std::uint64_t address, std::uint64_t length, Access access = Access::local_read) {
        return refusal(request(address, length, access));
    }
    /// Bus address and length of every segment.
    static std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces(const Segments& segments) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
        for (const auto& s : segments.all())
            all.emplace_back(s.address.value, s.length);
        return all;
    }

    HcaConfig config;
    MkeyTable table;
    Counters counters;
    traces::Events events;
    icm_test::SlowMemory memory; ///< nobody lends pages, so it is not read
    icm::ContextMemory contexts;
    Translator translator;
};

inline constexpr std::array all_accesses{Access::local_read, Access::local_write, Access::remote_read,
                                         Access::remote_write, Access::remote_atomic};

} // namespace tpt_test
