#include "platform/observe/log.h"

#include "platform/observe/json.h"

#include <cerrno>
#include <cstring>

namespace platform::observe {
namespace {

constexpr std::size_t flush_at = 1 << 16;

void append_json(fmt::memory_buffer& out, const traces::Stamp& stamp, const traces::Event& event, std::string_view source) {
    fmt::format_to(std::back_inserter(out), "{{\"time_ps\":{},\"source\":", stamp.time_ps);
    append_quoted(out, source);
    fmt::format_to(std::back_inserter(out), ",\"event\":\"{}\"", event_names[event.index()]);
    for_each_member(event, [&]<class T>(std::string_view name, const T& value) {
        fmt::format_to(std::back_inserter(out), ",\"{}\":", name);
        if constexpr (std::is_same_v<T, std::string_view>)
            append_quoted(out, value);
        else if constexpr (std::is_same_v<T, bool>)
            fmt::format_to(std::back_inserter(out), "{}", value);
        else
            fmt::format_to(std::back_inserter(out), "{}", static_cast<std::uint64_t>(value));
    });
    out.append(std::string_view("}\n"));
}

void append_text(fmt::memory_buffer& out, const traces::Stamp& stamp, const traces::Event& event, std::string_view source) {
    fmt::format_to(std::back_inserter(out), "{:>12}.{:03} ns  {:<12} {:<18} {}\n", stamp.time_ps / 1000, stamp.time_ps % 1000, source,
                   event_names[event.index()], describe(event));
}

} // namespace

std::expected<std::unique_ptr<Log>, std::string> Log::create(const std::string& path, const Sources& sources) {
    auto* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr)
        return std::unexpected(fmt::format("{}: cannot be created: {}", path, std::strerror(errno)));
    const bool is_json = path.ends_with(".json") || path.ends_with(".jsonl");
    auto log = std::make_unique<Log>(file, is_json ? Format::json : Format::text, sources);
    log->owns_file_ = true;
    return log;
}

Log::~Log() {
    flush();
    if (owns_file_)
        std::fclose(file_);
}

void Log::on(const traces::Stamp& stamp, const traces::Event& event) {
    const auto source = sources_.name(stamp.source);
    if (format_ == Format::json)
        append_json(pending_, stamp, event, source);
    else
        append_text(pending_, stamp, event, source);
    if (pending_.size() >= flush_at)
        flush();
}

bool Log::flush() {
    is_good_ = std::fwrite(pending_.data(), 1, pending_.size(), file_) == pending_.size() && is_good_;
    pending_.clear();
    is_good_ = std::fflush(file_) == 0 && is_good_;
    return is_good_;
}

} // namespace platform::observe
