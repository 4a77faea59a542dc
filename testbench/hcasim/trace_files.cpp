#include "testbench/hcasim/trace_files.h"

#include "testbench/hcasim/files.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

namespace hcasim {

namespace codec = traces::codec;
using platform::observe::files::Output;

std::expected<void, std::string> is_apart_from(const std::string& input, const char* option,
                                               const std::string& output) {
    return are_apart(std::array{NamedFile{.what = "the file to be read", .path = input, .use = NamedFile::Use::input},
                                NamedFile{.what = option, .path = output}});
}

std::expected<std::unique_ptr<codec::Source>, std::string> open_trace(const std::string& path) {
    auto file = codec::FileSource::open(path);
    if (!file)
        return std::unexpected(file.error());
    return std::make_unique<codec::FileSource>(std::move(*file));
}

std::expected<void, std::string> can_be_read_again(const std::string& path) {
    std::error_code ignored; // what is not there is refused by who opens it
    if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
        return std::unexpected(fmt::format("{}: is no file, and is read more than once: write it into one", path));
    return {};
}

TraceResult TraceResult::standard_output() { return TraceResult(Output::borrow(stdout, "standard output")); }

std::expected<TraceResult, std::string> TraceResult::create(const std::string& path) {
    auto output = Output::create(path);
    if (!output)
        return std::unexpected(output.error());
    return TraceResult(std::move(*output));
}

codec::Destination::Outcome TraceResult::write(std::span<const std::byte> bytes) {
    is_empty_ = is_empty_ && bytes.empty();
    if (output_.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
        return {};
    return output_.finish();
}

int end_trace(const std::string& path, const traces::tool::Outcome& outcome) {
    if (outcome.is_good())
        return status::good;
    if (!outcome.fault) {
        refuse(outcome.complaint);
        return outcome.is_output_lost ? status::output_lost : status::refused;
    }
    refuse(fmt::format("{}: {}", path, outcome.fault->text()));
    if (outcome.records != 0)
        refuse(fmt::format("{}: the {} records before it could be read; a digest confirms {} of them", path,
                           outcome.records, outcome.confirmed));
    return status::damaged;
}

int end_trace(const std::string& path, const traces::tool::Outcome& outcome, TraceResult& result) {
    if (outcome.fault && result.is_empty())
        return end_trace(path, outcome);
    const auto finished = result.finish();
    if (finished || outcome.is_output_lost)
        return end_trace(path, outcome);
    refuse(finished.error());
    return status::output_lost;
}

} // namespace hcasim
