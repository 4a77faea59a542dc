// Executes the I/O commands of the NVM command set, one at a time: a command goes in, its end comes out, with the time
// at which it is reached. Knows no queues and posts no completions. NVM command set 1.0 "NVM Command Set Commands".
//
// All that can be refused is refused before the medium or the host's memory is changed. Commands come in the order in
// which the controller has fetched them, and each is over before the next begins: every command is atomic to others.
#pragma once

#include "model/nvme/data/host_data.h"
#include "model/nvme/io/io_config.h"
#include "model/nvme/io/outcome.h"
#include "model/nvme/io/protection.h"
#include "model/nvme/space/namespaces.h"

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace model::nvme {

class Io {
public:
    using Sqe = std::span<const std::byte, abi::nvme::command_bytes>;

    Io(const IoConfig& config, Namespaces& spaces, port::Dma& dma)
        : config_(config), spaces_(spaces), data_(dma), has_cache_(config.has_cache) {}

    /// One command. Half of a fused pair alone is refused (0/0Ah): the controller has both, or aborts the one it has.
    Outcome execute(Sqe sqe, port::Time at);
    /// Compare and Write. If the first fails, the second is aborted and nothing is written (NVMe base 2.0 "Fused
    /// Operation").
    std::pair<Outcome, Outcome> execute_fused(Sqe compare, Sqe write, port::Time at);

    /// Data structures in host memory, for admin commands, too.
    HostData& data() { return data_; }
    /// Feature 06h, WCE. Turning it off flushes first; the status says whether that went well.
    Refusal set_cache(bool is_on, port::Time& at);
    bool has_cache() const { return has_cache_; }

private:
    /// A command that has a namespace, and its range of blocks.
    struct Request {
        abi::ConstView<abi::nvme::Command> command;
        abi::ConstView<abi::nvme::ReadWrite> fields;
        Namespace* space;
        std::uint64_t lba, blocks;
        ProtectionRequest protection;
        DataPointer pointer;
        Durability durability;

        const Shape& shape() const { return space->shape(); }
        /// The controller makes and removes all of the metadata: the host has none of it.
        bool is_stripped() const {
            return protection.is_automatic && shape().metadata_bytes() == shape().tuple_bytes();
        }
        /// Metadata that the host sees: none, in a buffer of its own, or behind the data of each block.
        std::uint64_t host_metadata() const { return is_stripped() ? 0 : shape().metadata_bytes(); }
        bool is_interleaved() const { return shape().is_extended && host_metadata() != 0; }
        bool has_own_metadata() const { return !shape().is_extended && host_metadata() != 0; }
        std::uint64_t data_length() const { return blocks * shape().data_bytes(); }
        std::uint64_t metadata_length() const { return blocks * shape().metadata_bytes(); }
        std::uint64_t host_length() const {
            return blocks * (shape().data_bytes() + (is_interleaved() ? shape().metadata_bytes() : 0));
        }
    };
    using Handler = Outcome (Io::*)(Request&, port::Time);
    struct Row {
        abi::nvme::IoOpcode opcode;
        bool IoConfig::* is_there; ///< nullptr: always
        bool has_range;            ///< SLBA, NLB and protection of Read
        bool is_write;
        std::uint64_t IoConfig::* limit; ///< most bytes; nullptr: no limit
        Handler handler;
    };
    static const std::array<Row, 8> rows;

    Outcome dispatch(Sqe sqe, port::Time at);
    Outcome flush(abi::ConstView<abi::nvme::Command> command, port::Time at);
    Refusal check(const Row& row, const Request& request) const;
    static ProtectionRequest protection_of(abi::ConstView<abi::nvme::ReadWrite> fields, const Shape& shape);

    Outcome read(Request& request, port::Time at);
    Outcome write(Request& request, port::Time at);
    Outcome compare(Request& request, port::Time at);
    Outcome verify(Request& request, port::Time at);
    Outcome write_zeroes(Request& request, port::Time at);
    Outcome write_uncorrectable(Request& request, port::Time at);
    Outcome manage_datasets(Request& request, port::Time at);
    Outcome copy(Request& request, port::Time at);

    /// Walks DPTR and MPTR into data_ranges_ and metadata_ranges_.
    Refusal walk(const Request& request, Direction direction, port::Time& at);
    /// A block of the range that cannot be read: marked, or deallocated where that is an error.
    Outcome unreadable(const Namespace& space, std::uint64_t lba, std::uint64_t blocks, port::Time at) const;
    /// Data and metadata as the medium has them. `at` moves; not ok: the outcome is the command's.
    struct Stored {
        std::span<const std::byte> data;
        std::span<std::byte> metadata;
    };
    Outcome load(Namespace& space, std::uint64_t lba, std::uint64_t blocks, Stored& stored, port::Time& at);
    /// Writes data and metadata; the blocks are allocated and can be read afterwards.
    Outcome store(Namespace& space, std::uint64_t lba, std::uint64_t blocks, Pieces data,
                  std::span<const std::byte> metadata, Durability durability, port::Time at);
    /// What the blocks are from now on; the end of a command that has made them so.
    static Outcome mark(Namespace& space, std::uint64_t lba, std::uint64_t blocks, Namespace::Marks marks,
                        Durability durability, port::Time at);
    /// Data and metadata of the host, apart from each other, in buffers of ours.
    Refusal fetch(const Request& request, port::Time& at);
    Outcome check_protection(const Request& request, std::span<const std::byte> data,
                             std::span<const std::byte> metadata, port::Time at) const;
    Durability durability(bool is_forced) const {
        return is_forced || !has_cache_ ? Durability::durable : Durability::volatile_cache;
    }

    IoConfig config_;
    Namespaces& spaces_;
    HostData data_;
    bool has_cache_;
    // Kept from one command to the next, so that none allocates.
    BusRanges data_ranges_, metadata_ranges_;
    std::vector<std::span<const std::byte>> pieces_;
    std::vector<std::byte> stored_data_, stored_metadata_, host_data_, host_metadata_;
};

} // namespace model::nvme
