// Reads PRP lists and SGL segments, and makes a list of bus ranges of them. The lists are in memory of the host, which
// may contain anything, change, or not be there: each way to be wrong has its status, and a walk has an end.
#pragma once

#include "abi/nvme/registers.h"
#include "model/nvme/controller_memory.h"
#include "model/nvme/data/command_grants.h"
#include "model/nvme/data/data_pointer.h"
#include "model/nvme/data/refusal.h"
#include "model/port/dma.h"

#include <array>
#include <optional>

namespace model::nvme {

enum class Direction : std::uint8_t { from_host, to_host };

/// What the controller says of itself in SGLS and CC.MPS.
struct DataRules {
    std::uint32_t page_bytes = abi::nvme::least_page_bytes;
    bool takes_sgl = true;          ///< SGLS 1:0; otherwise there are PRPs only
    bool is_dword_granular = false; ///< SGLS 1:0 = 2; otherwise data blocks have any address and length
    bool takes_bit_buckets = true;  ///< SGLS bit 16
    bool takes_excess = true;       ///< SGLS bit 18: an SGL may be longer than the data
    bool takes_metadata_sgl = true; ///< SGLS bit 19
    /// One command looks at so many descriptors: a chain of segments could be as long as memory.
    std::uint32_t most_descriptors = 65536;
};

class DataWalker {
public:
    explicit DataWalker(port::Dma& dma) : dma_(dma) {}

    void set_rules(const DataRules& rules) { rules_ = rules; }
    const DataRules& rules() const { return rules_; }
    /// Memory of the controller, in which lists and data may lie as it says. It outlives this.
    void set_memory(const ControllerMemory& memory) { memory_ = &memory; }
    /// Is told of every place that a walk finds. It outlives the walker.
    void set_grants(CommandGrants& grants) { grants_ = &grants; }
    CommandGrants& grants() { return *grants_; }

    /// Where the first `length` bytes of the data lie. `at` moves to when the last list was there. `out` is only
    /// meaningful after a success. Nothing behind what is needed is read.
    Refusal walk(const DataPointer& pointer, std::uint64_t length, Direction direction, BusRanges& out, port::Time& at);
    /// The same for metadata that is not part of the data: a buffer at MPTR, or an SGL. Comes behind the walk of the
    /// command's data.
    Refusal walk_metadata(const DataPointer& pointer, std::uint64_t length, Direction direction, BusRanges& out,
                          port::Time& at);

private:
    /// What differs between the SGL of data and that of metadata.
    struct SglOf {
        Direction direction;
        Status wrong_length;
        std::uint16_t parameter;
    };
    Refusal walk_data(const DataPointer& pointer, std::uint64_t length, Direction direction, BusRanges& out,
                      port::Time& at);
    Refusal walk_to_metadata(const DataPointer& pointer, std::uint64_t length, Direction direction, BusRanges& out,
                             port::Time& at);
    /// Of a command, all lists lie in the controller's memory or none of them, and so do data and metadata (CMBLOC
    /// CDPMLS and CDMMMS are 0). Lists may lie elsewhere than the command and its data (CDPCILS is 1).
    Refusal check_list(std::uint64_t address, std::uint64_t length);
    Refusal check_data(const BusRanges& ranges, Direction direction, std::uint16_t parameter);
    Refusal walk_prps(const DataPointer& pointer, std::uint64_t length, BusRanges& out, port::Time& at);
    Refusal walk_prp_list(std::uint64_t list, std::uint64_t length, BusRanges& out, port::Time& at);
    Refusal walk_sgl(abi::ConstView<abi::nvme::SglDescriptor> first, std::uint64_t length, const SglOf& what,
                     BusRanges& out, port::Time& at);
    Refusal walk_segment(abi::Block<abi::nvme::SglDescriptor>& segment, std::uint64_t& left, std::uint32_t& budget,
                         const SglOf& what, BusRanges& out, port::Time& at, bool& goes_on);
    /// A data block or a bit bucket.
    Refusal add_block(abi::ConstView<abi::nvme::SglDescriptor> descriptor, std::uint64_t& left, const SglOf& what,
                      BusRanges& out);
    /// A place of the data, as an entry of this kind names it.
    void add(BusRanges& out, port::GrantKind kind, BusRange range) {
        out.add(range);
        if (!range.is_bucket)
            grants_->add(kind, range.address, range.length);
    }
    Refusal fetch(std::uint64_t address, std::span<std::byte> into, port::GrantKind by, port::Time& at);

    port::Dma& dma_;
    DataRules rules_;
    const ControllerMemory* memory_ = nullptr;
    CommandGrants nobody_; ///< where nobody has asked
    CommandGrants* grants_ = &nobody_;
    std::optional<bool> has_lists_inside_, has_data_inside_; ///< of the command under way, as far as it is known
    std::array<std::byte, 4096> piece_{};                    ///< part of a list
};

} // namespace model::nvme
