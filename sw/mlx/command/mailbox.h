// Mailboxes of the command channel: blocks of 576 bytes, 1 KiB apart, that carry what does not fit the queue entry.
// Lends them out as chains, fills and reads chains (PRM "Command interface mailboxes").
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/transport/transport.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sw::mlx {

struct Mailbox {
    std::byte* data = nullptr;
    std::uint64_t bus = 0;
    abi::View<abi::prm::CommandMailbox> view() const {
        return abi::View<abi::prm::CommandMailbox>(std::span(data, abi::prm::CommandMailbox::size));
    }
};

class MailboxPool {
public:
    explicit MailboxPool(transport::Transport& transport) : transport_(transport) {}

    /// Mailboxes for `bytes` of data, zeroed, linked, numbered, and marked with `token`; none for 0 bytes.
    Result<std::vector<Mailbox>> take_chain(std::size_t bytes, std::uint8_t token);
    void give_back(std::vector<Mailbox>& chain);

private:
    Result<void> grow();

    transport::Transport& transport_;
    std::vector<memory::Buffer> chunks_;
    std::vector<Mailbox> free_;
};

void fill_chain(std::span<const Mailbox> chain, std::span<const std::byte> data);
void read_chain(std::span<const Mailbox> chain, std::span<std::byte> data);

/// Complement of the XOR of `bytes`: what makes the XOR with it 0xff.
std::uint8_t signature_of(std::span<const std::byte> bytes);
/// Writes both signatures of every mailbox of the chain.
void sign_chain(std::span<const Mailbox> chain);
/// Whether both signatures of every mailbox hold.
bool is_chain_signed(std::span<const Mailbox> chain);

} // namespace sw::mlx
