#include "testbench/hcasim/observers.h"

#include <utility>

namespace hcasim {

using platform::observe::diagnostics::Explain;
using platform::observe::files::Capture;
using platform::observe::files::Log;
using platform::observe::files::Output;

std::expected<std::unique_ptr<Observers>, std::string> Observers::create(const ObserverOptions& options,
                                                                         const Files& files) {
    std::unique_ptr<Observers> observers(new Observers);
    std::string why;
    const auto make = [&](const std::string& path, auto&& use) {
        if (path.empty() || !why.empty())
            return;
        if (auto output = Output::create(path, files.appears)) {
            output->on_failure(files.on_failure);
            use(std::move(*output));
        } else {
            why = output.error();
        }
    };
    make(options.events, [&](Output output) {
        observers->log_ = std::make_unique<Log>(std::move(output), Log::format_of(options.events), observers->sources_);
        observers->add(*observers->log_);
    });
    const auto explain = [&](Output output) {
        observers->explain_ = std::make_unique<Explain>(std::move(output), observers->sources_);
        observers->add(*observers->explain_);
    };
    if (options.explain == "-")
        explain(Output::borrow(stderr, "standard error"));
    else
        make(options.explain, explain);
    make(options.pcap, [&](Output output) { observers->capture_ = std::make_unique<Capture>(std::move(output)); });
    if (!why.empty())
        return std::unexpected(why);
    return observers;
}

void Observers::flush() {
    if (explain_)
        explain_->print_waiting();
    if (log_)
        log_->flush();
}

std::expected<void, std::string> Observers::close() {
    std::expected<void, std::string> outcome;
    const auto finished = [&](std::expected<void, std::string> one) {
        if (outcome && !one)
            outcome = std::move(one);
    };
    if (explain_)
        finished(explain_->finish());
    if (log_)
        finished(log_->finish());
    if (capture_)
        finished(capture_->close());
    return outcome;
}

std::vector<NamedFile> files_of(const ObserverOptions& options, const std::string& config) {
    using enum NamedFile::Use;
    return {{.what = "the configuration", .path = config, .use = input},
            {.what = "--events", .path = options.events, .use = output},
            {.what = "--explain", .path = options.explain == "-" ? std::string() : options.explain, .use = output},
            {.what = "--pcap", .path = options.pcap, .use = output}};
}

} // namespace hcasim
