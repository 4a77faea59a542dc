// How a table of keys is written: a row for a member, from which kind and access follow. Included by the tables alone.
#pragma once

#include "platform/topology/keys.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace platform::topology::key_rows {

using model::port::Encapsulation;
using model::port::Time;

inline constexpr double KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
inline constexpr double us = 1e6, ms = 1e9, s = 1e12; // picoseconds

/// The names of an enumeration's values, in their order.
template <class Enumeration> inline constexpr std::array<std::string_view, 0> names{};
template <> inline constexpr auto names<AcsMode> = acs_modes;
template <> inline constexpr auto names<FabricRouting> = fabric_routings;
template <>
inline constexpr std::array<std::string_view, 3> names<Encapsulation>{"roce_v2", "roce_v2_ipv6", "infiniband"};
template <> inline constexpr auto names<HcaModel> = hca_models;
template <> inline constexpr auto names<model::hca::congestion::Algorithm> = model::hca::congestion::algorithms;
template <> inline constexpr auto names<TrafficPattern> = traffic_patterns;
template <> inline constexpr auto names<TrafficDirection> = traffic_directions;
template <> inline constexpr auto names<TrafficOrder> = traffic_orders;
template <> inline constexpr auto names<TrafficMemory> = traffic_memories;
template <> inline constexpr auto names<TrafficAccess> = traffic_accesses;
template <> inline constexpr auto names<TrafficArrivals> = traffic_arrivals;
template <> inline constexpr auto names<AllreduceAlgorithm> = allreduce_algorithms;
template <> inline constexpr auto names<KvBy> = kv_ways;
template <> inline constexpr auto names<StoragePattern> = storage_patterns;
template <> inline constexpr auto names<StorageMemory> = storage_memories;

/// A key whose member `access` gives; the kind follows from the member's type unless it is said.
template <auto access> using Member = std::remove_cvref_t<decltype(access(std::declval<Config&>()))>;

template <auto access> constexpr Kind kind_of_member() {
    using M = Member<access>;
    if constexpr (std::is_same_v<M, bool>)
        return Kind::boolean;
    else if constexpr (std::is_integral_v<M>)
        return Kind::integer;
    else if constexpr (std::is_floating_point_v<M>)
        return Kind::number;
    else if constexpr (std::is_same_v<M, Time>)
        return Kind::time;
    else
        return Kind::text;
}

template <auto access> void set_member(Config& config, const Value& value) {
    using M = Member<access>;
    auto& member = access(config);
    if constexpr (std::is_same_v<M, bool>)
        member = std::get<bool>(value);
    else if constexpr (std::is_integral_v<M>)
        member = static_cast<M>(std::get<std::int64_t>(value));
    else if constexpr (std::is_floating_point_v<M>)
        member = std::get<double>(value);
    else if constexpr (std::is_same_v<M, Time>)
        member = Time{std::get<std::int64_t>(value)};
    else if constexpr (std::is_enum_v<M>)
        member = static_cast<M>(std::ranges::find(names<M>, std::get<std::string>(value)) - names<M>.begin());
    else
        member = std::get<std::string>(value);
}

template <auto access> Value get_member(const Config& config) {
    using M = Member<access>;
    const auto& member = access(config);
    if constexpr (std::is_same_v<M, bool>)
        return member;
    else if constexpr (std::is_integral_v<M>)
        return static_cast<std::int64_t>(member);
    else if constexpr (std::is_floating_point_v<M>)
        return member;
    else if constexpr (std::is_same_v<M, Time>)
        return member.count();
    else if constexpr (std::is_enum_v<M>)
        return std::string(names<M>.at(static_cast<std::size_t>(member)));
    else
        return member;
}

template <auto access> constexpr Key key(std::string_view path, Limits limits, std::string_view help) {
    return {path, kind_of_member<access>(), limits, help, set_member<access>, get_member<access>};
}
template <auto access> constexpr Key size(std::string_view path, Limits limits, std::string_view help) {
    return {path, Kind::size, limits, help, set_member<access>, get_member<access>};
}

/// A whole number of bytes that is written without a unit.
template <auto access> constexpr Key bytes(std::string_view path, Limits limits, std::string_view help) {
    return {path, kind_of_member<access>(), limits, help, set_member<access>, get_member<access>, "bytes"};
}

/// One of the names of an enumeration.
template <auto access> constexpr Key choice(std::string_view path, std::string_view help) {
    return {path, Kind::text, {.names = names<Member<access>>}, help, set_member<access>, get_member<access>};
}

constexpr Limits range(double minimum, double maximum) { return {.minimum = minimum, .maximum = maximum}; }
constexpr Limits power_of_two(double minimum, double maximum) { return {minimum, maximum, true}; }
constexpr Limits one_of(std::span<const std::int64_t> choices) { return {.choices = choices}; }
inline constexpr Limits anything{};
inline constexpr Limits probability = range(0, 1);
inline constexpr Limits latency = range(0, 10 * ms);

} // namespace platform::topology::key_rows
