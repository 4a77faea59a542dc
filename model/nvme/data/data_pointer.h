// Where the data and the metadata of a command lie, as the command says it: PRP entries or an SGL descriptor (NVMe base
// 2.0 "Submission Queue Entry": DPTR, MPTR, PSDT). And the list of places that a walk makes of it.
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/sgl.h"

#include <cstdint>
#include <vector>

namespace model::nvme {

struct DataPointer {
    abi::nvme::DataPointerType type = abi::nvme::DataPointerType::prp;
    std::uint64_t prp1 = 0, prp2 = 0; ///< or, byte for byte, an SGL descriptor
    std::uint64_t mptr = 0;

    static DataPointer of(abi::ConstView<abi::nvme::Command> command) {
        return {command.get<"psdt">(), command.get<"prp1">(), command.get<"prp2">(), command.get<"mptr">()};
    }
};

/// Places of the DPTR and the MPTR in the command, for errors.
inline constexpr std::size_t prp1_offset = abi::nvme::Command::field<"prp1">::offset;
inline constexpr std::size_t prp2_offset = abi::nvme::Command::field<"prp2">::offset;
inline constexpr std::size_t mptr_offset = abi::nvme::Command::field<"mptr">::offset;

/// Bytes at a bus address, or bytes of the data that nobody wants.
struct BusRange {
    std::uint64_t address = 0, length = 0;
    bool is_bucket = false;
    bool operator==(const BusRange&) const = default;
};

/// The places of some data, in its order. Ranges that touch are one.
class BusRanges {
public:
    void clear() { ranges_.clear(), length_ = 0; }
    void add(BusRange range) {
        length_ += range.length;
        if (!ranges_.empty()) {
            auto& last = ranges_.back();
            const bool is_next = range.is_bucket || (last.address + last.length == range.address &&
                                                     last.address + last.length > last.address);
            if (last.is_bucket == range.is_bucket && is_next) {
                last.length += range.length;
                return;
            }
        }
        ranges_.push_back(range);
    }
    std::uint64_t length() const { return length_; }
    auto begin() const { return ranges_.begin(); }
    auto end() const { return ranges_.end(); }
    std::size_t size() const { return ranges_.size(); }

private:
    std::vector<BusRange> ranges_; ///< keeps its capacity for the next command
    std::uint64_t length_ = 0;
};

} // namespace model::nvme
