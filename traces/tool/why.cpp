#include "traces/tool/why.h"

#include "traces/tool/describe.h"

#include <fmt/format.h>

#include <vector>

namespace traces::tool {

using namespace codec;

namespace {

/// Chains are as long as work waits; one that is longer is of a trace that nobody recorded.
constexpr std::size_t most_links = 1000;

struct Told {
    std::uint32_t number;
    Causes::Step step;
    std::string line{}, why{};
};

/// The chain from a record backward; `missing` says why there is none.
struct Found {
    std::vector<Told> chain{};
    Outcome missing{};
};
Found find_chain(const OpenTrace& open, std::uint64_t wanted) {
    auto source = open();
    if (!source)
        return {.missing = {.complaint = source.error()}};
    Reader reader(**source);
    if (const auto opened = reader.open(); !opened)
        return {.missing = outcome_of(reader, opened.error())};
    Causes causes(reader.head());
    auto fault = walk(reader, [&](const Record& record, const Seen& seen, const Decoder& decoder) {
        causes.take(record, seen, decoder);
        return record.number < wanted;
    });
    if (fault)
        return {.missing = outcome_of(reader, std::move(fault))};
    if (wanted == 0 || reader.records() < wanted)
        return {.missing = {.complaint =
                                fmt::format("record {}: the trace has records 1 to {}", wanted, reader.records())}};
    Found found;
    for (auto at = static_cast<std::uint32_t>(wanted); at != 0 && found.chain.size() < most_links;
         at = found.chain.back().step.record)
        found.chain.push_back({at, causes.of(at)});
    return found;
}

} // namespace

std::string sentence(Causes::Step step, std::uint32_t mark) {
    const auto in_course =
        mark != 0 && mark != step.record ? fmt::format(", in the course of record {}", mark) : std::string();
    switch (step.link) {
    case Link::begin: return "Nothing in the trace says what led to it.";
    case Link::store: return "Software did this: here the chain begins.";
    case Link::outside: return "It came from outside: nobody in this trace has sent it. Here the chain begins.";
    case Link::call: return fmt::format("It happened in the course of record {}.", step.record);
    case Link::request: return fmt::format("It answers the read in record {}.", step.record);
    case Link::posted:
        return fmt::format("It is the work that the doorbell in record {} posted; the device had not read it then.",
                           step.record);
    case Link::wqe:
        return fmt::format("It completes the work request that record {} brought{}.", step.record, in_course);
    case Link::completion:
        return fmt::format("It tells the driver of the completion in record {}{}.", step.record, in_course);
    case Link::event: return fmt::format("It calls the driver to the event in record {}{}.", step.record, in_course);
    case Link::answered: return fmt::format("The peer answers the packet in record {}.", step.record);
    case Link::same_frame: return fmt::format("The same frame left a device in record {}.", step.record);
    case Link::asked_wake: return fmt::format("The device asked in record {} to be woken.", step.record);
    case Link::waited: return fmt::format("The device has waited since record {} for the port.", step.record);
    case Link::batch: return fmt::format("It ends the batch whose last frame is record {}.", step.record);
    case Link::before: return fmt::format("The device goes on with what record {} left it to do.", step.record);
    case Link::model: return fmt::format("The model says that the event in record {} led to it.", step.record);
    case Link::forgotten:
        return fmt::format("What led to it is not known any more: that is kept of {} records.", most_kept_causes);
    }
    return {};
}

Outcome why(const OpenTrace& open, std::uint64_t wanted, Destination& destination) {
    auto [chain, missing] = find_chain(open, wanted);
    if (chain.empty())
        return missing;
    auto source = open();
    if (!source)
        return {.complaint = source.error()};
    Reader reader(**source);
    Output output(destination);
    if (const auto opened = reader.open(); !opened)
        return finish(reader, opened.error(), output);
    std::size_t left = chain.size(); // the earliest is the last of the chain
    auto fault = walk(reader, [&](const Record& record, const Seen& seen, const Decoder&) {
        if (record.number == chain[left - 1].number) {
            auto& told = chain[--left];
            told.line = line_of(record, seen, reader.head());
            told.why = sentence(told.step, record.mark.cause);
        }
        return left != 0;
    });
    for (const auto& told : chain) {
        output.line(told.line);
        output.line("         " + told.why);
    }
    if (chain.size() == most_links)
        output.line("         The chain goes on; these are its last links.");
    return finish(reader, std::move(fault), output);
}

} // namespace traces::tool
