#include "platform/topology/written.h"

#include "platform/topology/topologies.h"

#include <fmt/format.h>

#include <string_view>

namespace platform::topology {
namespace {

std::string quoted(const std::string& text) { return print(Value(text)); }

/// Settings of one line, as in an inline table.
std::string print_inline(const std::vector<Setting>& settings) {
    std::string text;
    for (const auto& setting : settings)
        text += fmt::format(", {} = {}", setting.path, print(setting.value));
    return text;
}

/// A line of a list: a text where that says all, else a table.
std::string print_item(std::string_view key, const std::string& value, const std::string& rest) {
    return rest.empty() ? fmt::format("    {},\n", quoted(value))
                        : fmt::format("    {{ {} = {}{} }},\n", key, quoted(value), rest);
}

} // namespace

std::string about_written() {
    return std::string(R"(
Which parts there are (none of this: two hosts A and B, each with an HCA and a GPU behind a switch, and a cable):
  [[hosts]]
  name = "A..B"                                   # or name = "node" and count = 64; memory, acs, served, iommu.present
  parts = ["root0..3.sw0..3.hca0..3", "root0..3.sw0..3.gpu0..7"]
  [fabric]
  switches = ["leaf0..3", { name = "spine0..1", ports = 16 }]
  cables = ["A..B.hca0..3 -- leaf0..3", "leaf0..3 >< spine0..1"]
  [[failures]]                                    # a cable, or all cables of a switch, from a time on
  cable = "leaf0 -- spine1"                       # or cable = "cable3", or switch = "spine1"
  at = "50 us"                                    # and until = "80 us"
A key of one part, in a file or with --set: A.hca0.mtt_cache_entries, A.gpu0.vram, A.gpu0.pcie.width, A.memory,
A.iommu.present, cable3.loss, leaf0.ports.

)") + about_topologies();
}

std::string print_hosts(const Written& written) {
    std::string text;
    for (const auto& hosts : written.hosts) {
        text += fmt::format("\n[[hosts]]\nname = {}\n", quoted(hosts.names));
        for (const auto& setting : hosts.settings)
            text += fmt::format("{} = {}\n", setting.path, print(setting.value));
        text += "parts = [\n";
        for (const auto& part : hosts.parts) {
            std::string rest;
            if (!part.kind.empty())
                rest += fmt::format(", kind = {}", quoted(part.kind));
            if (part.slot)
                rest += fmt::format(", slot = {}", *part.slot);
            text += print_item("path", part.path, rest + print_inline(part.settings));
        }
        text += "]\n";
    }
    return text;
}

std::string print_fabric(const Written& written) {
    std::string text;
    if (!written.switches.empty()) {
        text += "switches = [\n";
        for (const auto& group : written.switches)
            text += print_item("name", group.names, print_inline(group.settings));
        text += "]\n";
    }
    if (!written.cables.empty()) {
        text += "cables = [\n";
        for (const auto& line : written.cables)
            text += print_item("ends", line.ends,
                               (line.names.empty() ? "" : fmt::format(", name = {}", quoted(line.names))) +
                                   print_inline(line.settings));
        text += "]\n";
    }
    return text;
}

std::string print_failures(const Written& written) {
    std::string text;
    for (const auto& failure : written.failures) {
        text += "\n[[failures]]\n";
        if (!failure.cable.empty())
            text += fmt::format("cable = {}\n", quoted(failure.cable));
        if (!failure.fabric_switch.empty())
            text += fmt::format("switch = {}\n", quoted(failure.fabric_switch));
        if (failure.at)
            text += fmt::format("at = {}\n", print(*failure.at));
        if (failure.until)
            text += fmt::format("until = {}\n", print(*failure.until));
    }
    return text;
}

/// A table for each part, since a file's tables end where the next one begins.
std::string print_exceptions(const std::vector<Setting>& exceptions) {
    std::string text;
    std::vector<bool> is_done(exceptions.size());
    const auto table_of = [](const Setting& setting) { return setting.path.substr(0, setting.path.rfind('.')); };
    for (std::size_t i = 0; i < exceptions.size(); ++i) {
        if (is_done[i])
            continue;
        text += fmt::format("\n[{}]\n", table_of(exceptions[i]));
        for (auto j = i; j < exceptions.size(); ++j) {
            if (table_of(exceptions[j]) != table_of(exceptions[i]))
                continue;
            is_done[j] = true;
            bool is_last = true; // of those that set the same key: the last one counts
            for (auto k = j + 1; k < exceptions.size(); ++k)
                is_last &= exceptions[k].path != exceptions[j].path;
            if (is_last)
                text += fmt::format("{} = {}\n", exceptions[j].path.substr(exceptions[j].path.rfind('.') + 1),
                                    print(exceptions[j].value));
        }
    }
    return text;
}

} // namespace platform::topology
