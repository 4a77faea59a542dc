// Memory that the host lends to the drive for its mapping table (NVMe base 2.0 "Host Memory Buffer"). Keeps lines of
// the table there, each entry with a checksum, since the host may change what it likes: what does not fit its checksum
// is not there. Between a disable and an enable nothing is touched.
#pragma once

#include "model/nvme/data/refusal.h"
#include "model/port/dma.h"
#include "model/time/usage.h"

#include <array>
#include <cstdint>
#include <vector>

namespace model::nvme {

class HostBuffer {
public:
    static constexpr std::size_t entry_bytes = 8, line_entries = 64, line_bytes = entry_bytes * line_entries;
    static constexpr std::uint32_t most_descriptors = 64; ///< HMMAXD
    static constexpr std::uint32_t least_pages = 1;       ///< HMMINDS, in units of 4 KiB

    /// minimum    HMMIN in bytes
    /// identity   of the drive: checksums of two drives differ
    HostBuffer(port::Dma& dma, std::uint64_t minimum, std::uint64_t identity)
        : dma_(dma), minimum_(minimum), identity_(identity) {}

    /// What Set Features says: dwords 12 to 15.
    struct Attributes {
        std::uint32_t pages = 0; ///< of the memory page size
        std::uint64_t list = 0;
        std::uint32_t descriptors = 0;
    };
    /// is_returned   MR: the host gives back what it had lent before, as it was. `at` moves to when the list was read.
    Refusal enable(const Attributes& attributes, bool is_returned, std::uint32_t page_bytes, port::Time& at);
    /// Returns when the last access has ended, no earlier than `at`.
    port::Time disable(port::Time at);
    /// A Controller Level Reset: nothing that is under way comes to anything.
    void reset() { places_.clear(); }
    bool is_on() const { return !places_.empty(); }
    const Attributes& attributes() const { return attributes_; } ///< of the last enable

    struct Found {
        port::Time done{};
        bool is_good = false; ///< each entry of the line has its checksum
    };
    Found read(std::uint64_t line, port::Time at);
    /// Writes the entries of sectors [first, end), of one line. Nobody waits for that.
    void write(std::uint64_t first, std::uint64_t end, port::Time at);
    /// Nothing that was ever written there counts any more.
    void forget() { ++generation_; }

    time::Account account() const {
        return {"host memory buffer", time::Kind::cache, 1, meter_.usage(), bytes_, found_};
    }
    std::uint64_t writes() const { return writes_; }

private:
    struct Place {
        std::uint64_t address, bytes;
    };
    /// Where line number `line` has its place: one of several that share it.
    std::uint64_t address_of(std::uint64_t line) const;
    std::array<std::byte, entry_bytes> entry(std::uint64_t sector) const;

    port::Dma& dma_;
    std::uint64_t minimum_, identity_;
    Attributes attributes_;
    std::vector<Place> places_; ///< empty: off
    std::uint64_t lines_ = 0;   ///< that there is room for
    std::uint64_t generation_ = 0;
    port::Time last_{}; ///< end of the last access
    time::Meter meter_{"host memory buffer"};
    time::CacheCounters found_;
    std::uint64_t bytes_ = 0, writes_ = 0;
};

} // namespace model::nvme
