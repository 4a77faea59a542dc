// What hosts tell each other out of band before their ranks begin, as bytes: where a rank is reached, and what of its
// memory may be written to; or that something has gone wrong. Who reads them checks them: they may come from another
// process.
#pragma once

#include "platform/ranks/bytes.h"
#include "testbench/workload/participant.h"

#include <optional>
#include <string>
#include <string_view>

namespace workload {

struct RankWords {
    Rank rank = 0;
    FarRank far{};
};

void put_words(platform::ranks::Writer& writer, const RankWords& words);
/// None: they are not that.
std::optional<RankWords> get_words(platform::ranks::Reader& reader);

/// `failure` may be empty: nothing is to be told.
platform::ranks::Bytes words_of_failure(std::string_view failure);
/// None: what stands there is no failure, and nothing is taken.
std::optional<std::string> get_failure(platform::ranks::Reader& reader);

} // namespace workload
