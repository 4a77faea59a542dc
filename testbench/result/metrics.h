// What is known of the values of a result by their names: which depend on the machine, where more is worse and where
// less, and how much two of them may differ.
#pragma once

#include "testbench/result/json_value.h"

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim {

enum class Worse : std::uint8_t { unknown, more, less };

/// Which direction is the worse one.
Worse worse_of(std::string_view field);
/// Whether it says who ran where (the revision, a path), and is no part of what ran.
bool is_passed_over(std::string_view group, std::string_view field);
/// Whether it depends on the machine (the wall's time): shown, compared where a tolerance says so, in no baseline.
bool is_of_machine(std::string_view field);

/// Of these groups what never happened may be left out: it counts as 0.
bool counts_absent_as_zero(std::string_view group);

/// How much a value may differ.
struct Tolerance {
    enum class Kind : std::uint8_t { absolute, percent, any };
    std::string name; ///< "sim_time_ns", "transfers", "transfers.sim_time_ns", "transfers[WRITE A -> B].sim_time_ns"
    Kind kind = Kind::absolute;
    double amount = 0;
};

/// Of "NAME=5%", "NAME=200" or "NAME=any".
std::expected<Tolerance, std::string> read_tolerance(std::string_view text);

/// Where a value stands.
struct ValuePlace {
    std::string_view group, thing, field;
};

/// How well the name of a tolerance says where the value stands: 0 not at all, more is closer.
unsigned closeness(const Tolerance& tolerance, const ValuePlace& place);
/// Of those that apply the closest, the last of equal ones. Null: none applies.
const Tolerance* closest(std::span<const Tolerance> all, const ValuePlace& place);

/// Whether `after` is near enough to `before`, both numbers.
bool is_within(const Tolerance& tolerance, double before, double after);

} // namespace hcasim
