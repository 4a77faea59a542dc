// What the commands of `hcasim trace` have in common: the recordings that they read, where their results go, how they
// end.
#pragma once

#include "platform/observe/files/output.h"
#include "traces/codec/file.h"
#include "traces/tool/walk.h"

#include <expected>
#include <memory>
#include <string>

namespace hcasim {

/// An error where the file to be written is the one that is read.
std::expected<void, std::string> is_apart_from(const std::string& input, const char* option, const std::string& output);

/// The error names the file and why it cannot be opened.
std::expected<std::unique_ptr<traces::codec::Source>, std::string> open_trace(const std::string& path);

/// An error where a recording that is read more than once is a pipe, which the second reading finds empty.
std::expected<void, std::string> can_be_read_again(const std::string& path);

/// A result: a file that appears when it is complete, or standard output.
class TraceResult final : public traces::codec::Destination {
public:
    static TraceResult standard_output();
    static std::expected<TraceResult, std::string> create(const std::string& path);
    Outcome write(std::span<const std::byte> bytes) override;
    Outcome finish() { return output_.finish(); }
    bool is_empty() const { return is_empty_; }

private:
    explicit TraceResult(platform::observe::files::Output output) : output_(std::move(output)) {}
    platform::observe::files::Output output_;
    bool is_empty_ = true;
};

/// Says on standard error what went wrong, and how far the recording `path` could be read. Returns the status.
int end_trace(const std::string& path, const traces::tool::Outcome& outcome);
/// The same, of what has a result. One without a byte leaves no file, and what stood there stays.
int end_trace(const std::string& path, const traces::tool::Outcome& outcome, TraceResult& result);

} // namespace hcasim
