// A platform as somebody has written it: lines with repetitions in them, not yet looked at. What they mean is a
// Description (description.h).
#pragma once

#include "platform/topology/value.h"

#include <optional>
#include <string>
#include <vector>

namespace platform::topology {

/// A key of one part, by the part's name and its own: "A.hca0.mtt_cache_entries"; in the part's own table without the
/// part's name.
struct Setting {
    std::string path;
    Value value; ///< as written
    std::string where;
};

struct WrittenPart {
    std::string path;               ///< "root0.sw0.gpu0..3"
    std::string kind{};             ///< empty: the letters of the name
    std::optional<unsigned> slot{}; ///< none: the next free one
    std::vector<Setting> settings{};
    std::string where{};
};

/// Hosts that are alike.
struct WrittenHosts {
    std::string names; ///< "A..H"
    std::vector<WrittenPart> parts{};
    std::vector<Setting> settings{};
    std::string where{};
};

struct WrittenSwitches {
    std::string names; ///< "leaf0..3"
    std::vector<Setting> settings{};
    std::string where{};
};

struct WrittenCables {
    std::string ends;    ///< "A..D.hca0 -- leaf0", "leaf0..3 >< spine0..1"
    std::string names{}; ///< empty: by number
    std::vector<Setting> settings{};
    std::string where{};
};

/// What stops working while the platform runs.
struct WrittenFailure {
    std::string cable;         ///< "cable3", "leaf0 -- spine1"
    std::string fabric_switch; ///< or "spine0": all cables of it
    std::optional<Value> at{}, until{};
    std::string where{};
};

struct Written {
    std::vector<WrittenHosts> hosts; ///< none: the pair
    std::vector<WrittenSwitches> switches;
    std::vector<WrittenCables> cables;
    std::vector<WrittenFailure> failures; ///< of the pair, too
    bool is_pair() const { return hosts.empty() && switches.empty() && cables.empty(); }
};

/// What can be written beside keys, for `hcasim keys`.
std::string about_written();

// As lines of a configuration; empty where nothing is written.
std::string print_hosts(const Written& written);
/// Inside of [fabric].
std::string print_fabric(const Written& written);
std::string print_failures(const Written& written);
std::string print_exceptions(const std::vector<Setting>& exceptions);

} // namespace platform::topology
