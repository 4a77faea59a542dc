#include "testbench/hcasim/ranks.h"

#include "platform/ranks/mpi/mpi_exchange.h"
#include "testbench/hcasim/payload.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/program/version.h"
#include "testbench/scenario/result_bytes.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace hcasim {

namespace mpi = platform::ranks::mpi;
using platform::observe::event_type_count;
using platform::observe::count::Digests;
using platform::observe::count::DigestValue;
using platform::ranks::Bytes;
using platform::ranks::Reader;
using platform::ranks::Writer;

std::expected<unsigned, std::string> count_processes(const RunOptions& options) {
    const auto launched = mpi::launched_ranks();
    const auto wanted = options.ranks.value_or(launched);
    if (launched > 1 && wanted != launched)
        return std::unexpected(
            fmt::format("--ranks {}: mpirun has started {} processes; leave one of the two out", wanted, launched));
    if (wanted > 1 && !mpi::is_built_in())
        return std::unexpected(fmt::format("--ranks {}: this program was built without MPI: install libopenmpi-dev and "
                                           "openmpi-bin, and configure and build it again",
                                           wanted));
    return wanted;
}

bool are_to_be_started(unsigned processes) { return processes > 1 && mpi::launched_ranks() == 1; }

namespace {

/// The state that waitpid() has of `child`, when it is over. Signals to this program are for it; those that a terminal
/// sends, it has got itself. `signals` are blocked.
int wait_for_end(pid_t child, const sigset_t& signals) {
    for (;;) {
        siginfo_t got{};
        const auto number = sigwaitinfo(&signals, &got);
        int state = 0;
        if (number == SIGCHLD && waitpid(child, &state, WNOHANG) == child)
            return state;
        if (number > 0 && number != SIGCHLD && got.si_code != SI_KERNEL)
            kill(child, number);
    }
}

/// What mpirun, told to be quiet, leaves to be said.
int tell_end(int state, unsigned processes) {
    if (WIFSIGNALED(state)) {
        complain(fmt::format("hcasim: --ranks {}: mpirun was ended by signal {} ({}), and the run with it\n", processes,
                             WTERMSIG(state), strsignal(WTERMSIG(state))));
        return status::signalled(WTERMSIG(state));
    }
    const auto code = WEXITSTATUS(state);
    const auto number = code - status::signalled(0);
    // A process that is asked to end has said so itself.
    if (number > 0 && number < NSIG && number != SIGINT && number != SIGTERM)
        complain(fmt::format("hcasim: --ranks {}: a process was ended by signal {} ({}), and the others with it; there "
                             "is no result\n",
                             processes, number, strsignal(number)));
    return code;
}

} // namespace

int start(const RunOptions& options, unsigned processes) {
    // mpirun would say so in a page of its own, with the status of a run that was not verified.
    if (geteuid() == 0)
        for (const auto* const name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
            if (const auto* const value = std::getenv(name); value == nullptr || std::string_view(value) != "1")
                return refuse(
                    fmt::format("--ranks {}: mpirun starts nothing for root unless {}=1 is in the environment "
                                "(OMPI_ALLOW_RUN_AS_ROOT and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM both); set it, or be "
                                "another user",
                                processes, name));
    std::array<char, PATH_MAX> self{};
    const auto length = readlink(program_itself, self.data(), self.size() - 1);
    if (length <= 0)
        return refuse(fmt::format("--ranks {}: {}: {}", processes, program_itself, std::strerror(errno)));
    // What they say goes through mpirun, which gives them a terminal where there is none.
    if (width_of(stdout) == 0)
        setenv(no_terminal, "1", 1);
    // More processes than processors is what was asked for. Of a status that is not 0 mpirun would make a page, behind
    // the words that the processes have for it.
    std::vector<std::string> words{"mpirun",   "--quiet", "--oversubscribe", "-n", std::to_string(processes),
                                   self.data()};
    words.insert(words.end(), options.arguments.begin(), options.arguments.end());
    std::vector<char*> arguments;
    for (auto& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    sigset_t signals{}, before{};
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
        sigaddset(&signals, number);
    sigprocmask(SIG_BLOCK, &signals, &before);
    const auto child = fork();
    if (child < 0)
        return refuse(fmt::format("--ranks {}: fork: {}", processes, std::strerror(errno)));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM); // who kills this program means the run
        sigprocmask(SIG_SETMASK, &before, nullptr);
        execvp(arguments.front(), arguments.data());
        _exit(refuse(fmt::format("--ranks {}: mpirun: {}; openmpi-bin has it", processes, std::strerror(errno))));
    }
    const auto state = wait_for_end(child, signals);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return tell_end(state, processes);
}

std::expected<void, std::string> may_be_spread(const RunOptions& options, const scenario::Scenario& scenario,
                                               unsigned processes) {
    if (processes == 1)
        return {};
    if (!scenario.runs_in_processes) {
        std::string able;
        for (const auto& one : scenario::scenarios())
            if (one.runs_in_processes)
                able += fmt::format("{}'{}'", able.empty() ? "" : ", ", one.name);
        return std::unexpected(
            fmt::format("scenario '{}' cannot be spread over {} processes: its hosts are driven from "
                        "one place; those that can are {}",
                        scenario.name, processes, able));
    }
    const std::initializer_list<std::pair<std::string_view, bool>> observers{
        {"--events", !options.observe.events.empty()},
        {"--explain", !options.observe.explain.empty()},
        {"--pcap", !options.observe.pcap.empty()},
        {"--record", !options.record.path.empty()}};
    for (const auto& [name, is_used] : observers)
        if (is_used)
            return std::unexpected(fmt::format("{}: is of one process, which sees all events in their order; {} "
                                               "processes have none; use one",
                                               name, processes));
    return {};
}

bool Readiness::agree(bool is_ready) {
    auto* exchange = std::exchange(exchange_, nullptr);
    if (exchange == nullptr)
        return true;
    const Bytes word{static_cast<std::byte>(is_ready)};
    const auto round = exchange->exchange(model::port::never, std::vector<Bytes>(exchange->ranks(), word));
    return std::ranges::all_of(round.from, [](const Bytes& told) { return told == Bytes{std::byte{1}}; });
}

namespace {

void put(Writer& writer, const Seen& seen) {
    const auto parts = seen.digests.parts();
    writer.put(static_cast<std::uint32_t>(parts.size()));
    for (const auto& part : parts)
        writer.put(part.source), writer.put(part.end), writer.put(part.digest.events), writer.put(part.digest.value);
    writer.put(static_cast<std::uint32_t>(seen.counters.sources()));
    for (std::uint16_t source = 0; source < seen.counters.sources(); ++source)
        for (std::size_t type = 0; type < event_type_count; ++type)
            writer.put(seen.counters.count(type, source));
    for (std::size_t type = 0; type < event_type_count; ++type) {
        const auto& reasons = seen.counters.reasons(type);
        writer.put(static_cast<std::uint32_t>(reasons.size()));
        for (const auto& [reason, count] : reasons)
            writer.put(std::string_view(reason)), writer.put(count);
    }
    scenario::put_queues(writer, seen.queues);
}

bool add(Reader& reader, const platform::observe::Sources& sources, const Seen& seen) {
    for (auto left = reader.get<std::uint32_t>(); left != 0; --left) {
        const auto source = reader.get<std::uint16_t>();
        const auto end = reader.get<std::uint8_t>();
        const auto events = reader.get<std::uint64_t>(), value = reader.get<std::uint64_t>();
        if (!reader.is_good() || source >= sources.size() ||
            !seen.digests.add({.source = source, .end = end, .digest = {events, value}}))
            return false;
    }
    const auto counted = reader.get<std::uint32_t>();
    if (counted > sources.size())
        return false;
    for (std::uint16_t source = 0; source < counted; ++source)
        for (std::size_t type = 0; type < event_type_count; ++type)
            seen.counters.add(type, source, reader.get<std::uint64_t>());
    for (std::size_t type = 0; type < event_type_count; ++type)
        for (auto left = reader.get<std::uint32_t>(); left != 0 && reader.is_good(); --left) {
            const auto reason = reader.get_text();
            seen.counters.add_reason(type, reason, reader.get<std::uint64_t>());
        }
    return scenario::add_queues(reader, seen.queues) && reader.is_complete();
}

} // namespace

void gather(platform::ranks::Exchange& exchange, const platform::observe::Sources& sources, const Seen& seen) {
    std::vector<Bytes> to(exchange.ranks());
    if (exchange.rank() != 0) {
        Writer writer(to[0]);
        put(writer, seen);
    }
    const auto round = exchange.exchange(model::port::never, std::move(to));
    for (unsigned from = 1; exchange.rank() == 0 && from < exchange.ranks(); ++from)
        if (Reader reader(round.from[from]); !add(reader, sources, seen))
            exchange.abandon(fmt::format("what process {} has seen is not of this run", from));
    // Cards are in the order of their components, and each is in one process.
    const auto number = [&](const auto& row) {
        std::uint16_t source = 0;
        while (source < sources.size() && sources.name(source) != row.card)
            ++source;
        return source;
    };
    std::ranges::stable_sort(seen.queues.busiest, {}, number);
    std::ranges::stable_sort(seen.queues.sums, {}, number);
}

} // namespace hcasim
