// Where data of a command lies: SGL descriptors. NVMe base 2.0 "Scatter Gather List". Little endian.
// Witness: none at compile time; the stock driver of Linux walks with these.
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

namespace abi::nvme {

// clang-format off
#define ABI_NVME_SGL_TYPES(X)              \
    X(data_block,    0, "data block")      \
    X(bit_bucket,    1, "bit bucket")      \
    X(segment,       2, "segment")         \
    X(last_segment,  3, "last segment")    \
    X(keyed,         4, "keyed data block") \
    X(transport,     5, "transport data block")
ABI_NAMED_ENUM(SglType, std::uint8_t, ABI_NVME_SGL_TYPES)
#undef ABI_NVME_SGL_TYPES

/// `invalidate` is of keyed blocks: the host would have its key invalidated with the response.
#define ABI_NVME_SGL_SUBTYPES(X)           \
    X(address,       0x0, "address")       \
    X(offset,        0x1, "offset into the capsule") \
    X(invalidate,    0xf, "remote invalidation")
ABI_NAMED_ENUM(SglSubtype, std::uint8_t, ABI_NVME_SGL_SUBTYPES)
#undef ABI_NVME_SGL_SUBTYPES

using SglDescriptor = LittleLayout<"nvme_sgl_descriptor", 16,
    U64 <"address", 0x00>,
    U32 <"length",  0x08>,
    Bits<"subtype", 0x0c, 27, 24>,            // 0: address, 1: offset
    Bits<"type",    0x0c, 31, 28, SglType>>;
// clang-format on

/// PSDT of a command: how its data pointer and its metadata pointer are to be read.
enum class DataPointerType : std::uint8_t { prp = 0, sgl_metadata_buffer = 1, sgl_metadata_sgl = 2, reserved = 3 };

} // namespace abi::nvme
