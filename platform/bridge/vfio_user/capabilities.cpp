#include "platform/bridge/vfio_user/capabilities.h"

#include "platform/bridge/vfio_user/message.h"

#include <fmt/format.h>

#include <charconv>

namespace platform::bridge::vfio_user {

namespace {

constexpr unsigned max_depth = 8;
/// No name of the protocol is longer, with those that it lies in. A path is made for each value, so that long ones
/// would cost us the square of a message's length.
constexpr std::size_t max_path = 64;

/// The path of a value within that of another one. What is too long is nobody's name, nor is what lies in it.
std::string path_within(const std::string& path, std::string_view key) {
    if (path.size() + key.size() > max_path)
        return "?";
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

/// A reader of JSON that reports the values it passes to `Visit` by their path: "capabilities.max_msg_fds".
template <class Visit> class Reader {
public:
    Reader(std::string_view text, Visit visit) : rest_(text), visit_(visit) {}

    bool read_all() {
        skip_space();
        if (!peek('{') || !read_value("", 0))
            return false;
        skip_space();
        return rest_.empty();
    }

private:
    bool read_value(const std::string& path, unsigned depth) {
        skip_space();
        if (rest_.empty() || depth > max_depth)
            return false;
        switch (rest_.front()) {
        case '{': return read_object(path, depth);
        case '[': return read_array(path, depth);
        case '"': return read_string().has_value() && visit_(path, std::optional<std::uint64_t>{});
        case 't': return take_word("true") && visit_(path, std::optional<std::uint64_t>{1});
        case 'f': return take_word("false") && visit_(path, std::optional<std::uint64_t>{0});
        case 'n': return take_word("null") && visit_(path, std::optional<std::uint64_t>{});
        default: return read_number(path);
        }
    }

    bool read_object(const std::string& path, unsigned depth) {
        take();
        if (!visit_(path, std::optional<std::uint64_t>{}))
            return false;
        if (skip_space(); peek('}'))
            return take();
        for (;;) {
            skip_space();
            const auto key = read_string();
            skip_space();
            if (!key || !peek(':') || !take() || !read_value(path_within(path, *key), depth + 1))
                return false;
            skip_space();
            if (peek('}'))
                return take();
            if (!peek(',') || !take())
                return false;
        }
    }

    bool read_array(const std::string& path, unsigned depth) {
        take();
        if (skip_space(); peek(']'))
            return take();
        for (;;) {
            if (!read_value(path + "[]", depth + 1))
                return false;
            skip_space();
            if (peek(']'))
                return take();
            if (!peek(',') || !take())
                return false;
        }
    }

    /// Raw, with its escapes: no name of the protocol has any.
    std::optional<std::string_view> read_string() {
        if (!peek('"'))
            return {};
        for (std::size_t i = 1; i < rest_.size(); ++i) {
            if (rest_[i] == '\\')
                ++i;
            else if (rest_[i] == '"') {
                const auto inside = rest_.substr(1, i - 1);
                rest_.remove_prefix(i + 1);
                return inside;
            } else if (static_cast<unsigned char>(rest_[i]) < 0x20)
                return {};
        }
        return {};
    }

    bool read_number(const std::string& path) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc{})
            return false; // negative, fractional or no number: nothing here is one
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return visit_(path, std::optional{value});
    }

    void skip_space() {
        const auto at = rest_.find_first_not_of(" \t\r\n");
        rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at);
    }
    bool peek(char c) const { return !rest_.empty() && rest_.front() == c; }
    bool take() {
        rest_.remove_prefix(1);
        return true;
    }
    bool take_word(std::string_view word) {
        if (!rest_.starts_with(word))
            return false;
        rest_.remove_prefix(word.size());
        return true;
    }

    std::string_view rest_;
    Visit visit_;
};

} // namespace

std::optional<Capabilities> parse_capabilities(std::string_view text) {
    Capabilities found;
    if (text.empty())
        return found;
    constexpr std::string_view prefix = "capabilities.";
    const auto visit = [&](std::string_view path, std::optional<std::uint64_t> number) {
        if (!path.starts_with(prefix))
            return true;
        path.remove_prefix(prefix.size());
        const bool is_number = path == "max_msg_fds" || path == "max_data_xfer_size" || path == "max_dma_maps" ||
                               path == "pgsizes" || path == "write_multiple";
        if (is_number && !number)
            return false;
        if (path == "max_msg_fds")
            found.max_descriptors = *number;
        if (path == "max_data_xfer_size")
            found.max_transfer = *number;
        if (is_number) // others are answered with nothing, and there may be any number of them
            found.named.emplace(path);
        return true;
    };
    if (!Reader(text, visit).read_all())
        return {};
    return found;
}

std::string print_capabilities(const Capabilities& client) {
    std::string list;
    const auto add = [&](std::string_view name, const auto& value) {
        if (client.named.contains(name))
            list += fmt::format("{}\"{}\":{}", list.empty() ? "" : ",", name, value);
    };
    add("max_msg_fds", max_descriptors);
    add("max_data_xfer_size", max_transfer);
    add("max_dma_maps", abi::vfio_user::default_max_maps);
    add("pgsizes", abi::vfio_user::default_page_sizes);
    add("write_multiple", true);
    return fmt::format("{{\"capabilities\":{{{}}}}}", list);
}

} // namespace platform::bridge::vfio_user
