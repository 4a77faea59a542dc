#include "testbench/hcasim/compare_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace hcasim {
namespace {

/// Length of the UTF-8 sequence that begins with `lead`; a result has only whole ones.
std::size_t sequence_length(unsigned char lead) { return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4; }

/// For an attribute or an element: what XML 1.0 has no way to say becomes U+FFFD.
std::string escaped(std::string_view text) {
    constexpr std::string_view replacement = "\xef\xbf\xbd";
    std::string out;
    while (!text.empty()) {
        const auto length = std::min(sequence_length(static_cast<unsigned char>(text.front())), text.size());
        const auto letter = text.substr(0, length);
        const auto code = static_cast<unsigned char>(letter.front());
        if (letter == "&")
            out += "&amp;";
        else if (letter == "<")
            out += "&lt;";
        else if (letter == ">")
            out += "&gt;";
        else if (letter == "\"")
            out += "&quot;";
        else if (letter == "\n" || letter == "\t" || letter == "\r")
            out += fmt::format("&#{};", code);
        else if (code < 0x20 || letter == "\xef\xbf\xbe" || letter == "\xef\xbf\xbf")
            out += replacement;
        else
            out += letter;
        text.remove_prefix(length);
    }
    return out;
}

std::string line_of(const ValueChange& value) {
    const auto one = [](const std::optional<json::Scalar>& scalar) { return scalar ? print(*scalar) : "not there"; };
    const auto direction = direction_of(value);
    return fmt::format("{}: {}, then {}{}{}", value.name, one(value.before), one(value.after),
                       direction.empty() ? "" : ", ", direction);
}

std::string print_case(const RunComparison& comparison, const ThingChange& thing) {
    const auto group = thing.group.empty() ? std::string("run") : thing.group;
    auto text = fmt::format("    <testcase name=\"{}\" classname=\"hcasim.{}.{}\" time=\"0\"",
                            escaped(thing.name.empty() ? group : thing.name), escaped(comparison.name), escaped(group));
    if (thing.verdict != Likeness::different)
        return text + "/>\n";
    std::string first, all;
    for (const auto& value : thing.values)
        if (value.verdict == Likeness::different) {
            first = first.empty() ? line_of(value) : first;
            all += line_of(value) + "\n";
        }
    return text + fmt::format(">\n      <failure message=\"{}\" type=\"difference\">{}</failure>\n    </testcase>\n",
                              escaped(first), escaped(all));
}

std::string print_suite(const RunComparison& comparison, std::size_t number, std::string_view when) {
    const bool is_skipped = !comparison.why_not.empty();
    const auto failures = std::ranges::count(comparison.things, Likeness::different, &ThingChange::verdict);
    auto text = fmt::format("  <testsuite name=\"{}\" package=\"hcasim\" id=\"{}\" timestamp=\"{}\" "
                            "hostname=\"localhost\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
                            "time=\"0\">\n    <properties>\n",
                            escaped(comparison.name), number, when, is_skipped ? 1 : comparison.things.size(), failures,
                            is_skipped ? 1 : 0);
    for (const auto& [name, value] :
         {std::pair("before", &comparison.before_file), std::pair("after", &comparison.after_file)})
        text += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, escaped(*value));
    text += "    </properties>\n";
    if (is_skipped)
        text += fmt::format("    <testcase name=\"run\" classname=\"hcasim.{}\" time=\"0\">\n      <skipped "
                            "message=\"{}\"/>\n    </testcase>\n",
                            escaped(comparison.name), escaped(comparison.why_not));
    for (const auto& thing : comparison.things)
        text += print_case(comparison, thing);
    return text + "    <system-out/>\n    <system-err/>\n  </testsuite>\n";
}

} // namespace

std::string print_junit(std::span<const RunComparison> comparisons, std::int64_t seconds) {
    const auto when = fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(seconds)));
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
    for (std::size_t i = 0; i < comparisons.size(); ++i)
        text += print_suite(comparisons[i], i, when);
    return text + "</testsuites>\n";
}

} // namespace hcasim
