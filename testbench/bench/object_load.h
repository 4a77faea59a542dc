// ./dev bench objects: what it takes to make and to destroy memory keys and queue pairs by the command interface, with
// our own driver and the timing model off, while few and while many others exist. Who searches, instead of looking up,
// is seen as a time that grows with their number. Seconds are those of a processor, as with drives.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

struct ObjectNumbers {
    std::uint32_t keys = 1'000'000;
    std::uint32_t queue_pairs = 100'000;
};

/// A table: for each kind of object and each order of destruction a line where 1 %, 10 % and all of the number exist.
std::string measure_objects(const ObjectNumbers& numbers);

} // namespace bench
