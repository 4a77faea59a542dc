// Memory regions: which keys there are, and where the bytes behind a range are on the bus. All page tables are in the
// card's memory, so that a look-up takes the same time whatever there is.
#pragma once

#include "abi/types.h"
#include "model/simple/numbers.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace model::simple {

enum class Right : std::uint8_t { local_read, local_write, remote_read, remote_write };
enum class Violation : std::uint8_t { no_such_key, wrong_domain, no_right, out_of_bounds };

struct Region {
    std::uint64_t iova = 0, length = 0;
    std::uint32_t pd = 0;
    bool local_write = false, remote_write = false, remote_read = false;
    unsigned log_page_size = 12;
    std::vector<std::uint64_t> pages; ///< bus addresses; the region begins within the first one
    std::uint8_t variant = 0;         ///< low 8 bits of its key

    bool allows(Right right) const {
        switch (right) {
        case Right::local_read: return true;
        case Right::local_write: return local_write;
        case Right::remote_read: return remote_read;
        case Right::remote_write: return remote_write;
        }
        return false;
    }
};

/// A range of the bus.
struct Segment {
    abi::BusAddress address;
    std::uint64_t length = 0;
};

class Regions {
public:
    explicit Regions(std::uint32_t log_numbers) : regions_(1, 1u << log_numbers) {}

    bool is_full() const { return regions_.is_full(); }
    /// There is a number left (is_full). Keys of one number differ in their variant, so that an old key is none.
    abi::Key add(Region region);
    /// nullptr: no region has this key.
    const Region* find(abi::Key key) const {
        const auto* region = regions_.find(key.index());
        return region != nullptr && region->variant == key.variant() ? region : nullptr;
    }
    void remove(abi::Key key) { regions_.remove(key.index()); }
    void clear() { regions_.clear(); }

    /// Whether `length` bytes from `address` on may be used so; of no bytes, nothing is asked.
    std::optional<Violation> check(abi::Key key, std::uint64_t address, std::uint64_t length, std::uint32_t pd,
                                   Right right) const;
    /// Calls `visit(Segment)` for each piece of a range that check() allows, in ascending order, until it says false.
    /// Returns whether all were visited.
    template <class Visit> bool visit(abi::Key key, std::uint64_t address, std::uint64_t length, Visit&& visit) const {
        const auto* region = length != 0 ? find(key) : nullptr;
        while (length != 0) {
            const auto page_bytes = std::uint64_t{1} << region->log_page_size;
            const auto begin = region->iova & (page_bytes - 1);
            const auto position = begin + (address - region->iova);
            const auto in_page = position & (page_bytes - 1);
            const auto piece = std::min(length, page_bytes - in_page);
            if (!visit(Segment{abi::BusAddress{region->pages[position >> region->log_page_size] + in_page}, piece}))
                return false;
            address += piece, length -= piece;
        }
        return true;
    }

private:
    Numbered<Region> regions_;
    std::uint8_t next_variant_ = 1;
};

} // namespace model::simple
