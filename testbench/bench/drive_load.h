// ./dev bench nvme: how many commands a second our driver and our drive carry out, one thread for both, beside memcpy
// of the same bytes in the same samples. The medium is memory and nothing costs simulated time. Seconds are those of a
// processor, so that others on the machine change the result by its caches alone.
#pragma once

#include <string>

namespace bench {

/// A table, a line for each size, way and number of queues.
std::string measure_drive(double seconds, unsigned samples);

} // namespace bench
