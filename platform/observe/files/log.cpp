#include "platform/observe/files/log.h"

#include "platform/observe/files/json.h"

namespace platform::observe::files {
namespace {

constexpr std::size_t flush_at = 1 << 16;

constexpr std::string_view name(traces::Access access) {
    using enum traces::Access;
    switch (access) {
    case none: return "access";
    case mmio_write: return "MMIO write";
    case packet: return "packet";
    case batch_end: return "end of batch";
    case room: return "room on the wire";
    case timer: return "timer";
    }
    return {};
}

/// No event has led to this one, but what came from outside.
bool is_led_by_access(const traces::Stamp& stamp) { return stamp.cause == stamp.access_number; }

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
    put(",\"id\":");
    put(fmt::format_int(stamp.number).c_str());
    if (stamp.cause != 0) {
        put(",\"cause\":");
        put(fmt::format_int(stamp.cause).c_str());
        if (is_led_by_access(stamp)) {
            put(",\"cause_access\":");
            append_quoted(out, name(stamp.access));
        }
    }
    put("}\n");
}

void append_text(fmt::memory_buffer& out, const traces::Stamp& stamp, const traces::Event& event,
                 std::string_view source) {
    out.append(fmt::format("{:>12}.{:03} ns  {:<12} {:<18} {}  #{}", stamp.time_ps / 1000, stamp.time_ps % 1000, source,
                           event_names[event.index()], describe(event), stamp.number));
    if (stamp.cause != 0)
        out.append(fmt::format(" <- #{}", stamp.cause));
    if (stamp.cause != 0 && is_led_by_access(stamp))
        out.append(fmt::format(" ({})", name(stamp.access)));
    out.push_back('\n');
}

} // namespace

Log::Format Log::format_of(const std::string& path) {
    return path.ends_with(".json") || path.ends_with(".jsonl") || is_standard_output(path) ? Format::json
                                                                                           : Format::text;
}

Log::~Log() { flush(); }

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
    output_.write({pending_.data(), pending_.size()});
    pending_.clear();
    return output_.flush() && output_.is_good();
}

Output::Outcome Log::finish() {
    flush();
    return output_.finish();
}

} // namespace platform::observe::files
