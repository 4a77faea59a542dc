#include "testbench/hcasim/reduce.h"

#include "abi/prm/cqe.h"
#include "testbench/hcasim/replay_text.h"
#include "testbench/hcasim/trace_files.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/program/units.h"

#include <fmt/format.h>

#include <algorithm>

namespace hcasim {

namespace codec = traces::codec;
using platform::record::DeviceInterfaces;
using platform::record::Divergence;
using platform::record::Sighting;
using platform::record::Step;
using Clock = std::chrono::steady_clock;

namespace {

/// What is done: without time and content, and without the address, which another entry of a ring has in a shorter
/// life.
std::string deed(const Step& step) {
    return fmt::format("{} {} of {}, {} bytes, signal {} port {} number {}", static_cast<unsigned>(step.what),
                       static_cast<unsigned>(step.direction), step.place, step.length,
                       static_cast<unsigned>(step.signal), step.told.port, step.told.number);
}

/// Where a write of a completion says when that was, and the signature over it: in a shorter life, where it waits for
/// fewer others, it may be sooner. Nothing of other writes, and of errors, which say what happened in the same bytes.
bool says_when(std::span<const std::byte> written, std::size_t at) {
    using Cqe = abi::prm::Cqe64;
    using Timestamp = Cqe::field<"timestamp">;
    if (written.size() < Cqe::size)
        return false;
    const auto entry = written.last<Cqe::size>();
    const abi::ConstView<Cqe> cqe(entry);
    const auto opcode = cqe.get<"opcode">();
    if (cqe.get<"signature">() != abi::prm::cqe_signature(entry) || opcode == abi::prm::CqeOpcode::req_err ||
        opcode == abi::prm::CqeOpcode::resp_err)
        return false;
    const auto begin = written.size() - Cqe::size;
    return at == begin + abi::prm::cqe_signature_offset ||
           (at >= begin + Timestamp::offset && at < begin + Timestamp::offset + sizeof(std::uint64_t));
}

/// Which bytes are not the same.
std::string differing(std::span<const std::byte> expected, std::span<const std::byte> actual) {
    constexpr std::size_t most_told = 64;
    std::string text;
    std::size_t told = 0;
    for (std::size_t i = 0; i < std::min(expected.size(), actual.size()) && told < most_told; ++i)
        if (expected[i] != actual[i] && !says_when(expected, i))
            text += fmt::format(" {}", i), ++told;
    return expected.size() == actual.size() ? text
                                            : text + fmt::format(" length {} {}", expected.size(), actual.size());
}

/// The device's interfaces where a trace has no others.
DeviceInterfaces alone(const DeviceInterfaces& interfaces) {
    DeviceInterfaces own;
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < interfaces.functions.size(); ++i)
        own.functions.push_back(next++);
    for (const auto& port : interfaces.ports)
        own.ports.push_back({next++, port.encapsulation});
    return own;
}
std::vector<std::uint32_t> numbers_of(const DeviceInterfaces& interfaces) {
    auto numbers = interfaces.functions;
    for (const auto& port : interfaces.ports)
        numbers.push_back(port.interface);
    return numbers;
}

/// Plays one device of one trace after the other.
class Player {
public:
    explicit Player(const MakeFor& make) : make_(make) {}

    std::optional<Divergence> play(codec::Source& trace, const RecordedPart& part, const traces::tool::OpenTrace& again,
                                   ReplayMode mode) const {
        codec::Reader reader(trace);
        if (!reader.open())
            return std::nullopt;
        return hcasim::play(reader, part, mode, make_ ? make_(again, part) : MakeRecorded(make_recorded)).divergence;
    }

private:
    const MakeFor& make_;
};

/// A source that hands its bytes out again and again.
class Copied final : public codec::Source {
public:
    explicit Copied(std::span<const std::byte> bytes) : left_(bytes) {}
    std::expected<std::size_t, std::string> read(std::span<std::byte> into) override {
        const auto count = std::min(into.size(), left_.size());
        std::ranges::copy(left_.first(count), into.begin());
        left_ = left_.subspan(count);
        return count;
    }

private:
    std::span<const std::byte> left_;
};
std::vector<std::byte> bytes_of(codec::Source& source) {
    constexpr std::size_t piece = 1 << 20;
    std::vector<std::byte> bytes;
    for (;;) {
        const auto size = bytes.size();
        bytes.resize(size + piece);
        const auto got = source.read(std::span(bytes).subspan(size));
        bytes.resize(size + got.value_or(0));
        if (!got || *got == 0)
            return bytes;
    }
}

struct Found {
    const RecordedPart* part = nullptr;
    std::optional<Divergence> divergence;
};

} // namespace

std::uint64_t record_of(const Divergence& divergence) {
    return divergence.record != 0 ? divergence.record : divergence.call;
}
std::string where(const Divergence& divergence, std::uint64_t record) {
    return fmt::format("{} {} record {}", platform::record::name(divergence.kind),
                       divergence.record != 0 ? "at" : "in the course of", record);
}

std::string sameness(const Divergence& divergence) {
    // What else is not the same in its call counts, too: else calls could go that only what is behind it needs.
    const auto text = fmt::format("{} with {} others", platform::record::name(divergence.kind), divergence.others);
    const auto& expected = divergence.expected_step;
    const auto& actual = divergence.actual_step;
    if (divergence.kind == Divergence::Kind::time || !actual)
        return text;
    if (divergence.kind != Divergence::Kind::field || !expected)
        return fmt::format("{}: {}", text, deed(*actual));
    if (deed(*expected) != deed(*actual))
        return fmt::format("{}: {} for {}", text, deed(*actual), deed(*expected));
    if (expected->address != actual->address)
        return text + ": address";
    if (expected->status != actual->status)
        return text + ": status";
    if (expected->told.value != actual->told.value)
        return text + ": value";
    return fmt::format("{}: bytes{}", text, differing(expected->bytes, actual->bytes));
}

int reduce(const ReduceOptions& options, const MakeFor& make) {
    if (const auto apart = is_apart_from(options.trace, "--out", options.out); !apart)
        return refuse(apart.error());
    if (const auto again = can_be_read_again(options.trace); !again)
        return refuse(again.error());
    const auto begin = Clock::now();
    const auto open = [&] { return open_trace(options.trace); };
    auto source = open();
    if (!source)
        return refuse(source.error());
    auto result = TraceResult::create(options.out); // before all the work whose result it gets
    if (!result)
        return refuse(result.error());
    codec::Reader reader(**source);
    if (const auto opened = reader.open(); !opened)
        return end_trace(options.trace, {.fault = opened.error()});
    std::vector<std::string> wanted;
    if (!options.part.empty())
        wanted.push_back(options.part);
    const auto bench = read_bench(reader.head(), options.trace, options.overrides, wanted);
    if (!bench)
        return refuse(bench.error());

    const Player player(make);
    Found found;
    for (const auto& part : bench->parts) {
        const auto whole = open();
        if (!whole)
            return refuse(whole.error());
        if ((found.divergence = player.play(**whole, part, open, options.mode))) {
            found.part = &part;
            break;
        }
    }
    if (!found.divergence)
        return refuse(fmt::format("{}: nothing to look for: {} as it was recorded (--{})", options.trace,
                                  bench->parts.size() == 1 ? "the device does" : "each device does",
                                  name(options.mode)));
    // Nothing is compared behind a difference of time. Where there is none but for time, none may come into its call.
    bool is_time_alone = found.divergence->kind == Divergence::Kind::time;
    if (is_time_alone) {
        const auto whole = open();
        if (!whole)
            return refuse(whole.error());
        const auto other = player.play(**whole, *found.part, open, ReplayMode::untimed);
        is_time_alone = !other || other->call != found.divergence->call;
    }
    if (record_of(*found.divergence) == 0)
        return refuse(fmt::format("{}: {}: the device differs while it is made, before the first record ({}): there "
                                  "is no call to leave out, `hcasim replay` shows all there is",
                                  options.trace, found.part->path, platform::record::name(found.divergence->kind)));
    auto own = *found.part;
    own.interfaces = alone(found.part->interfaces);
    Console console(stderr, Console::Speech::all);
    console.say(fmt::format("{}: {}\n", found.part->path, where(*found.divergence, record_of(*found.divergence))));
    const auto spent = [&] { return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin); };
    std::uint64_t least = ~std::uint64_t{0};
    auto told = Clock::now();
    const platform::record::ReduceOptions how{
        .interfaces = numbers_of(found.part->interfaces),
        .wanted = {sameness(*found.divergence), record_of(*found.divergence)},
        .deadline = begin + options.budget,
        .tell = [&](const platform::record::ReduceProgress& progress) {
            constexpr std::chrono::seconds patience{2};
            if (progress.records >= least || Clock::now() - told < patience)
                return;
            least = progress.records;
            told = Clock::now();
            console.say(fmt::format("  {:>3} s  {} records left after {} replays\n", spent().count() / 1000,
                                    print_count(progress.records), progress.plays));
        }};
    const auto reduced = platform::record::reduce(
        open, how,
        [&](codec::Source& trace) -> std::optional<Sighting> {
            const auto bytes = bytes_of(trace);
            const auto play = [&](ReplayMode mode) {
                Copied copied(bytes);
                return player.play(
                    copied, own,
                    [&]() -> std::expected<std::unique_ptr<codec::Source>, std::string> {
                        return std::make_unique<Copied>(bytes);
                    },
                    mode);
            };
            const auto divergence = play(options.mode);
            if (!divergence || (is_time_alone && play(ReplayMode::untimed)))
                return std::nullopt;
            return Sighting{sameness(*divergence), record_of(*divergence)};
        },
        *result);
    if (!reduced)
        return refuse(fmt::format("{}: {}", options.trace, reduced.error()));
    if (const auto finished = result->finish(); !finished) {
        complain(fmt::format("hcasim: {}\n", finished.error()));
        return status::output_lost;
    }
    const auto ended = reduced->is_only_cut      ? "cut behind the difference; it is too long to leave out more"
                       : reduced->is_out_of_time ? "the least that was found in this time"
                                                 : "of which no call can be left out";
    auto text = fmt::format("{}: {} records, {} ({} up to the difference; {} replays, {}.{} s)\n", options.out,
                            print_count(reduced->records), ended, print_count(reduced->records_cut), reduced->plays,
                            spent().count() / 1000, spent().count() % 1000 / 100);
    text += fmt::format("{}\nagain: hcasim replay {} --{}", where(*found.divergence, reduced->record),
                        shell_word(options.out), name(options.mode));
    for (const auto& override_text : options.overrides)
        text += fmt::format(" --set {}", shell_word(override_text));
    text += "\n";
    auto out = TraceResult::standard_output();
    static_cast<void>(out.write(std::as_bytes(std::span(text))));
    if (const auto finished = out.finish(); !finished) {
        complain(fmt::format("hcasim: {}\n", finished.error()));
        return status::output_lost;
    }
    return status::good;
}

} // namespace hcasim
