#include "testbench/result/json_value.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

namespace hcasim::json {
namespace {

/// A text of somebody else's in a message of ours.
constexpr std::size_t most_shown = 160;

/// Goes through a text for the library and says how far it has read.
struct Reader {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;
    const char* at = nullptr;
    const char** seen = nullptr;
    reference operator*() const { return *at; }
    Reader& operator++() { return *seen = ++at, *this; }
    Reader operator++(int) {
        const auto before = *this;
        ++*this;
        return before;
    }
    bool operator==(const Reader& other) const { return at == other.at; }
};

std::string shortened(std::string_view text) {
    return text.size() <= most_shown ? std::string(text) : fmt::format("{}...", text.substr(0, most_shown));
}

/// Builds values of what the library has read. Each function returns whether to go on.
class Builder {
public:
    Builder(std::string_view text, const std::string& name, const char*& seen)
        : text_(text), name_(name), seen_(seen) {}

    bool null() { return scalar(nullptr); }
    bool boolean(bool value) { return scalar(value); }
    bool number_integer(std::int64_t value) { return scalar(value, 1); }
    bool number_unsigned(std::uint64_t value) { return scalar(value, 1); }
    bool number_float(double value, const std::string& /*as written*/) { return scalar(value, 1); }
    bool string(std::string& value) { return scalar(std::move(value)); }
    bool binary(nlohmann::json::binary_t& /*value*/) { return refuse("bytes, which JSON does not have"); }
    bool start_object(std::size_t /*elements*/) { return open(Object{}); }
    bool start_array(std::size_t /*elements*/) { return open(List{}); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(std::string& name) {
        if (!open_.back().names.insert(name).second)
            return refuse(fmt::format("'{}' is there a second time in the same object", shortened(name)));
        key_ = std::move(name);
        return true;
    }
    bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::json::exception& why) {
        // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while ..."
        std::string_view reason = why.what();
        for (const auto* end : {"] ", "parse error at line ", ": "})
            if (const auto found = reason.find(end); found != std::string_view::npos)
                reason.remove_prefix(found + (*end == 'p' ? 0 : std::string_view(end).size()));
        return refuse_at(std::min(position == 0 ? 0 : position - 1, text_.size()), shortened(reason));
    }

    std::expected<Value, std::string> finish() {
        if (refusal_)
            return std::unexpected(std::move(*refusal_));
        return std::move(root_);
    }

private:
    struct Open {
        Value value;
        std::string key; ///< under which it will stand
        std::unordered_set<std::string> names{};
    };

    std::size_t position() const { return static_cast<std::size_t>(seen_ - text_.data()); }

    /// Lines are counted once, as reading goes on.
    std::size_t line_of(std::size_t position) {
        line_ += static_cast<std::size_t>(std::ranges::count(text_.substr(counted_, position - counted_), '\n'));
        counted_ = position;
        return line_;
    }

    bool refuse(std::string_view reason) { return refuse_at(position() - 1, reason); }
    bool refuse_at(std::size_t position, std::string_view reason) {
        const auto before = text_.substr(0, position);
        const auto newline = before.rfind('\n');
        refusal_ = fmt::format("{}:{}:{}: byte {}: {}", name_, 1 + std::ranges::count(before, '\n'),
                               position - (newline == std::string_view::npos ? 0 : newline + 1) + 1, position, reason);
        return false;
    }

    /// What ends a number has been read already, and is not a part of it: `behind` bytes.
    template <class T> bool scalar(T value, std::size_t behind = 0) {
        return put(Value{.data = Scalar(std::move(value)), .line = line_of(position() - std::min(position(), behind))});
    }
    template <class T> bool open(T empty) {
        if (open_.size() == most_depth)
            return refuse(fmt::format("deeper than {} levels, which no result is", most_depth));
        open_.push_back({.value = {.data = std::move(empty), .line = line_of(position())}, .key = std::move(key_)});
        return true;
    }
    bool close() {
        auto last = std::move(open_.back());
        open_.pop_back();
        key_ = std::move(last.key);
        return put(std::move(last.value));
    }
    bool put(Value value) {
        if (++count_ > most_values)
            return refuse(fmt::format("more than {} values, which no result has", most_values));
        if (open_.empty())
            root_ = std::move(value);
        else if (auto* object = std::get_if<Object>(&open_.back().value.data))
            object->push_back({.name = std::move(key_), .value = std::move(value)});
        else
            std::get<List>(open_.back().value.data).push_back(std::move(value));
        return true;
    }

    std::string_view text_;
    const std::string& name_;
    const char*& seen_;
    std::vector<Open> open_;
    std::string key_;
    Value root_;
    std::size_t count_ = 0, line_ = 1, counted_ = 0;
    std::optional<std::string> refusal_;
};

} // namespace

const Value* Value::member(std::string_view name) const {
    const auto* members = object();
    if (members == nullptr)
        return nullptr;
    const auto found = std::ranges::find(*members, name, &Member::name);
    return found == members->end() ? nullptr : &found->value;
}

std::expected<Value, std::string> parse(std::string_view text, const std::string& name) {
    if (text.size() > most_bytes)
        return std::unexpected(fmt::format("{}: has more than {} bytes, which no result has", name, most_bytes));
    const char* seen = text.data();
    Builder builder(text, name, seen);
    nlohmann::json::sax_parse(Reader{text.data(), &seen}, Reader{text.data() + text.size(), &seen}, &builder);
    return builder.finish();
}

std::string_view kind_of(const Value& value) {
    if (value.list() != nullptr)
        return "a list";
    if (value.object() != nullptr)
        return "an object";
    static constexpr std::string_view names[]{"null", "true or false", "a number", "a number", "a number", "a text"};
    return names[value.scalar()->index()];
}

} // namespace hcasim::json
