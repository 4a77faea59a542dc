#include "testbench/load/mix.h"

#include "platform/topology/names.h"
#include "platform/topology/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace load {

using Error = std::unexpected<std::string>;

namespace {

constexpr std::uint64_t most_weight = 1'000'000;
constexpr std::int64_t largest = 1 << 30;

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    return first == text.npos ? std::string_view{} : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

struct Item {
    std::string_view what;
    std::optional<std::uint64_t> weight{};
};

/// "a:70, b:30" as a list. All have weights, or none.
std::expected<std::vector<Item>, std::string> split(std::string_view text) {
    std::vector<Item> items;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(',', begin), text.size());
        const auto word = trim(text.substr(begin, end - begin));
        begin = end + 1;
        const auto colon = word.find(':');
        Item item{trim(word.substr(0, colon))};
        if (item.what.empty())
            return Error(fmt::format("an entry of '{}' is empty", text));
        if (colon != word.npos) {
            const auto digits = trim(word.substr(colon + 1));
            std::uint64_t weight = 0;
            const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), weight);
            if (error != std::errc{} || stop != digits.data() + digits.size() || weight == 0 || weight > most_weight)
                return Error(fmt::format("'{}' is no weight: a whole number from 1 to {}", digits, most_weight));
            item.weight = weight;
        }
        items.push_back(item);
    }
    if (std::ranges::any_of(items,
                            [&](const Item& item) { return item.weight.has_value() != items[0].weight.has_value(); }))
        return Error(fmt::format("some entries of '{}' have a weight and some have none", text));
    return items;
}

std::expected<std::uint32_t, std::string> read_size(std::string_view text) {
    using platform::topology::Kind;
    const auto value = platform::topology::parse(Kind::size, text);
    if (!value)
        return Error(fmt::format("'{}' {}", text, value.error()));
    const auto bytes = std::get<std::int64_t>(*value);
    if (bytes < 1 || bytes > largest)
        return Error(fmt::format("'{}' is out of range, allowed is 1 B to 1 GiB", text));
    return static_cast<std::uint32_t>(bytes);
}

} // namespace

std::expected<Verbs, std::string> Verbs::read(std::string_view text) {
    const auto items = split(text);
    if (!items)
        return Error(items.error());
    Verbs verbs;
    verbs.choices_.clear();
    verbs.total_ = 0;
    for (const auto& item : *items) {
        const auto found = std::ranges::find(verb_names, item.what);
        if (found == verb_names.end())
            return Error(
                fmt::format("'{}' is no verb{}; there are: {}", item.what,
                            platform::topology::did_you_mean(item.what, {verb_names.begin(), verb_names.end()}),
                            fmt::join(verb_names, " ")));
        const auto verb = static_cast<Verb>(found - verb_names.begin());
        if (verbs.has(verb))
            return Error(fmt::format("'{}' is there twice", item.what));
        verbs.choices_.push_back({verb, item.weight.value_or(1)});
        verbs.total_ += item.weight.value_or(1);
    }
    return verbs;
}

void Verbs::add(Verb verb) {
    if (!has(verb))
        choices_.push_back({verb, 1}), ++total_;
}

bool Verbs::has(Verb verb) const { return std::ranges::find(choices_, verb, &Choice::verb) != choices_.end(); }

Verb Verbs::draw(Random& random) const {
    if (choices_.size() == 1)
        return choices_.front().verb;
    auto left = random.below(total_);
    for (const auto& choice : choices_) {
        if (left < choice.weight)
            return choice.verb;
        left -= choice.weight;
    }
    return choices_.back().verb;
}

std::expected<Sizes, std::string> Sizes::read(std::string_view text) {
    const auto items = split(text);
    if (!items)
        return Error(items.error());
    Sizes sizes;
    sizes.ranges_.clear();
    for (const auto& item : *items) {
        const auto dots = item.what.find("..");
        const auto least = read_size(trim(item.what.substr(0, dots)));
        const auto most = dots == item.what.npos ? least : read_size(trim(item.what.substr(dots + 2)));
        if (!least || !most)
            return Error(!least ? least.error() : most.error());
        if (*least > *most)
            return Error(fmt::format("the range '{}' ends before it begins", item.what));
        sizes.ranges_.push_back({*least, *most, item.weight.value_or(0)});
        sizes.total_ += item.weight.value_or(0);
    }
    return sizes;
}

std::uint32_t Sizes::draw(Random& random, std::uint64_t number, std::uint32_t unit) const {
    const auto* range = &ranges_[number % ranges_.size()];
    if (total_ != 0) {
        auto left = random.below(total_);
        for (const auto& one : ranges_) {
            range = &one;
            if (left < one.weight)
                break;
            left -= one.weight;
        }
    }
    if (range->least == range->most)
        return range->least;
    return range->least +
           unit * static_cast<std::uint32_t>(random.below((range->most - range->least) / std::uint64_t{unit} + 1));
}

std::uint32_t Sizes::least() const { return std::ranges::min_element(ranges_, {}, &Range::least)->least; }
std::uint32_t Sizes::most() const { return std::ranges::max_element(ranges_, {}, &Range::most)->most; }

bool Sizes::are_whole(std::uint32_t unit) const {
    return std::ranges::all_of(ranges_,
                               [&](const Range& one) { return one.least % unit == 0 && one.most % unit == 0; });
}

} // namespace load
