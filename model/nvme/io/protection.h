// End-to-end data protection: a guard over the bytes of a block, an application tag and a reference tag, in the
// metadata (NVM command set 1.0 "End-to-end Data Protection"). Makes such tuples, and checks them.
#pragma once

#include "model/nvme/data/refusal.h"
#include "model/nvme/space/namespace.h"

#include <cstdint>
#include <span>

namespace model::nvme {

/// What a command says of the protection of its blocks (PRINFO and the tags).
struct ProtectionRequest {
    bool is_automatic = false; ///< PRACT: the controller makes the tuples, or takes them away
    bool checks_guard = false, checks_application = false, checks_reference = false, checks_storage = false;
    std::uint16_t application_tag = 0, application_mask = 0;
    std::uint64_t reference_tag = 0; ///< of the first block
    std::uint16_t storage_tag = 0;   ///< of 32-bit guards only, whose storage tag has 16 bits
    bool asks_anything() const {
        return is_automatic || checks_guard || checks_application || checks_reference || checks_storage;
    }
};

/// What is wrong, and with which block of the range.
struct ProtectionError {
    Status status = Status::success;
    std::uint64_t block = 0;
    bool is_ok() const { return status == Status::success; }
};

/// Makes the tuple of each block. The spans have the data and the metadata of whole blocks.
void protect(const Shape& shape, const ProtectionRequest& request, std::span<const std::byte> data,
             std::span<std::byte> metadata);
/// The same for blocks whose data is all zero. `zeroes` has at least one block of them.
void protect_zeroes(const Shape& shape, const ProtectionRequest& request, std::span<const std::byte> zeroes,
                    std::span<std::byte> metadata);
/// Checks what the request asks for, block by block: guard, application tag, reference tag. Tuples with the escape
/// value are not checked.
ProtectionError check(const Shape& shape, const ProtectionRequest& request, std::span<const std::byte> data,
                      std::span<const std::byte> metadata);
/// Whether the request fits the namespace: otherwise 1/81h.
bool fits(const Shape& shape, const ProtectionRequest& request, std::uint64_t lba);
/// Bits of a reference tag.
std::uint64_t reference_mask(const Shape& shape);
/// The tuple of a block that was never written: all ones, which nobody checks.
void fill_escape(const Shape& shape, std::span<std::byte> block_metadata);

} // namespace model::nvme
