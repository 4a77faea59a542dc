#include "sw/mlx/command/mailbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sw::mlx {
namespace {

using Block = abi::prm::CommandMailbox;
constexpr std::size_t spacing = 1024; // blocks are 1 KiB aligned: the low bits of `next` are flags of older devices
constexpr std::size_t chunk_bytes = 64 * 1024;
constexpr std::size_t control_at = abi::prm::mailbox_data_bytes; // what ctrl_sig covers begins behind the data
constexpr std::size_t control_signature_at = Block::field<"ctrl_sig">::offset;
constexpr std::size_t signature_at = Block::field<"sig">::offset; // the last byte: sig covers all before it

} // namespace

Result<void> MailboxPool::grow() {
    auto chunk = memory::Buffer::allocate(transport_, chunk_bytes);
    if (!chunk)
        return std::unexpected(std::move(chunk.error()));
    for (std::size_t at = chunk->size(); at >= spacing; at -= spacing) // lowest on top
        free_.push_back({chunk->data() + at - spacing, chunk->bus() + at - spacing});
    chunks_.push_back(std::move(*chunk));
    return {};
}

Result<std::vector<Mailbox>> MailboxPool::take_chain(std::size_t bytes, std::uint8_t token) {
    std::vector<Mailbox> chain;
    const auto count = (bytes + abi::prm::mailbox_data_bytes - 1) / abi::prm::mailbox_data_bytes;
    while (free_.size() < count)
        if (auto grown = grow(); !grown)
            return std::unexpected(std::move(grown.error()));
    for (std::size_t i = 0; i < count; ++i) {
        chain.push_back(free_.back());
        free_.pop_back();
        std::memset(chain.back().data, 0, Block::size);
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto block = chain[i].view();
        block.set<"next">(i + 1 < count ? chain[i + 1].bus : 0);
        block.set<"block_num">(static_cast<std::uint32_t>(i));
        block.set<"token">(token);
    }
    return chain;
}

void MailboxPool::give_back(std::vector<Mailbox>& chain) {
    free_.insert(free_.end(), chain.rbegin(), chain.rend());
    chain.clear();
}

void fill_chain(std::span<const Mailbox> chain, std::span<const std::byte> data) {
    for (const auto& mailbox : chain) {
        const auto piece = data.first(std::min(data.size(), abi::prm::mailbox_data_bytes));
        std::ranges::copy(piece, mailbox.data);
        data = data.subspan(piece.size());
    }
}

void read_chain(std::span<const Mailbox> chain, std::span<std::byte> data) {
    for (const auto& mailbox : chain) {
        const auto piece = data.first(std::min(data.size(), abi::prm::mailbox_data_bytes));
        std::copy_n(mailbox.data, piece.size(), piece.begin());
        data = data.subspan(piece.size());
    }
}

std::uint8_t signature_of(std::span<const std::byte> bytes) {
    return static_cast<std::uint8_t>(~abi::prm::xor_of(bytes));
}

void sign_chain(std::span<const Mailbox> chain) {
    for (const auto& mailbox : chain) {
        const auto block = mailbox.view();
        const auto bytes = std::span(mailbox.data, Block::size);
        block.set<"ctrl_sig">(signature_of(bytes.subspan(control_at, control_signature_at - control_at)));
        block.set<"sig">(signature_of(bytes.first(signature_at)));
    }
}

bool is_chain_signed(std::span<const Mailbox> chain) {
    return std::ranges::all_of(chain, [](const Mailbox& mailbox) {
        const auto bytes = std::span(mailbox.data, Block::size);
        return signature_of(bytes.subspan(control_at, control_signature_at + 1 - control_at)) == 0 &&
               signature_of(bytes) == 0;
    });
}

} // namespace sw::mlx
