// The dies of a drive, and the channels that they share: a read senses a page and then crosses the channel, a program
// crosses it first. A program that has not begun is overtaken by reads, which somebody waits for; once it has begun it
// is not interrupted. Computes times, holds no bytes.
#pragma once

#include "model/nvme/flash/config.h"
#include "model/time/line.h"
#include "model/time/server.h"

#include <deque>
#include <vector>

namespace model::nvme {

/// Is told when the end of a program is known, which may lie ahead.
class ProgramListener {
public:
    virtual ~ProgramListener() = default;
    virtual void programmed(std::uint32_t page, port::Time done) = 0;
};

class Dies {
public:
    explicit Dies(const FlashConfig& config);

    unsigned count() const { return dies_.units(); }
    /// Pages that are neighbours are on dies of different channels.
    unsigned die_of(std::uint64_t page) const { return static_cast<unsigned>(page % count()); }

    /// Senses a page, of which `bytes` cross the channel. Returns when the last one is across.
    port::Time read(unsigned die, std::uint64_t bytes, port::Time at);
    /// Number `page` of the listener is to be programmed, from `ready` on. Programs of a die keep their order.
    void program(unsigned die, std::uint32_t page, port::Time ready);
    /// Begins each program that can begin until `now`.
    void begin_programs(port::Time now);
    /// Begins the one that can begin before all others. False: there is none.
    bool begin_next_program();
    /// Begins all of them, of one die or of all. Returns when the last one that was ever begun is done.
    port::Time finish_programs(unsigned die);
    port::Time finish_programs();

    void set_listener(ProgramListener& listener) { listener_ = &listener; }
    void accounts(std::vector<time::Account>& rows) const;

private:
    struct Program {
        std::uint32_t page;
        port::Time ready;
    };
    struct Die {
        std::deque<Program> waiting;  ///< in order
        std::uint64_t programmed = 0; ///< pages
        port::Time done{};            ///< of the last program
    };
    time::Line& channel_of(unsigned die) { return channels_[die % channels_.size()]; }
    port::Time begin_of(unsigned die) const {
        return std::max(dies_.free_from(die), waiting_[die].waiting.front().ready);
    }
    void begin_program(unsigned die);
    void begin_programs(unsigned die, port::Time now);

    FlashConfig config_;
    time::Server dies_;
    std::vector<time::Line> channels_;
    std::vector<Die> waiting_; ///< by number of the die
    /// No program can begin before this.
    port::Time next_begin_ = port::never;
    ProgramListener* listener_ = nullptr;
};

} // namespace model::nvme
