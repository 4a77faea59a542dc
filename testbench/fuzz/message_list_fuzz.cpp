// What becomes a list of messages: bit 0 of the first byte says whether the rest is such a list, or a log of NCCL that
// is made one. Either is refused with file and line, or read; and what was made of a log can be read as a list.
#include "testbench/fuzz/require.h"
#include "testbench/load/replay_list.h"
#include "testbench/workload/nccl_log.h"
#include "testbench/workload/nccl_messages.h"

#include <fmt/format.h>

namespace {

using fuzz::require;

void read_list(std::string_view text) {
    const auto list = load::read_replay(text, "list.txt");
    if (!list) {
        require(list.error().starts_with("list.txt"), "a refusal that does not name the file", list.error());
        return;
    }
    for (const auto& one : *list)
        require(!one.from.empty() && !one.to.empty() && one.line > 0 && one.at >= one.at.zero(), "half a message");
}

void import_log(std::string_view text) {
    const auto log = workload::read_nccl_log(text, "nccl.log");
    if (!log) {
        require(log.error().starts_with("nccl.log"), "a refusal that does not name the file", log.error());
        return;
    }
    if (log->ranks > 64)
        return;
    std::vector<std::string> names;
    for (std::uint32_t rank = 0; rank < log->ranks; ++rank)
        names.push_back(fmt::format("host{}", rank / 2));
    std::string list;
    std::uint64_t messages = 0;
    const auto take = [&](model::port::Time at, std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
        require(from < log->ranks && to < log->ranks && names[from] != names[to] && bytes > 0, "a message of nobody");
        if (++messages <= 1000)
            fmt::format_to(std::back_inserter(list), "{}.{:03} {} {} write {}\n", at.count() / 1000, at.count() % 1000,
                           names[from], names[to], bytes);
    };
    if (const auto done = workload::expand_nccl(*log, names, {}, take); !done) {
        require(!done.error().empty(), "a refusal without a reason");
        return;
    }
    if (messages == 0)
        return; // nothing leaves a host, and there is no list
    const auto read = load::read_replay(list, "list.txt");
    require(read.has_value(), "what was made of a log is no list", read ? std::string() : read.error());
    require(read->size() == std::min<std::uint64_t>(messages, 1000), "messages have got lost");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if ((data[0] & 1) != 0)
        read_list(text);
    else
        import_log(text);
    return 0;
}
