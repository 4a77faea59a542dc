// Writes JSON text: objects of names and values, nested where asked. Gives valid JSON for any bytes (what is not UTF-8
// becomes U+FFFD) and for any number (what is not finite becomes null). Does not read.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>

namespace platform::observe::files {

/// Appends `text` as a quoted JSON string.
void append_quoted(fmt::memory_buffer& out, std::string_view text);

/// One object, built from left to right. `end()` once for the object and for each nested begin().
class JsonObject {
public:
    /// `indent` 0: everything on one line.
    explicit JsonObject(unsigned indent = 0) : indent_(indent) { open('{'); }

    template <class T> JsonObject& add(std::string_view name, const T& value) {
        key(name);
        append(value);
        return *this;
    }
    JsonObject& begin(std::string_view name) { return key(name), open('{'); }
    JsonObject& begin_list(std::string_view name) { return key(name), open('['); }
    /// A value inside a list.
    template <class T> JsonObject& add_item(const T& value) { return separate(), append(value), *this; }
    /// A value inside a list that is JSON already.
    JsonObject& add_json_item(std::string_view json) { return separate(), append_word(json), *this; }
    /// An object inside a list.
    JsonObject& begin_item() { return separate(), open('{'); }
    JsonObject& end();

    std::string_view text() const { return {out_.data(), out_.size()}; }

private:
    template <class T> void append(const T& value) {
        if constexpr (std::is_same_v<T, bool>)
            append_word(value ? "true" : "false");
        else if constexpr (std::is_floating_point_v<T>)
            append_word(std::isfinite(value) ? fmt::to_string(static_cast<double>(value)) : "null");
        else if constexpr (std::is_integral_v<T>)
            append_word(fmt::format_int(value).c_str());
        else
            append_quoted(out_, value);
    }
    void append_word(std::string_view word) { out_.append(word); }
    void key(std::string_view name);
    void separate();
    JsonObject& open(char bracket);

    fmt::memory_buffer out_;
    std::string brackets_; ///< closing ones that are due
    unsigned indent_;
    bool is_first_ = true;
};

} // namespace platform::observe::files
