// Mailbox chains (PRM "Command interface", mailboxes): input longer than 16 bytes comes, and longer output goes, in
// blocks of 512 bytes that the driver links together. Walks a chain, checks every block, moves the bytes. Never follows
// more blocks than the length needs, so a chain that bites its tail ends with a wrong block number.
#pragma once

#include "abi/prm/command.h"
#include "model/port/dma.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <vector>

namespace firmware {

struct Chain {
    std::uint64_t first = 0;      ///< bus address of the first block
    std::uint8_t token = 0;       ///< as in the command queue entry
    bool check_signature = false; ///< cmdif_checksum: also signs what is written
};

/// Reads `length` bytes. Memory grows with the blocks that really arrive, never with `length` alone.
std::expected<std::vector<std::byte>, abi::prm::DeliveryStatus> read_chain(model::port::Dma& dma, const Chain& chain,
                                                                           std::size_t length, model::port::Time& at);

/// The blocks that will take `length` bytes of output, checked before the command has any effect.
std::expected<std::vector<abi::BusAddress>, abi::prm::DeliveryStatus>
open_chain(model::port::Dma& dma, const Chain& chain, std::size_t length, model::port::Time& at);

/// Writes `bytes` into the blocks that open_chain() found for them.
model::port::DmaStatus write_chain(model::port::Dma& dma, const Chain& chain, std::span<const abi::BusAddress> blocks,
                                   std::span<const std::byte> bytes, model::port::Time& at);

} // namespace firmware
