// Where the pages of a drive are: a table with an entry for each sector, of which the drive holds as much as its memory
// has room for. A line of the table that is not there comes from memory that the host has lent, or from the die that
// has it. Computes times; the entries themselves are kept only where the host can see them.
#pragma once

#include "model/nvme/flash/dies.h"
#include "model/nvme/flash/host_buffer.h"
#include "model/nvme/media/medium.h"
#include "model/time/cache.h"
#include "model/time/server.h"

#include <optional>
#include <vector>

namespace model::nvme {

class Mapping {
public:
    /// capacity   bytes of the drive, whose table there is
    Mapping(const FlashConfig& config, std::uint64_t capacity, Dies& dies, HostBuffer& lent);

    /// When it is known where these bytes of the drive are.
    port::Time look_up(Extent bytes, port::Time at);
    /// The same before the sectors get other places, and what the host has lent is told of them.
    port::Time update(Extent bytes, port::Time at);
    /// They are nowhere from now on. Lines that are wholly among them need not be known before.
    port::Time clear(Extent bytes, port::Time at);

    void accounts(std::vector<time::Account>& rows) const;

private:
    port::Time find(std::uint64_t line, port::Time at);
    port::Time fill(std::uint64_t line, port::Time at);
    void write(Extent sectors, port::Time at);

    FlashConfig config_;
    Dies& dies_;
    HostBuffer& lent_;
    time::Server table_;
    std::optional<time::Cache> lines_; ///< none: the whole table is in the drive's memory
};

} // namespace model::nvme
