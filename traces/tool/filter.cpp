#include "traces/tool/filter.h"

#include "traces/tool/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace traces::tool {

bool Filter::passes(const codec::Record& record, const Seen& seen, const codec::Head& head) const {
    if (record.number < first || is_over(record) || record.time_ps < from_ps ||
        (until_ps && record.time_ps >= *until_ps))
        return false;
    const auto has_source = [&] {
        return seen.event && seen.event->stamp.source < head.names.size() &&
               is_called(head.names[seen.event->stamp.source], function);
    };
    if (!function.empty() && !is_called(head.interfaces[record.interface].name, function) && !has_source())
        return false;
    const auto has = [&](std::optional<std::uint32_t> wanted, std::uint32_t Item::* member) {
        return !wanted || std::ranges::find(seen.items, *wanted, member) != seen.items.end();
    };
    // The number in a packet on its way out is the peer's, which may be that of another queue pair on this side.
    const bool is_of_peer = record.mark.kind == codec::RecordKind::frame &&
                            record.mark.direction == codec::Direction::outbound && seen.qpn != no_number;
    const auto has_qpn = [&](std::optional<std::uint32_t> wanted) {
        return !wanted || seen.qpn == *wanted || (!is_of_peer && has(wanted, &Item::qpn));
    };
    if (!has_qpn(qpn))
        return false;
    if (!has(cqn, &Item::cqn) || !has(eqn, &Item::eqn))
        return false;
    if (queue && !has_qpn(queue) && !has(queue, &Item::cqn) && !has(queue, &Item::eqn))
        return false;
    // The low byte of a key is its variant; the number without it is the object.
    const auto is_key = [&](std::uint32_t key) { return key == *mkey || key >> 8 == *mkey >> 8; };
    if (mkey && std::ranges::none_of(seen.keys, is_key))
        return false;
    const auto is_kind = [&](What what) { return std::ranges::find(kinds, what) != kinds.end(); };
    return kinds.empty() || is_kind(seen.what()) || std::ranges::any_of(seen.items, is_kind, &Item::what);
}

std::expected<std::int64_t, std::string> parse_time(std::string_view text) {
    struct Unit {
        std::string_view name;
        double ps;
    };
    constexpr std::array units{Unit{"", 1},     Unit{"ps", 1},   Unit{"ns", 1e3},
                               Unit{"us", 1e6}, Unit{"ms", 1e9}, Unit{"s", 1e12}};
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    while (rest.starts_with(' '))
        rest.remove_prefix(1);
    const auto unit = std::ranges::find(units, rest, &Unit::name);
    constexpr double most = 9e18; // times are below 2^63 ps
    if (error != std::errc{} || unit == units.end() || !(value >= 0) || value * unit->ps > most)
        return std::unexpected(fmt::format("\"{}\" is no time; 1.5us, 20ns, 3ms are", text));
    return std::llround(value * unit->ps);
}

std::expected<std::uint64_t, std::string> parse_number(std::string_view text) {
    const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    const auto digits = is_hexadecimal ? text.substr(2) : text;
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hexadecimal ? 16 : 10);
    if (error != std::errc{} || end != digits.data() + digits.size())
        return std::unexpected(fmt::format("\"{}\" is no number; 17 and 0x11 are", text));
    return value;
}

std::expected<Range, std::string> parse_range(std::string_view text) {
    const auto dash = text.find('-');
    const auto begin = text.substr(0, dash), end = dash == text.npos ? begin : text.substr(dash + 1);
    const auto first = begin.empty() ? std::expected<std::uint64_t, std::string>(1) : parse_number(begin);
    const auto last = end.empty() ? std::expected<std::uint64_t, std::string>(0) : parse_number(end);
    const bool is_open = end.empty();
    if (!first || !last || (begin.empty() && is_open) || (!is_open && *last < *first))
        return std::unexpected(fmt::format("\"{}\" is no range of records; 7, 7-9, 7- and -9 are", text));
    return Range{*first, is_open ? std::nullopt : std::optional(*last)};
}

std::expected<std::vector<What>, std::string> parse_kinds(std::string_view text) {
    std::vector<What> kinds;
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        const auto kind = what_named(text.substr(0, comma));
        if (!kind) {
            std::string all;
            for (auto what = What::other; what <= What::event; what = static_cast<What>(static_cast<int>(what) + 1))
                all.append(all.empty() ? "" : ", ").append(name(what));
            return std::unexpected(fmt::format("\"{}\" is no kind; the kinds are {}", text.substr(0, comma), all));
        }
        kinds.push_back(*kind);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return kinds;
}

} // namespace traces::tool
