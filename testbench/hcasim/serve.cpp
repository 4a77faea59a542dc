#include "testbench/hcasim/serve.h"

#include "platform/bridge/vfio_user/pump.h"
#include "platform/bridge/vfio_user/server.h"
#include "platform/topology/effect.h"
#include "platform/topology/platform_module.h"
#include "platform/topology/read.h"
#include "testbench/hcasim/holdings.h"
#include "testbench/hcasim/observers.h"
#include "testbench/hcasim/polling.h"
#include "testbench/hcasim/record.h"
#include "testbench/hcasim/report.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/scenario/counting.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

namespace hcasim {
namespace {

namespace vfio_user = platform::bridge::vfio_user;

/// Nobody may be reading any more: then it is said to nobody, and SIGPIPE ends the server.
void say(std::string_view line) {
    const auto text = fmt::format("{}\n", line);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

/// As nohup has it for SIGHUP.
bool is_ignored(int signal) {
    struct sigaction action{};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Each command of a driver as a line, when it is done.
class Commands final : public traces::Sink {
public:
    explicit Commands(const platform::observe::Sources& sources) : sources_(sources) {}
    void on(const traces::Stamp& stamp, const traces::Event& event) override {
        const auto* command = std::get_if<traces::CommandExecuted>(&event);
        if (command == nullptr)
            return;
        const auto name =
            command->command.empty() ? fmt::format("opcode {:#x}", command->opcode) : std::string(command->command);
        auto line = fmt::format("{:>14.6f} s  {}  {}", static_cast<double>(stamp.time_ps) * 1e-12,
                                sources_.name(stamp.source), name);
        if (command->op_mod != 0)
            line += fmt::format(" op_mod {:#x}", command->op_mod);
        if (command->status != 0)
            line += fmt::format("  REFUSED: status {:#x}, syndrome {:#x}: {}", command->status, command->syndrome,
                                command->why);
        say(line);
    }

private:
    const platform::observe::Sources& sources_;
};

void say_how_to_attach(platform::topology::Platform& platform, const vfio_user::Server& server) {
    for (auto& machine : platform.machines()) {
        if (!machine.guest)
            continue;
        say(fmt::format("machine {}: QEMU 10.1 or later with\n  {}", machine.name, vfio_user::print_qemu_memory("1G")));
        for (std::size_t i = 0; i < machine.guest->function_count(); ++i)
            for (const auto& listener : server.listeners())
                if (&listener->function() == &machine.guest->function(i))
                    say(fmt::format("{}: {}\n  {}", listener->function().name(), listener->path(),
                                    vfio_user::print_qemu_device(listener->path(), static_cast<unsigned>(i) + 1)));
    }
}

/// On SIGUSR1: how doorbells of polled cards came, and what each card holds.
void listen_for_questions(boost::asio::signal_set& questions, platform::topology::Platform& platform,
                          const Polling& polling) {
    questions.async_wait([&](const boost::system::error_code& error, int) {
        if (error)
            return;
        polling.count(say);
        for (const auto& at : platform.description().hcas)
            if (const auto& host = platform.description().hosts[at.host]; platform.machines()[at.host].guest)
                say(fmt::format("{}.{} holds {}", host.served_name, platform.description().part(at).name,
                                print_holdings(platform.card(at).mlx5().firmware())));
        listen_for_questions(questions, platform, polling);
    });
}

/// What was recorded is in the file a moment later, also where then nothing more happens.
class Flusher {
public:
    Flusher(boost::asio::io_context& io, platform::record::Recording& recording) : timer_(io), recording_(recording) {}
    void look() {
        if (is_armed_ || recording_.is_flushed())
            return;
        is_armed_ = true;
        timer_.expires_after(std::chrono::milliseconds{250});
        timer_.async_wait([this](const boost::system::error_code& error) {
            is_armed_ = false;
            if (!error)
                recording_.flush();
        });
    }

private:
    boost::asio::steady_timer timer_;
    platform::record::Recording& recording_;
    bool is_armed_ = false;
};

/// The hosts that say so, or all.
platform::topology::Served served_of(const platform::topology::Config& config) {
    const auto described = platform::topology::describe(config).value(); // which read_config has tried
    return std::ranges::any_of(described.hosts, &platform::topology::DescribedHost::is_served)
               ? platform::topology::Served::as_described
               : platform::topology::Served::all;
}

} // namespace

int serve(const ServeOptions& options) {
    auto overrides = options.overrides;
    if (options.polled_doorbells)
        overrides.emplace_back("hca.polled_doorbells=true");
    const auto config = platform::topology::read_config(options.config, overrides);
    if (!config)
        return refuse(config.error());

    auto files = files_of(options.observe, options.config);
    files.push_back(file_of(options.record));
    if (const auto apart = are_apart(files); !apart)
        return refuse(apart.error());
    // Its files are read while it runs. One that cannot be written is told at once, but takes nobody's card away.
    bool is_output_lost = false;
    const auto tell_loss = [&](const std::string& why) {
        is_output_lost = true;
        refuse(why);
    };
    const auto observers = Observers::create(
        options.observe, {.appears = platform::observe::files::Output::Appears::at_once, .on_failure = tell_loss});
    if (!observers)
        return refuse(observers.error());
    auto& observed = **observers;
    Commands commands(observed.sources());
    if (options.commands)
        observed.add(commands);

    const auto recording = make_recording(options.record, *config);
    if (!recording)
        return refuse(recording.error());
    auto* recorded = recording->get();
    if (recorded != nullptr && recorded->events() != nullptr)
        observed.add(*recorded->events());

    std::optional<platform::topology::Platform> built;
    try {
        built.emplace(*config, observed.sink(), observed.sources(), served_of(*config), recorded);
    } catch (const std::exception& error) { // the file of a drive's medium is not what it should be
        return refuse(fmt::format("the platform cannot be built: {}", error.what()));
    }
    auto& platform = *built;
    platform.begin_failures({});
    if (auto* capture = observed.capture())
        scenario::tap(platform, *capture);

    auto polling = Polling::create(platform);
    if (!polling)
        return refuse(polling.error());
    if (options.polled_doorbells && polling->is_empty())
        return refuse("--polled-doorbells: no HCA of the platform is served");

    boost::asio::io_context io;
    vfio_user::Pump pump(io);
    boost::asio::signal_set signals(io, SIGINT, SIGTERM);
    for (const int gone : {SIGHUP, SIGPIPE}) // its terminal, or who read what it says
        if (!is_ignored(gone))
            signals.add(gone);
    signals.async_wait([&](const boost::system::error_code& error, int) {
        if (!error)
            pump.stop();
    });
    boost::asio::signal_set questions(io, SIGUSR1);
    listen_for_questions(questions, platform, *polling);
    std::optional<Flusher> flusher;
    if (recorded != nullptr) {
        flusher.emplace(io, *recorded);
        recorded->on_failure([&](const std::string& why) {
            tell_loss(why);
            if (options.record.failure == RecordFailure::stop)
                pump.stop();
        });
    }
    vfio_user::Server::Hooks hooks;
    hooks.before = [&] { pump.catch_up(); };
    hooks.connected = [](const auto& function) { say(fmt::format("{}: a client", function.name())); };
    hooks.disconnected = [](const auto& function, auto why) {
        say(fmt::format("{}: no client any more: {}", function.name(), why));
    };
    std::vector<vfio_user::GuestModule*> guests;
    for (const auto& machine : platform.machines())
        if (machine.guest)
            guests.push_back(machine.guest.get());
    auto server = vfio_user::Server::create(io, guests, options.socket_directory, hooks);
    if (!server)
        return refuse(server.error());
    pump.is_waiting = [&] { return !std::ranges::all_of(guests, [](const auto* guest) { return guest->is_quiet(); }); };
    if (!polling->is_empty()) {
        pump.poll = [&] { return polling->poll(); };
        pump.is_polling = [&] { return polling->is_polling(); };
    }
    pump.on_idle = [&] {
        polling->tell(say);
        if (!platform.is_quiet())
            return;
        platform.guest_files().sweep();
        observed.flush();
        if (flusher)
            flusher->look();
    };

    for (const auto& key : platform::topology::idle_keys(*config, platform::topology::Work::of_drivers))
        say(fmt::format("note: {}: '{}' has no effect: {}", key.where, key.path, key.why));
    say(print_topology(*config));
    say_how_to_attach(platform, **server);
    say(fmt::format("serving {} functions; an interrupt (Ctrl-C) ends it", (*server)->listeners().size()));
    pump.run();
    (*server)->close();

    if (const auto closed = observed.close(); !closed && !is_output_lost)
        tell_loss(closed.error()); // of an output that does not tell by itself
    if (recorded != nullptr)
        if (const auto closed = recorded->close(); !closed)
            tell_loss(closed.error());
    return is_output_lost ? status::output_lost : status::good;
}

} // namespace hcasim
