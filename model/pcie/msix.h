// MSI-X of one function: table, pending bits, masks. Takes raised vectors, gives the messages to send; whoever sends
// them is the endpoint's business. PCIe 6.0 §6.1.4, §7.7.2.
#pragma once

#include "abi/pcie/capability.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace model::pcie {

class Msix {
public:
    struct Message {
        std::uint64_t address;
        std::uint32_t data;
        std::uint16_t vector;
        bool operator==(const Message&) const = default;
    };

    explicit Msix(std::uint16_t vectors);

    std::uint64_t table_bytes() const { return table_.size(); }
    std::uint64_t pending_bytes() const { return pending_.size() * 8; }

    /// Enable and function mask as the capability has them. Afterwards call next() until it is empty.
    void control(bool enable, bool function_mask);
    /// The message to send at once, or nothing: masked (the vector is pending then), disabled, or no such vector.
    std::optional<Message> raise(std::uint16_t vector);
    /// The next pending vector that is no longer masked; its pending bit is cleared.
    std::optional<Message> next();

    /// Any range inside the table. A write takes effect in whole aligned dwords; after it, call next() until empty.
    void read_table(std::uint64_t offset, std::span<std::byte> into) const;
    void write_table(std::uint64_t offset, std::span<const std::byte> from);
    void read_pending(std::uint64_t offset, std::span<std::byte> into) const;

    bool is_pending(std::uint16_t vector) const {
        return vector < vectors_ && (pending_[vector / 64] >> vector % 64 & 1) != 0;
    }
    void reset();

private:
    abi::ConstView<abi::pcie::MsixEntry> entry(std::size_t vector) const {
        return abi::ConstView<abi::pcie::MsixEntry>(
            std::span(table_).subspan(vector * abi::pcie::MsixEntry::size, abi::pcie::MsixEntry::size));
    }
    Message message(std::size_t vector) const;

    std::uint16_t vectors_;
    bool enable_ = false, function_mask_ = false;
    std::vector<std::byte> table_;
    std::vector<std::uint64_t> pending_;
};

} // namespace model::pcie
