// What of which kind there was in a trace, how much, and how long it took: the tables of `trace stats`, and what
// `trace diff` holds against each other. Bounded, whatever the trace names.
#pragma once

#include "traces/tool/decoder.h"
#include "traces/tool/histogram.h"
#include "traces/tool/work.h"

#include <cstdint>
#include <map>
#include <string>

namespace traces::tool {

struct Traffic {
    std::uint64_t count = 0, bytes = 0;
    std::int64_t first_ps = 0, last_ps = 0;
    void add(std::int64_t time_ps, std::uint64_t more);
};

class Tally {
public:
    explicit Tally(const codec::Head& head) : head_(head) {}
    /// Each record of the trace; one that is not wanted is followed for what it says about others, and not counted.
    void add(const codec::Record& record, const Seen& seen, bool is_wanted = true);

    using Table = std::map<std::string, Traffic>; ///< by what they are, as it is printed
    const Traffic& all() const { return all_; }
    const Table& kinds() const { return kinds_; } ///< every record once, by name(What)
    const Table& links() const { return links_; }
    const Table& queues() const { return queues_; }
    const Table& opcodes() const { return opcodes_; }
    const std::map<std::string, Histogram>& times() const { return times_; }

private:
    void access(const std::string& link, const codec::Record& record, const Access& access);
    void one(const std::string& link, const codec::Record& record, const Seen& seen, const Item& item);

    const codec::Head& head_;
    WorkBoard board_;
    Traffic all_;
    Table kinds_, links_, queues_, opcodes_;
    std::map<std::string, Histogram> times_;
};

} // namespace traces::tool
