// Mailbox chains (PRM "Command interface", mailboxes): input longer than 16 bytes comes, and longer output goes, in
// blocks of 512 bytes that the driver links together. Walks a chain, checks every block, moves the bytes. Never follows
// more blocks than the length needs, so a chain that leads back to itself ends with a wrong block number.
#pragma once

#include "abi/prm/command.h"
#include "model/port/dma.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace firmware {

struct Chain {
    std::uint64_t first = 0;      ///< bus address of the first block
    std::uint8_t token = 0;       ///< as in the command queue entry
    bool check_signature = false; ///< cmdif_checksum: also signs what is written
};

/// What came in by a chain. `done` is the time of the last access, also where a block was refused.
struct ChainInput {
    abi::prm::DeliveryStatus status = abi::prm::DeliveryStatus::ok;
    model::port::Time done{};
    std::vector<std::byte> bytes{};
};
/// Where output will go, block by block.
struct ChainOutput {
    abi::prm::DeliveryStatus status = abi::prm::DeliveryStatus::ok;
    model::port::Time done{};
    std::vector<abi::BusAddress> blocks{};
};

/// Reads `length` bytes. Memory is allocated for blocks that have arrived, never for `length` alone.
ChainInput read_chain(model::port::Dma& dma, const Chain& chain, std::size_t length, model::port::Time at);

/// The blocks that will take `length` bytes of output, checked before the command has any effect.
ChainOutput open_chain(model::port::Dma& dma, const Chain& chain, std::size_t length, model::port::Time at);

/// Writes `bytes` into the blocks that open_chain() found for them; ends at the first block that cannot be written.
model::port::DmaResult write_chain(model::port::Dma& dma, const Chain& chain, std::span<const abi::BusAddress> blocks,
                                   std::span<const std::byte> bytes, model::port::Time at);

} // namespace firmware
