#include "testbench/workload/nccl_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace workload {

using Error = std::unexpected<std::string>;

namespace {

constexpr std::uint32_t most_ranks = 4096;
constexpr std::uint64_t most_bytes = 1ull << 40;
constexpr std::array<std::uint64_t, 12> type_bytes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; // ncclDataType_t, nccl.h

struct Named {
    std::string_view name;
    std::optional<NcclOperation> operation; ///< nothing: its other side says all
};
constexpr std::array operations{Named{"AllReduce", NcclOperation::all_reduce},
                                Named{"AllGather", NcclOperation::all_gather},
                                Named{"ReduceScatter", NcclOperation::reduce_scatter},
                                Named{"Broadcast", NcclOperation::broadcast},
                                Named{"Reduce", NcclOperation::reduce},
                                Named{"AlltoAll", NcclOperation::all_to_all},
                                Named{"AllToAll", NcclOperation::all_to_all},
                                Named{"Send", NcclOperation::send},
                                Named{"Recv", std::nullopt}};

/// The word behind `label`, which stands behind a blank or a bracket.
std::optional<std::string_view> word_behind(std::string_view line, std::string_view label) {
    for (auto at = line.find(label); at != line.npos; at = line.find(label, at + 1)) {
        if (at != 0 && line[at - 1] != ' ' && line[at - 1] != '[')
            continue;
        const auto rest = line.substr(at + label.size());
        return rest.substr(0, rest.find_first_of(" ]\r"));
    }
    return std::nullopt;
}

std::optional<std::uint64_t> number_behind(std::string_view line, std::string_view label) {
    const auto word = word_behind(line, label);
    std::uint64_t value = 0;
    if (!word || word->empty())
        return std::nullopt;
    const auto done = std::from_chars(word->data(), word->data() + word->size(), value);
    if (done.ec != std::errc{} || done.ptr != word->data() + word->size())
        return std::nullopt;
    return value;
}

/// "node1:4711" of "node1:4711:4720 [3] NCCL INFO ", whatever is before it.
std::string process_of(std::string_view prefix) {
    prefix = prefix.substr(0, prefix.find_last_not_of(' ') + 1);
    if (prefix.ends_with(']'))
        prefix = prefix.substr(0, prefix.rfind('['));
    prefix = prefix.substr(0, prefix.find_last_not_of(' ') + 1);
    prefix.remove_prefix(std::min(prefix.size(), prefix.rfind(' ') + 1)); // of none that is 0
    return std::string(prefix.substr(0, prefix.rfind(':')));
}

/// A communicator as a process has it.
struct Member {
    std::string communicator; ///< commId; empty: nobody has said
    std::uint32_t rank = 0, ranks = 0;
};

class Reader {
public:
    explicit Reader(std::string_view file) : file_(file) {}

    std::expected<NcclLog, std::string> read(std::string_view text) {
        for (std::size_t number = 1; !text.empty(); ++number) {
            const auto line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(line.size() + 1, text.size()));
            if (auto done = read_line(line, number); !done)
                return Error(fmt::format("{}:{}: {}", file_, number, done.error()));
        }
        if (found_.empty())
            return Error(
                fmt::format("{}: has no operation: NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL log them", file_));
        return resolve();
    }

private:
    struct Found {
        NcclCall call;
        Member member;
    };
    using Fit = std::expected<void, std::string>;

    Fit read_line(std::string_view line, std::size_t number) {
        constexpr std::string_view mark = "NCCL INFO ";
        const auto at = line.find(mark);
        if (at == line.npos)
            return {};
        const auto process = process_of(line.substr(0, at));
        const auto text = line.substr(at + mark.size());
        if (const auto colon = text.find(": opCount "); colon != text.npos)
            return read_call(process, text.substr(0, colon), text, number);
        const auto communicator = word_behind(text, "commId "), pointer = word_behind(text, "comm ");
        const auto rank = number_behind(text, "rank "), ranks = number_behind(text, "nranks ");
        if (!communicator || !pointer || !rank || !ranks)
            return {};
        if (*ranks > most_ranks || *rank >= *ranks)
            return Error(fmt::format("rank {} of {} ranks: there are at most {}", *rank, *ranks, most_ranks));
        const Member member{std::string(*communicator), static_cast<std::uint32_t>(*rank),
                            static_cast<std::uint32_t>(*ranks)};
        members_[{process, std::string(*pointer)}] = member;
        auto& all = communicators_[member.communicator];
        all.resize(std::max<std::size_t>(all.size(), member.ranks));
        all[member.rank] = process;
        return {};
    }

    Fit read_call(const std::string& process, std::string_view name, std::string_view text, std::size_t number) {
        const auto known = std::ranges::find(operations, name, &Named::name);
        if (known == operations.end())
            return Error(fmt::format("'{}' is no operation that is known", name));
        if (!known->operation)
            return {};
        const auto count = number_behind(text, "count "), type = number_behind(text, "datatype ");
        const auto root = number_behind(text, "root "), ranks = number_behind(text, "nranks=");
        const auto pointer = word_behind(text, "comm ");
        if (!count || !type || !root || !ranks || !pointer)
            return Error(fmt::format("{} has not all of count, datatype, root, comm and [nranks=...]", name));
        if (*type >= type_bytes.size())
            return Error(fmt::format("datatype {} is none that is known", *type));
        if (*ranks == 0 || *ranks > most_ranks || *root >= *ranks)
            return Error(fmt::format("root {} of {} ranks: there are at most {}", *root, *ranks, most_ranks));
        if (*count > most_bytes / type_bytes[*type])
            return Error(fmt::format("count {} is more than 1 TiB", *count));
        Member member{"", 0, static_cast<std::uint32_t>(*ranks)};
        if (const auto there = members_.find({process, std::string(*pointer)}); there != members_.end())
            member = there->second;
        if (member.ranks != *ranks)
            return Error(
                fmt::format("comm {} has {} ranks here and {} where it was made", *pointer, *ranks, member.ranks));
        const bool is_send = *known->operation == NcclOperation::send;
        if (is_send && member.communicator.empty())
            return Error(std::string("who sends is in no line before: log NCCL_DEBUG_SUBSYS=INIT,COLL"));
        // What all ranks have logged counts once.
        const auto one = teller_.try_emplace(member.communicator, process).first;
        if (!is_send && one->second != process)
            return {};
        found_.push_back({{.operation = *known->operation,
                           .bytes = *count * type_bytes[*type],
                           .root = static_cast<std::uint32_t>(*root),
                           .from = member.rank,
                           .line = number},
                          member});
        return {};
    }

    /// Ranks of each communicator as those of the largest one, by the processes that they are.
    std::expected<NcclLog, std::string> resolve() {
        NcclLog log;
        std::string largest;
        for (const auto& one : found_)
            if (one.member.ranks > log.ranks)
                log.ranks = one.member.ranks, largest = one.member.communicator;
        for (const auto& [name, processes] : communicators_)
            if (processes.size() > log.ranks)
                log.ranks = static_cast<std::uint32_t>(processes.size()), largest = name;
        std::map<std::string, std::uint32_t> world;
        if (!largest.empty())
            for (std::uint32_t rank = 0; rank < communicators_[largest].size(); ++rank)
                if (const auto& process = communicators_[largest][rank]; !process.empty())
                    world[process] = rank;
        for (auto& one : found_) {
            auto& ranks = one.call.ranks;
            ranks.resize(one.member.ranks);
            std::iota(ranks.begin(), ranks.end(), 0);
            const bool is_largest = one.member.communicator == largest && one.member.ranks == log.ranks;
            for (std::uint32_t rank = 0; rank < ranks.size() && !is_largest; ++rank) {
                const auto all = communicators_.find(one.member.communicator);
                const auto there = all == communicators_.end() ? world.end() : world.find(all->second[rank]);
                if (there == world.end() && one.member.ranks != log.ranks)
                    return Error(
                        fmt::format("{}:{}: rank {} of a communicator of {} is in no line of the log: it has to "
                                    "be of all processes, with NCCL_DEBUG_SUBSYS=INIT,COLL",
                                    file_, one.call.line, rank, one.member.ranks));
                if (there != world.end())
                    ranks[rank] = there->second;
            }
            log.calls.push_back(std::move(one.call));
        }
        return log;
    }

    std::string_view file_;
    std::map<std::pair<std::string, std::string>, Member> members_; ///< by process and pointer
    std::map<std::string, std::vector<std::string>> communicators_; ///< processes, by rank
    std::map<std::string, std::string> teller_;                     ///< of each communicator whose lines count
    std::vector<Found> found_;
};

} // namespace

std::expected<NcclLog, std::string> read_nccl_log(std::string_view text, std::string_view file) {
    return Reader(file).read(text);
}

} // namespace workload
