#include "model/nvme/keep/state.h"

#include "model/nvme/data/crc.h"

#include <algorithm>

namespace model::nvme {

namespace {

constexpr auto state_checksum = StateHeader::field<"checksum">::offset;
constexpr std::uint64_t most_bytes = 1ull << 50;

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
    constexpr std::array<std::byte, 8> zero{};
    const auto crc = crc64_nvme(zero, crc64_nvme(bytes.first(state_checksum)));
    return crc64_nvme(bytes.subspan(state_checksum + zero.size()), crc);
}

void encode(const KeptNamespace& one, abi::View<NamespaceRecord> record) {
    const auto& shape = one.shape;
    record.set<"nsid">(one.nsid)
        .set<"error_recovery">(one.error_recovery)
        .set<"generation">(one.generation)
        .set<"bytes">(one.bytes)
        .set<"format">(shape.format_index)
        .set<"data_shift">(shape.format.data_shift)
        .set<"metadata_bytes">(shape.format.metadata_bytes)
        .set<"guard">(static_cast<std::uint8_t>(shape.format.guard))
        .set<"protection">(static_cast<std::uint8_t>(shape.protection))
        .set<"origin">(static_cast<std::uint8_t>(one.origin))
        .set<"write_protection">(static_cast<std::uint8_t>(one.write_protection))
        .set<"extended">(shape.is_extended)
        .set<"first">(shape.is_protection_first)
        .set<"attached">(one.is_attached)
        .set<"erasing">(one.is_erasing);
}

void encode(const KeptState& state, abi::View<CounterRecord> record) {
    const auto& counters = state.counters;
    record.set<"power_cycles">(counters.power_cycles)
        .set<"unsafe_shutdowns">(counters.unsafe_shutdowns)
        .set<"power_on_ms">(counters.power_on_ms)
        .set<"reads">(counters.reads)
        .set<"writes">(counters.writes)
        .set<"bytes_read">(counters.bytes_read)
        .set<"bytes_written">(counters.bytes_written)
        .set<"media_errors">(counters.media_errors)
        .set<"errors">(counters.errors)
        .set<"shut_down">(counters.is_shut_down)
        .set<"test_code">(state.test.code)
        .set<"test_nsid">(state.test.nsid);
}

void decode(abi::ConstView<CounterRecord> record, KeptState& state) {
    state.counters = {.power_cycles = record.get<"power_cycles">(),
                      .unsafe_shutdowns = record.get<"unsafe_shutdowns">(),
                      .power_on_ms = record.get<"power_on_ms">(),
                      .reads = record.get<"reads">(),
                      .writes = record.get<"writes">(),
                      .bytes_read = record.get<"bytes_read">(),
                      .bytes_written = record.get<"bytes_written">(),
                      .media_errors = record.get<"media_errors">(),
                      .errors = record.get<"errors">(),
                      .is_shut_down = record.get<"shut_down">()};
    state.test = {record.get<"test_code">(), record.get<"test_nsid">()};
}

/// What is wrong with the record; nothing, and `one` is filled.
std::string_view decode(abi::ConstView<NamespaceRecord> record, const SpaceConfig& config, KeptNamespace& one) {
    const auto index = record.get<"format">();
    if (index >= config.formats.size())
        return "has a format of logical blocks that the drive does not have";
    const auto& format = config.formats[index];
    if (format.data_shift != record.get<"data_shift">() || format.metadata_bytes != record.get<"metadata_bytes">() ||
        static_cast<std::uint8_t>(format.guard) != record.get<"guard">())
        return "has a format of logical blocks that is another one by now";
    if (record.get<"protection">() > static_cast<std::uint8_t>(Protection::type3) ||
        record.get<"origin">() > static_cast<std::uint8_t>(Origin::made) ||
        record.get<"write_protection">() > static_cast<std::uint8_t>(WriteProtection::permanent))
        return "has a field that nothing means";
    one.nsid = record.get<"nsid">(), one.error_recovery = record.get<"error_recovery">();
    one.generation = record.get<"generation">(), one.bytes = record.get<"bytes">();
    one.shape = {format, index, record.get<"extended">(), static_cast<Protection>(record.get<"protection">()),
                 record.get<"first">()};
    one.origin = static_cast<Origin>(record.get<"origin">());
    one.write_protection = static_cast<WriteProtection>(record.get<"write_protection">());
    one.is_attached = record.get<"attached">(), one.is_erasing = record.get<"erasing">();
    if (one.shape.is_protected() && one.shape.metadata_bytes() < one.shape.tuple_bytes())
        return "has no room for its protection information";
    if (one.bytes < one.shape.stored_bytes() || one.bytes > most_bytes)
        return "has a size that no namespace has";
    return {};
}

} // namespace

std::vector<std::byte> encode(const KeptState& state) {
    std::vector<std::byte> bytes(
        StateHeader::size + CounterRecord::size + state.self_tests.size() * abi::nvme::SelfTestResult::size +
        state.features.size() * FeatureRecord::size + state.namespaces.size() * NamespaceRecord::size);
    const std::span<std::byte> all(bytes);
    const abi::View<StateHeader> header(all.first(StateHeader::size));
    header.set<"magic">(state_magic)
        .set<"version">(state_version)
        .set<"length">(static_cast<std::uint32_t>(bytes.size()))
        .set<"generation">(state.generation)
        .set<"configured">(state.configured)
        .set<"features">(static_cast<std::uint32_t>(state.features.size()))
        .set<"namespaces">(static_cast<std::uint32_t>(state.namespaces.size()))
        .set<"sanitize">(state.sanitize.state)
        .set<"sanitize_command">(state.sanitize.command)
        .set<"sanitize_pattern">(state.sanitize.pattern)
        .set<"self_tests">(static_cast<std::uint32_t>(state.self_tests.size()));
    auto rest = all.subspan(StateHeader::size);
    encode(state, abi::View<CounterRecord>(rest.first(CounterRecord::size)));
    rest = rest.subspan(CounterRecord::size);
    for (const auto& result : state.self_tests) {
        std::ranges::copy(result.bytes, rest.begin());
        rest = rest.subspan(result.bytes.size());
    }
    for (const auto& feature : state.features) {
        abi::View<FeatureRecord>(rest.first(FeatureRecord::size))
            .set<"feature">(feature.feature)
            .set<"selector">(feature.selector)
            .set<"value">(feature.value);
        rest = rest.subspan(FeatureRecord::size);
    }
    for (const auto& one : state.namespaces) {
        encode(one, abi::View<NamespaceRecord>(rest.first(NamespaceRecord::size)));
        rest = rest.subspan(NamespaceRecord::size);
    }
    header.set<"checksum">(checksum_of(bytes));
    return bytes;
}

std::expected<KeptState, std::string> decode(std::span<const std::byte> bytes, const SpaceConfig& config) {
    const auto wrong = [](std::string what) { return std::unexpected(std::move(what)); };
    if (bytes.size() < StateHeader::size)
        return wrong("is cut: it has " + std::to_string(bytes.size()) + " bytes, its header alone 64");
    const abi::ConstView<StateHeader> header(bytes.first(StateHeader::size));
    if (header.get<"magic">() != state_magic)
        return wrong("is not the state of an NVMe drive");
    const auto version = header.get<"version">();
    if (version == 0 || version > state_version)
        return wrong("is of version " + std::to_string(version) + ", and versions 1 and 2 are known");
    const std::uint64_t features = header.get<"features">(), namespaces = header.get<"namespaces">();
    const std::uint64_t counters = version == 1 ? 0 : 1, self_tests = version == 1 ? 0 : header.get<"self_tests">();
    if (header.get<"length">() != bytes.size() || bytes.size() != StateHeader::size + counters * CounterRecord::size +
                                                                      self_tests * abi::nvme::SelfTestResult::size +
                                                                      features * FeatureRecord::size +
                                                                      namespaces * NamespaceRecord::size)
        return wrong("is cut, or has more than it says");
    if (header.get<"checksum">() != checksum_of(bytes))
        return wrong("is damaged: its checksum is another one");
    constexpr std::uint32_t done = 1, done_not_deallocated = 4;
    KeptState state{
        .generation = header.get<"generation">(),
        .configured = header.get<"configured">(),
        .sanitize = {header.get<"sanitize">(), header.get<"sanitize_command">(), header.get<"sanitize_pattern">()},
        .counters = {},
        .test = {},
        .self_tests = {},
        .features = {},
        .namespaces = {}};
    if (state.sanitize.state > done_not_deallocated)
        return wrong("has a sanitize operation in a state that there is not");
    // An earlier version wrote 4 where the host had asked for no deallocation, and there was none: that is a success as
    // others are (NVMe base 2.0 "Sanitize Status", 100b is of a deallocation in spite of that).
    if (state.sanitize.state == done_not_deallocated)
        state.sanitize.state = done;
    if (self_tests > abi::nvme::self_test_results)
        return wrong("has results of more self-tests than are kept");
    auto rest = bytes.subspan(StateHeader::size);
    if (counters != 0) {
        decode(abi::ConstView<CounterRecord>(rest.first(CounterRecord::size)), state);
        rest = rest.subspan(CounterRecord::size);
    }
    constexpr std::uint32_t most_test_code = 2;
    if (state.test.code > most_test_code)
        return wrong("has a self-test under way that there is not");
    for (std::uint64_t i = 0; i < self_tests; ++i, rest = rest.subspan(abi::nvme::SelfTestResult::size))
        std::ranges::copy(rest.first(abi::nvme::SelfTestResult::size), state.self_tests.emplace_back().bytes.begin());
    for (std::uint64_t i = 0; i < features; ++i, rest = rest.subspan(FeatureRecord::size)) {
        const abi::ConstView<FeatureRecord> record(rest.first(FeatureRecord::size));
        state.features.push_back({record.get<"feature">(), record.get<"selector">(), record.get<"value">()});
    }
    std::uint32_t before = 0;
    for (std::uint64_t i = 0; i < namespaces; ++i, rest = rest.subspan(NamespaceRecord::size)) {
        KeptNamespace one;
        const auto what = decode(abi::ConstView<NamespaceRecord>(rest.first(NamespaceRecord::size)), config, one);
        if (!what.empty())
            return wrong("namespace " + std::to_string(one.nsid) + " " + std::string(what));
        if (one.nsid <= before || one.nsid > config.max_namespaces)
            return wrong("has a namespace " + std::to_string(one.nsid) + " where there is none");
        if (one.generation == 0 || one.generation > state.generation)
            return wrong("namespace " + std::to_string(one.nsid) + " is of a generation that has not been");
        before = one.nsid;
        state.namespaces.push_back(one);
    }
    return state;
}

} // namespace model::nvme
