#include "platform/observe/log.h"

#include "platform/observe/json.h"

#include <cerrno>
#include <cstring>

namespace platform::observe {
namespace {

constexpr std::size_t flush_at = 1 << 16;

// fmt::format and not format_to: the latter compiles the whole of fmt into this file.
void append_json(fmt::memory_buffer& out, const traces::Stamp& stamp, const traces::Event& event,
                 std::string_view source) {
    const auto put = [&out](std::string_view text) { out.append(text); };
    put("{\"time_ps\":");
    put(fmt::format_int(stamp.time_ps).c_str());
    put(",\"source\":");
    append_quoted(out, source);
    put(",\"event\":\"");
    put(event_names[event.index()]);
    put("\"");
    for_each_value(event, [&](std::string_view name, const MemberValue& value) {
        put(",\"");
        put(name);
        put("\":");
        if (const auto* words = std::get_if<std::string_view>(&value))
            append_quoted(out, *words);
        else if (const auto* is_set = std::get_if<bool>(&value))
            put(*is_set ? "true" : "false");
        else
            put(fmt::format_int(std::get<std::uint64_t>(value)).c_str());
    });
    put("}\n");
}

void append_text(fmt::memory_buffer& out, const traces::Stamp& stamp, const traces::Event& event,
                 std::string_view source) {
    out.append(fmt::format("{:>12}.{:03} ns  {:<12} {:<18} {}\n", stamp.time_ps / 1000, stamp.time_ps % 1000, source,
                           event_names[event.index()], describe(event)));
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
