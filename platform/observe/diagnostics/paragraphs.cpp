#include "platform/observe/diagnostics/paragraphs.h"

#include <fmt/format.h>

namespace platform::observe::diagnostics {

namespace {
/// Numbers that a driver chooses do not make this grow: what is beyond is only counted.
constexpr std::size_t most_counts = 4096;
} // namespace

std::string flushed(std::uint64_t count, std::string_view kind, std::string_view where) {
    return fmt::format("{} {}work {}{} flushed{} (IBV_WC_WR_FLUSH_ERR)", count, kind,
                       count == 1 ? "request" : "requests", fmt::format("{} {}", where, count == 1 ? "was" : "were"),
                       kind.empty() ? "" : " in the error state");
}

void Paragraphs::print(const traces::Stamp& stamp, const Paragraph& paragraph) {
    // Another WQE index is not another mistake: what stands before the first comma or colon is the object.
    const auto what = fmt::format("{}: {}", sources_.name(stamp.source),
                                  paragraph.object.substr(0, paragraph.object.find_first_of(",:")));
    const auto key = fmt::format("{}|{}", what, paragraph.text.rule);
    auto count = counts_.find(key);
    if (count == counts_.end()) {
        if (counts_.size() == most_counts) {
            ++beyond_;
            return;
        }
        count = counts_.emplace(key, Count{0, fmt::format("{}: \"{}\"", what, paragraph.text.rule)}).first;
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

void Paragraphs::print_counts() {
    for (const auto& [key, count] : counts_)
        if (count.seen > repetitions)
            put(fmt::format("{}: {} times in all, {} of them left out here\n", count.what, count.seen,
                            count.seen - repetitions));
    counts_.clear();
    if (beyond_ != 0)
        put(fmt::format("{} further {} neither printed nor told apart\n", beyond_,
                        beyond_ == 1 ? "mistake is" : "mistakes are"));
    beyond_ = 0;
}

} // namespace platform::observe::diagnostics
