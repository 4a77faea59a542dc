#include "model/nvme/admin/background.h"

#include <algorithm>
#include <vector>

namespace model::nvme {

using abi::nvme::all_namespaces;
using abi::nvme::DeviceSelfTest;
using port::Time;

namespace {

constexpr std::uint8_t short_test = 1, extended_test = 2, abort_code = 0xf;
constexpr int extended_factor = 10;
constexpr std::uint8_t reading_segment = 6; // "Media" comes behind RAM, SMART, volatile memory, metadata and NVM check
constexpr std::uint8_t nsid_valid = 1, lba_valid = 2;
constexpr std::uint16_t not_under_way = 0xffff;
constexpr std::uint32_t exit_failure = 1;

/// A Sanitize command whose dword 10 is this.
abi::Block<abi::nvme::Sanitize> fields_of(std::uint32_t cdw10) {
    abi::Block<abi::nvme::Sanitize> block;
    abi::View<abi::nvme::Command>(block.bytes).set<"cdw10">(cdw10);
    return block;
}

/// How much of [begin, end) has passed, of `whole`.
std::uint32_t part(Time begin, Time end, Time now, std::uint32_t whole) {
    if (now >= end || end <= begin)
        return whole;
    return static_cast<std::uint32_t>(static_cast<double>((now - begin).count()) /
                                      static_cast<double>((end - begin).count()) * whole);
}

} // namespace

Background::Background(const NvmeConfig& config, Namespaces& spaces, const Health& health)
    : config_(config), spaces_(spaces), health_(health), is_erased_(true) {
    for (std::uint32_t number = 1; number <= spaces.max(); ++number)
        if (const auto* space = spaces.allocated(number); space != nullptr && space->medium().next_data(0))
            is_erased_ = false;
    resume();
}

/// A sanitize operation survives a loss of power, and so does an extended self-test: they begin anew.
void Background::resume() {
    const auto& kept = spaces_.kept().sanitize;
    state_ = static_cast<State>(kept.state);
    sanitize_command_ = kept.command;
    may_exit_ = fields_of(kept.command).view().get<"ause">();
    if (state_ == State::failed)
        spaces_.set_hold(Status::sanitize_failed);
    if (state_ == State::under_way)
        begin_sanitize(fields_of(kept.command).view(), kept.pattern, {});
    if (const auto [code, nsid] = spaces_.kept().test; code != 0) {
        begin_test(static_cast<std::uint8_t>(code), nsid, {});
        if (code == short_test)
            end_test(TestResult::aborted_by_reset, {});
    }
}

void Background::begin_sanitize(abi::ConstView<abi::nvme::Sanitize> command, std::uint32_t pattern, Time at) {
    auto done = at;
    const bool is_deallocated = !command.get<"no_deallocate">();
    const auto outcome =
        spaces_.sanitize(static_cast<SanitizeAction>(command.get<"sanact">()), pattern, is_deallocated, done);
    sanitize_ =
        Operation{.begin = at, .end = std::max(done, at + config_.sanitize_time), .has_failed = !outcome.is_ok()};
    spaces_.set_hold(Status::sanitize_in_progress);
}

Refusal Background::keep(State state) {
    auto& kept = spaces_.kept().sanitize;
    const auto before = std::exchange(kept.state, static_cast<std::uint32_t>(state));
    const auto refusal = spaces_.save();
    if (refusal.is_ok())
        state_ = state;
    else
        kept.state = before;
    return refusal;
}

Refusal Background::self_test(abi::ConstView<abi::nvme::Command> command, Time at) {
    const auto code = static_cast<std::uint8_t>(
        abi::ConstView<DeviceSelfTest>(std::span<const std::byte>(command.bytes())).get<"stc">());
    const auto nsid = command.get<"nsid">();
    if (code == abort_code) {
        abort_test(TestResult::aborted_by_command, std::nullopt, at);
        return {};
    }
    if (code != short_test && code != extended_test)
        return refuse(Status::invalid_field, parameter_of<DeviceSelfTest, "stc">());
    if (nsid != 0 && nsid != all_namespaces) {
        if (!spaces_.is_valid(nsid))
            return refuse(Status::invalid_namespace, parameter_of<abi::nvme::Command, "nsid">());
        if (const auto found = spaces_.active(nsid); found.space == nullptr)
            return found.refusal;
    }
    if (is_sanitizing())
        return fail(Status::sanitize_in_progress);
    if (test_)
        return fail(Status::self_test_in_progress);
    spaces_.kept().test = {code, nsid};
    if (const auto refusal = spaces_.save(); !refusal.is_ok()) {
        spaces_.kept().test = {};
        return refusal;
    }
    begin_test(code, nsid, at);
    return {};
}

void Background::begin_test(std::uint8_t code, std::uint32_t nsid, Time at) {
    const auto length = config_.self_test_time * (code == extended_test ? extended_factor : 1);
    test_ = Test{.code = code, .nsid = nsid, .begin = at, .end = at + length};
}

/// A short test looks at the controller alone; an extended one reads every block that is allocated.
std::optional<Background::Bad> Background::find_bad(std::uint32_t nsid, Time at) const {
    std::vector<std::byte> bytes(64 << 10);
    for (std::uint32_t number = 1; number <= spaces_.max(); ++number) {
        auto* space = spaces_.allocated(number);
        if (space == nullptr || !space->is_attached() || (nsid != all_namespaces && nsid != number))
            continue;
        auto& medium = space->medium().bare(); // the test has a time of its own
        const auto size = space->blocks() * space->shape().data_bytes();
        for (std::uint64_t from = 0; from < size;) {
            const auto extent = medium.next_data(from);
            if (!extent || extent->begin >= size)
                break;
            for (from = std::max(from, extent->begin); from < std::min(extent->end, size);) {
                const auto length = std::min({bytes.size(), extent->end - from, size - from});
                const auto read = medium.read(from, std::span(bytes).first(length), at);
                if (!read.is_ok())
                    return Bad{number, space->block_of(read.status == MediumStatus::no_answer ? from : read.where)};
                from += length;
            }
        }
        if (const auto bad = space->uncorrectable().find(0, space->blocks(), true))
            return Bad{number, *bad};
    }
    return std::nullopt;
}

void Background::end_test(TestResult result, Time at) {
    const auto test = *std::exchange(test_, std::nullopt);
    abi::Block<abi::nvme::SelfTestResult> entry;
    const auto view = entry.view();
    view.set<"poh">(health_.hours(at));
    if (test.nsid != 0)
        view.set<"nsid">(test.nsid).set<"vdi">(nsid_valid);
    if (result == TestResult::passed && test.code == extended_test && test.nsid != 0)
        if (const auto bad = find_bad(test.nsid, test.end)) {
            result = TestResult::segment_failed;
            view.set<"seg">(reading_segment)
                .set<"nsid">(bad->nsid)
                .set<"flba">(bad->lba)
                .set<"vdi">(nsid_valid | lba_valid);
        }
    view.set<"result">(static_cast<std::uint32_t>(result)).set<"code">(test.code);
    auto& kept = spaces_.kept();
    kept.self_tests.insert(kept.self_tests.begin(), entry);
    if (kept.self_tests.size() > abi::nvme::self_test_results)
        kept.self_tests.pop_back();
    kept.test = {};
    static_cast<void>(spaces_.save()); // if it cannot be written down, the next process tests again
}

void Background::abort_test(TestResult result, std::optional<std::uint32_t> nsid, Time at) {
    if (!test_ || (nsid && test_->nsid != all_namespaces && *nsid != all_namespaces && test_->nsid != *nsid))
        return;
    end_test(test_->end <= at ? TestResult::passed : result, at);
}

void Background::is_formatted(std::uint32_t nsid, Time at) { abort_test(TestResult::namespace_formatted, nsid, at); }
void Background::is_removed(std::uint32_t nsid, Time at) { abort_test(TestResult::namespace_removed, nsid, at); }

void Background::reset(Time at) {
    if (test_ && test_->code == short_test)
        abort_test(TestResult::aborted_by_reset, std::nullopt, at);
}

Refusal Background::sanitize(abi::ConstView<abi::nvme::Sanitize> command, Time at) {
    const auto action = command.get<"sanact">();
    if (is_sanitizing())
        return fail(Status::sanitize_in_progress);
    if (action == exit_failure) {
        if (!has_failed())
            return {};
        if (!may_exit_)
            return fail(Status::sanitize_failed);
        if (const auto refusal = keep(State::never); !refusal.is_ok())
            return refusal;
        spaces_.set_hold(Status::success);
        return {};
    }
    if (action < static_cast<std::uint32_t>(SanitizeAction::block_erase) ||
        action > static_cast<std::uint32_t>(SanitizeAction::cryptographic_erase))
        return refuse(Status::invalid_field, parameter_of<abi::nvme::Sanitize, "sanact">());
    // After one that had to end well, only another one that has to helps.
    if (has_failed() && !may_exit_ && command.get<"ause">())
        return fail(Status::sanitize_failed);
    if (spaces_.has_write_protected())
        return refuse(Status::namespace_write_protected);
    // That it is under way is written down before anything is lost.
    auto& kept = spaces_.kept().sanitize;
    const auto before = kept;
    kept.command = abi::ConstView<abi::nvme::Command>(std::span<const std::byte>(command.bytes())).get<"cdw10">();
    kept.pattern = command.get<"ovrpat">();
    if (const auto refusal = keep(State::under_way); !refusal.is_ok()) {
        kept = before;
        return refusal;
    }
    sanitize_command_ = kept.command;
    may_exit_ = command.get<"ause">();
    abort_test(TestResult::aborted_by_sanitize, std::nullopt, at);
    begin_sanitize(command, kept.pattern, at);
    return {};
}

Time Background::next() const {
    return std::min(test_ ? test_->end : port::never, sanitize_ ? sanitize_->end : port::never);
}

bool Background::advance(Time now) {
    if (test_ && test_->end <= now)
        end_test(TestResult::passed, now);
    if (!sanitize_ || sanitize_->end > now)
        return false;
    const auto operation = *std::exchange(sanitize_, std::nullopt);
    // If this cannot be written down, the next process does all of it again.
    state_ = operation.has_failed ? State::failed : State::done;
    static_cast<void>(keep(state_));
    is_erased_ = !operation.has_failed;
    spaces_.set_hold(operation.has_failed ? Status::sanitize_failed : Status::success);
    return true;
}

void Background::fill_self_test(std::span<std::byte> page, Time now) const {
    constexpr std::byte unused{0xf}; // a result of zero would say that a test has passed
    const auto& results = spaces_.kept().self_tests;
    for (std::size_t i = 0; i < abi::nvme::self_test_results; ++i) {
        const auto entry = page.subspan(4 + i * abi::nvme::SelfTestResult::size, abi::nvme::SelfTestResult::size);
        if (i < results.size())
            std::ranges::copy(results[i].bytes, entry.begin());
        else
            entry[0] = unused;
    }
    if (test_)
        abi::View<abi::nvme::SelfTestLog>(page)
            .set<"current_operation">(test_->code)
            .set<"completion_percent">(std::min(99u, part(test_->begin, test_->end, now, 100)));
}

std::uint32_t Background::passes(Time now) const {
    constexpr std::uint32_t most = 16; // said as 0
    const auto command = fields_of(sanitize_command_);
    if (command.view().get<"sanact">() != static_cast<std::uint32_t>(SanitizeAction::overwrite))
        return 0;
    const auto all = command.view().get<"owpass">() == 0 ? most : command.view().get<"owpass">();
    if (sanitize_)
        return part(sanitize_->begin, sanitize_->end, now, all);
    return state_ == State::done ? all : 0;
}

void Background::fill_sanitize(std::span<std::byte> page, Time now) const {
    constexpr std::uint32_t not_said = 0xffff'ffff;
    const abi::View<abi::nvme::SanitizeLog> log(page);
    log.set<"sprog">(
           sanitize_ ? static_cast<std::uint16_t>(std::min(0xfffeu, part(sanitize_->begin, sanitize_->end, now, 65536)))
                     : not_under_way)
        .set<"status">(static_cast<std::uint32_t>(state_))
        .set<"passes">(passes(now))
        .set<"erased">(is_erased_)
        .set<"scdw10">(sanitize_command_)
        .set<"eto">(not_said)
        .set<"etbe">(not_said)
        .set<"etce">(not_said)
        .set<"etond">(not_said)
        .set<"etbend">(not_said)
        .set<"etcend">(not_said);
}

} // namespace model::nvme
