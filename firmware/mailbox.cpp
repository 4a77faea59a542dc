#include "firmware/mailbox.h"

#include <algorithm>

namespace firmware {

namespace prm = abi::prm;
using model::port::Time;
using prm::CommandMailbox;
using prm::DeliveryStatus;

namespace {

constexpr std::uint64_t pointer_mask = 0x1ff;                   ///< PRM: bits 8..0 of a mailbox pointer are reserved
constexpr std::size_t control_offset = prm::mailbox_data_bytes; ///< of the part behind the data
constexpr std::size_t next_offset = CommandMailbox::field<"next">::offset;
constexpr std::size_t ctrl_sig_end = CommandMailbox::field<"ctrl_sig">::offset + 1;

/// How a bad chain is reported depends on the direction.
struct Direction {
    DeliveryStatus bad_pointer, bad_length;
};
constexpr Direction input{DeliveryStatus::bad_input_pointer, DeliveryStatus::bad_input_length};
constexpr Direction output{DeliveryStatus::bad_output_pointer, DeliveryStatus::bad_output_length};

using Block = abi::Block<CommandMailbox>;

bool is_output(const Direction& way) { return way.bad_pointer == output.bad_pointer; }

/// What must hold of block `number` once it was read.
DeliveryStatus check_block(const Chain& chain, std::uint32_t number, const Direction& way, const Block& block) {
    const auto view = block.view();
    const auto reserved = std::span(block.bytes).subspan(control_offset, next_offset - control_offset);
    if (chain.check_signature) {
        if (prm::xor_of(std::span(block.bytes).subspan(control_offset, ctrl_sig_end - control_offset)) !=
            prm::good_signature)
            return DeliveryStatus::signature_error;
        if (!is_output(way) && prm::xor_of(block.bytes) != prm::good_signature)
            return DeliveryStatus::signature_error;
    }
    if (view.get<"token">() != chain.token)
        return DeliveryStatus::token_error;
    if (view.get<"block_num">() != number)
        return DeliveryStatus::bad_block_number;
    if (std::ranges::any_of(reserved, [](std::byte b) { return b != std::byte{0}; }))
        return DeliveryStatus::reserved_not_zero;
    return DeliveryStatus::ok;
}

struct BlockRead {
    DeliveryStatus status = DeliveryStatus::ok;
    Time done{}; ///< of the access, when there was one
};

/// Reads block `number` at `address`; without data when it will be written anyway.
BlockRead read_block(model::port::Dma& dma, const Chain& chain, std::uint64_t address, std::uint32_t number,
                     const Direction& way, Block& block, Time at) {
    if (address == 0)
        return {way.bad_length, at}; // the chain is shorter than the length
    if (address & pointer_mask)
        return {way.bad_pointer, at};
    const auto from = is_output(way) ? control_offset : 0;
    const auto result = dma.read(abi::BusAddress{address + from}, std::span(block.bytes).subspan(from), at);
    if (!result.is_ok())
        return {DeliveryStatus::internal_error, at};
    return {check_block(chain, number, way, block), std::max(at, result.done)};
}

} // namespace

ChainInput read_chain(model::port::Dma& dma, const Chain& chain, std::size_t length, Time at) {
    ChainInput taken{.done = at};
    auto address = chain.first;
    for (std::uint32_t number = 0; taken.bytes.size() < length; ++number) {
        Block block;
        const auto read = read_block(dma, chain, address, number, input, block, taken.done);
        taken.done = read.done;
        taken.status = read.status;
        if (read.status != DeliveryStatus::ok)
            return taken;
        const auto count = std::min(length - taken.bytes.size(), prm::mailbox_data_bytes);
        taken.bytes.insert(taken.bytes.end(), block.bytes.begin(),
                           block.bytes.begin() + static_cast<std::ptrdiff_t>(count));
        address = block.view().get<"next">();
    }
    return taken;
}

ChainOutput open_chain(model::port::Dma& dma, const Chain& chain, std::size_t length, Time at) {
    ChainOutput opened{.done = at};
    auto address = chain.first;
    for (std::uint32_t number = 0; opened.blocks.size() * prm::mailbox_data_bytes < length; ++number) {
        Block block;
        const auto read = read_block(dma, chain, address, number, output, block, opened.done);
        opened.done = read.done;
        opened.status = read.status;
        if (read.status != DeliveryStatus::ok)
            return opened;
        opened.blocks.push_back(abi::BusAddress{address});
        address = block.view().get<"next">();
    }
    return opened;
}

model::port::DmaResult write_chain(model::port::Dma& dma, const Chain& chain, std::span<const abi::BusAddress> blocks,
                                   std::span<const std::byte> bytes, Time at) {
    for (const auto address : blocks) {
        const auto part = bytes.first(std::min(bytes.size(), prm::mailbox_data_bytes));
        bytes = bytes.subspan(part.size());
        auto result = dma.write(address, part, at);
        if (result.is_ok() && chain.check_signature) {
            // The driver checks the block as it stands in memory: its own control part, our data.
            Block block;
            result = dma.read(address, block.bytes, at);
            const auto view = block.view();
            view.set<"sig">(0);
            view.set<"sig">(static_cast<std::uint8_t>(~prm::xor_of(block.bytes)));
            if (result.is_ok())
                result = dma.write(address + (CommandMailbox::size - 1), std::span(block.bytes).last(1), at);
        }
        if (!result.is_ok())
            return {result.status, at};
        at = std::max(at, result.done);
    }
    return {model::port::DmaStatus::ok, at};
}

} // namespace firmware
