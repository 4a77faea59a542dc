#include "testbench/load/replay_list.h"

#include "testbench/load/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace load {

using Error = std::unexpected<std::string>;

namespace {

constexpr double latest_ns = 1e11; // 100 s
constexpr std::string_view blanks = " \t\r,";

/// The words of a line, without its comment.
std::vector<std::string_view> words_of(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words;
    for (auto begin = line.find_first_not_of(blanks); begin != line.npos; begin = line.find_first_not_of(blanks)) {
        line.remove_prefix(begin);
        words.push_back(line.substr(0, line.find_first_of(blanks)));
        line.remove_prefix(words.back().size());
    }
    return words;
}

std::expected<ListedMessage, std::string> read_line(const std::vector<std::string_view>& words) {
    constexpr std::size_t count = 5;
    if (words.size() != count)
        return Error(fmt::format("has {} words, not nanosecond, from, to, verb and bytes", words.size()));
    ListedMessage message{.at = {}, .from = std::string(words[1]), .to = std::string(words[2])};
    double nanoseconds = 0;
    const auto time = std::from_chars(words[0].data(), words[0].data() + words[0].size(), nanoseconds);
    if (time.ec != std::errc{} || time.ptr != words[0].data() + words[0].size() || !(nanoseconds >= 0) ||
        nanoseconds > latest_ns)
        return Error(fmt::format("'{}' is no time: nanoseconds from 0 to {:g}", words[0], latest_ns));
    message.at = model::port::Time{std::llround(nanoseconds * 1000)};
    const auto verb = std::ranges::find(verb_names, words[3]);
    if (verb == verb_names.end()) {
        const auto why = Verbs::read(words[3]); // says what there is
        return Error(why ? fmt::format("'{}' is a mix, and no verb", words[3]) : why.error());
    }
    message.verb = static_cast<Verb>(verb - verb_names.begin());
    const auto sizes = Sizes::read(words[4]);
    if (!sizes || sizes->least() != sizes->most())
        return Error(sizes ? fmt::format("'{}' is no size", words[4]) : sizes.error());
    message.bytes = sizes->most();
    if (is_atomic(message.verb) && message.bytes != atomic_bytes)
        return Error(fmt::format("an atomic has {} bytes, not {}", atomic_bytes, message.bytes));
    return message;
}

} // namespace

std::expected<std::vector<ListedMessage>, std::string> read_replay(std::string_view text, std::string_view file) {
    std::vector<ListedMessage> messages;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto words = words_of(line);
        if (words.empty())
            continue;
        auto message = read_line(words);
        if (!message)
            return Error(fmt::format("{}:{}: {}", file, number, message.error()));
        message->line = number;
        messages.push_back(std::move(*message));
    }
    if (messages.empty())
        return Error(fmt::format("{}: has no message", file));
    std::ranges::stable_sort(messages, {}, &ListedMessage::at);
    return messages;
}

std::expected<std::vector<ListedMessage>, std::string> read_replay_file(const std::string& file) {
    const auto text = read_text_file(file);
    if (!text)
        return Error(text.error());
    return read_replay(*text, file);
}

} // namespace load
