#include "testbench/hcasim/observers.h"

#include <fmt/format.h>

#include <utility>

namespace hcasim {

using platform::observe::Capture;
using platform::observe::Explain;
using platform::observe::Log;

std::expected<std::unique_ptr<Observers>, std::string> Observers::create(const ObserverOptions& options) {
    std::unique_ptr<Observers> observers(new Observers(options));
    if (!options.events.empty()) {
        auto log = Log::create(options.events, observers->sources_);
        if (!log)
            return std::unexpected(log.error());
        observers->log_ = std::move(*log);
        observers->add(*observers->log_);
    }
    if (!options.explain.empty()) {
        auto explain = Explain::create(options.explain, observers->sources_);
        if (!explain)
            return std::unexpected(explain.error());
        observers->explain_ = std::move(*explain);
        observers->add(*observers->explain_);
    }
    if (!options.pcap.empty()) {
        auto capture = Capture::create(options.pcap);
        if (!capture)
            return std::unexpected(capture.error());
        observers->capture_ = std::move(*capture);
    }
    return observers;
}

void Observers::settle() {
    if (explain_)
        explain_->settle();
}

std::expected<void, std::string> Observers::close() {
    const auto failed = [](const std::string& path) { return std::unexpected(fmt::format("{}: cannot be written to its end", path)); };
    if (explain_ && !explain_->finish())
        return failed(options_.explain == "-" ? "standard error" : options_.explain);
    if (log_ && !log_->flush())
        return failed(options_.events);
    if (capture_)
        if (const auto closed = capture_->close(); !closed)
            return std::unexpected(closed.error());
    return {};
}

} // namespace hcasim
