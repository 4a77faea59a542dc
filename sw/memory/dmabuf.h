// A handle to memory of one device that another device may reach: bus address ranges in order, shared between exporter
// and importers. The memory stays with the exporter's allocator until the last holder lets go. No mapping, no fence, no
// move in this form: the memory is pinned for the life of the handle.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace sw::memory {

/// Consecutive bytes on the bus.
struct BusRange {
    std::uint64_t bus = 0;
    std::uint64_t size = 0;
    bool operator==(const BusRange&) const = default;
};

class DmaBuf {
public:
    DmaBuf(std::vector<BusRange> ranges, std::shared_ptr<const void> keeps_alive)
        : ranges_(std::move(ranges)), keeps_alive_(std::move(keeps_alive)) {
        for (const auto& range : ranges_)
            size_ += range.size;
    }
    /// In the order of the buffer's bytes; adjacent ranges may touch.
    const std::vector<BusRange>& ranges() const { return ranges_; }
    std::uint64_t size() const { return size_; }

private:
    std::vector<BusRange> ranges_;
    std::shared_ptr<const void> keeps_alive_;
    std::uint64_t size_ = 0;
};

/// What an importer holds.
using DmaBufHandle = std::shared_ptr<const DmaBuf>;

} // namespace sw::memory
