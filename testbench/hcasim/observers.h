// The observers that a person asks for on the command line, whichever command it is: the log of events, the capture of
// the cable, the explanations of what fails. Makes them and binds them to one sink; finishes their files at the end.
#pragma once

#include "platform/observe/diagnostics/explain.h"
#include "platform/observe/event.h"
#include "platform/observe/fanout.h"
#include "platform/observe/files/capture.h"
#include "platform/observe/files/log.h"
#include "platform/observe/files/output.h"
#include "testbench/hcasim/command_line.h"
#include "testbench/hcasim/files.h"

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hcasim {

class Observers {
public:
    struct Files {
        platform::observe::files::Output::Appears appears = platform::observe::files::Output::Appears::finished;
        /// Told once a file, with the reason, when it cannot be written.
        std::function<void(const std::string& why)> on_failure{};
    };
    /// The error is one line: a file that cannot be created.
    static std::expected<std::unique_ptr<Observers>, std::string> create(const ObserverOptions& options,
                                                                         const Files& files);
    Observers(const Observers&) = delete;
    Observers& operator=(const Observers&) = delete;

    platform::observe::Sources& sources() { return sources_; }
    /// One more; it outlives the platform.
    void add(traces::Sink& sink) { fanout_.add(sink); }
    /// What the platform emits to; null when nobody listens, which costs least.
    traces::Sink* sink() { return fanout_.is_empty() ? nullptr : &fanout_; }
    /// Null when no capture was asked for.
    platform::observe::files::Capture* capture() { return capture_.get(); }

    /// Nothing is under way: what waits for more is printed, and events are in their file.
    void flush();
    /// After the last event. The error is one line: the first file that could not be written to its end.
    std::expected<void, std::string> close();

private:
    Observers() = default;

    platform::observe::Sources sources_;
    platform::observe::Fanout fanout_;
    std::unique_ptr<platform::observe::files::Log> log_;
    std::unique_ptr<platform::observe::diagnostics::Explain> explain_;
    std::unique_ptr<platform::observe::files::Capture> capture_;
};

/// What `options` names, with the file that has the configuration, for are_apart().
std::vector<NamedFile> files_of(const ObserverOptions& options, const std::string& config);

} // namespace hcasim
