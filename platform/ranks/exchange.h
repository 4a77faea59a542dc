// The processes of one run, and how they exchange what each has for the others: in rounds, in which all take part. What
// carries it is behind this interface (mpi/); the rest of the room knows bytes.
#pragma once

#include "model/port/time.h"
#include "platform/ranks/bytes.h"

#include <string_view>
#include <vector>

namespace platform::ranks {

class Exchange {
public:
    virtual ~Exchange() = default;
    virtual unsigned rank() const = 0;
    virtual unsigned ranks() const = 0;

    struct Round {
        model::port::Time next{};  ///< the least of all
        std::vector<Bytes> from{}; ///< by rank, what it has sent to this one, and this one to itself
    };
    /// One round: sends `to[r]` to each rank r. Returns when all have done so. `next`: when this process has something
    /// to do, or what it sends has an effect.
    virtual Round exchange(model::port::Time next, std::vector<Bytes> to) = 0;
    /// Ends all processes, since this one cannot go on. Does not return.
    [[noreturn]] virtual void abandon(std::string_view why) = 0;
};

} // namespace platform::ranks
