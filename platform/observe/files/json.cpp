#include "platform/observe/files/json.h"

#include <cassert>

namespace platform::observe::files {
namespace {

/// Length of the valid UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0 || length > text.size())
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if (byte(i) < 0x80 || byte(i) > 0xbf)
            return 0;
    const bool is_overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
    const bool is_surrogate = lead == 0xed && byte(1) > 0x9f;
    const bool is_too_large = lead == 0xf4 && byte(1) > 0x8f;
    return is_overlong || is_surrogate || is_too_large ? 0 : length;
}

} // namespace

void append_quoted(fmt::memory_buffer& out, std::string_view text) {
    out.push_back('"');
    while (!text.empty()) {
        const auto length = sequence_length(text);
        const char c = text.front();
        if (length == 0)
            out.append(std::string_view("\\ufffd"));
        else if (c == '"' || c == '\\')
            out.push_back('\\'), out.push_back(c);
        else if (static_cast<unsigned char>(c) < 0x20)
            out.append(fmt::format("\\u{:04x}", static_cast<unsigned>(c)));
        else
            out.append(text.substr(0, length));
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out.push_back('"');
}

void JsonObject::separate() {
    if (!is_first_)
        out_.push_back(',');
    is_first_ = false;
    if (indent_ != 0) {
        out_.push_back('\n');
        out_.append(std::string(brackets_.size() * indent_, ' '));
    }
}

void JsonObject::key(std::string_view name) {
    separate();
    append_quoted(out_, name);
    out_.append(std::string_view(indent_ != 0 ? ": " : ":"));
}

JsonObject& JsonObject::open(char bracket) {
    out_.push_back(bracket);
    brackets_.push_back(bracket == '{' ? '}' : ']');
    is_first_ = true;
    return *this;
}

JsonObject& JsonObject::end() {
    assert(!brackets_.empty() && "end() without a begin()");
    const char bracket = brackets_.back();
    brackets_.pop_back();
    if (indent_ != 0 && !is_first_) {
        out_.push_back('\n');
        out_.append(std::string(brackets_.size() * indent_, ' '));
    }
    out_.push_back(bracket);
    is_first_ = false;
    return *this;
}

} // namespace platform::observe::files
