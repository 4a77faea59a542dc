#include "platform/observe/diagnostics/paragraphs.h"

#include <fmt/format.h>

namespace platform::observe::diagnostics {

namespace {
/// Numbers that a driver chooses do not make this grow: what is beyond is only counted.
constexpr std::size_t most_counts = 4096;

/// Another WQE index is not another mistake: what stands before the first comma or colon is the object. Those in
/// brackets, and in the numbers of a device (03:00.0), end nothing.
std::string_view object_of(std::string_view text) {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '(')
            ++depth;
        else if (text[i] == ')' && depth != 0)
            --depth;
        else if (depth == 0 && (text[i] == ',' || text[i] == ':') && (i + 1 == text.size() || text[i + 1] == ' '))
            return text.substr(0, i);
    }
    return text;
}
} // namespace

std::string flushed(std::uint64_t count, std::string_view kind, std::string_view where) {
    return fmt::format("{} {}work {}{} flushed{} (IBV_WC_WR_FLUSH_ERR)", count, kind,
                       count == 1 ? "request" : "requests", fmt::format("{} {}", where, count == 1 ? "was" : "were"),
                       kind.empty() ? "" : " in the error state");
}

void Paragraphs::print(const traces::Stamp& stamp, const Paragraph& paragraph) {
    const auto what = fmt::format("{}: {}", sources_.name(stamp.source), object_of(paragraph.object));
    const auto key = fmt::format("{}|{}", what, paragraph.text.rule);
    auto count = counts_.find(key);
    if (count == counts_.end()) {
        if (counts_.size() == most_counts) {
            ++beyond_;
            return;
        }
        count =
            counts_.emplace(key, Count{0, fmt::format("{}: \"{}\"", what, paragraph.text.rule), stamp.source}).first;
    }
    const auto seen = ++count->second.seen;
    if (seen > repetitions + 1)
        return;
    if (seen == repetitions + 1)
        return put(fmt::format("{}: once more, and from now on only counted\n", count->second.what));
    auto text = fmt::format("{:.9f} s, {}: {}.\n", static_cast<double>(stamp.time_ps) * 1e-12,
                            sources_.name(stamp.source), paragraph.object);
    if (!paragraph.decoded.empty())
        text += fmt::format("  Decoded: {}.\n", paragraph.decoded);
    if (!paragraph.text.rule.empty())
        text +=
            fmt::format("  Rule: {}{}.\n", paragraph.text.rule,
                        paragraph.text.chapter.empty() ? std::string{} : fmt::format(" [{}]", paragraph.text.chapter));
    put(text + fmt::format("  Likely cause: {}.\n",
                           paragraph.text.cause.empty() ? nothing_known.cause : paragraph.text.cause));
}

void Paragraphs::print_flushed(std::uint16_t source, std::uint32_t qpn, std::uint64_t count) {
    if (count != 0)
        put(fmt::format("{}: QP {:#x}: {}\n", sources_.name(source), qpn, flushed(count, "more ", "")));
}

void Paragraphs::print(const Count& count) {
    if (count.seen > repetitions)
        put(fmt::format("{}: {} times in all, {} of them left out here\n", count.what, count.seen,
                        count.seen - repetitions));
}

void Paragraphs::print_counts_of(std::uint16_t whole) {
    std::erase_if(counts_, [&](const auto& entry) {
        if (sources_.whole(entry.second.source) != whole)
            return false;
        print(entry.second);
        return true;
    });
}

void Paragraphs::print_counts() {
    for (const auto& [key, count] : counts_)
        print(count);
    counts_.clear();
    if (beyond_ != 0)
        put(fmt::format("{} further {} neither printed nor told apart\n", beyond_,
                        beyond_ == 1 ? "mistake is" : "mistakes are"));
    beyond_ = 0;
}

} // namespace platform::observe::diagnostics
