#include "model/nvme/io/protection.h"

#include "model/nvme/data/crc.h"

#include <algorithm>
#include <array>

namespace model::nvme {

namespace {

using abi::Endian;
using abi::load;
using abi::store;

struct Tuple {
    std::uint64_t guard = 0;
    std::uint16_t application = 0, storage = 0;
    std::uint64_t reference = 0;
};

Tuple read_tuple(Guard guard, const std::byte* at) {
    switch (guard) {
    case Guard::crc16:
        return {load<std::uint16_t, Endian::big>(at), load<std::uint16_t, Endian::big>(at + 2), 0,
                load<std::uint32_t, Endian::big>(at + 4)};
    case Guard::crc32:
        return {load<std::uint32_t, Endian::big>(at), load<std::uint16_t, Endian::big>(at + 4),
                load<std::uint16_t, Endian::big>(at + 6), load<std::uint64_t, Endian::big>(at + 8)};
    case Guard::crc64:
        return {load<std::uint64_t, Endian::big>(at), load<std::uint16_t, Endian::big>(at + 8), 0,
                std::uint64_t{load<std::uint16_t, Endian::big>(at + 10)} << 32 |
                    load<std::uint32_t, Endian::big>(at + 12)};
    }
    return {};
}

void write_tuple(Guard guard, std::byte* at, const Tuple& tuple) {
    const auto reference = static_cast<std::uint32_t>(tuple.reference);
    switch (guard) {
    case Guard::crc16:
        store<std::uint16_t, Endian::big>(at, static_cast<std::uint16_t>(tuple.guard));
        store<std::uint16_t, Endian::big>(at + 2, tuple.application);
        store<std::uint32_t, Endian::big>(at + 4, reference);
        return;
    case Guard::crc32:
        store<std::uint32_t, Endian::big>(at, static_cast<std::uint32_t>(tuple.guard));
        store<std::uint16_t, Endian::big>(at + 4, tuple.application);
        store<std::uint16_t, Endian::big>(at + 6, tuple.storage);
        store<std::uint64_t, Endian::big>(at + 8, tuple.reference);
        return;
    case Guard::crc64:
        store<std::uint64_t, Endian::big>(at, tuple.guard);
        store<std::uint16_t, Endian::big>(at + 8, tuple.application);
        store<std::uint16_t, Endian::big>(at + 10, static_cast<std::uint16_t>(tuple.reference >> 32));
        store<std::uint32_t, Endian::big>(at + 12, reference);
        return;
    }
}

/// The guard covers the data, and the metadata before the tuple.
std::uint64_t guard_of(const Shape& shape, std::span<const std::byte> data, std::span<const std::byte> metadata) {
    const auto covered = metadata.first(shape.tuple_offset());
    switch (shape.format.guard) {
    case Guard::crc16: return crc16_t10(covered, crc16_t10(data));
    case Guard::crc32: return crc32c(covered, crc32c(data));
    case Guard::crc64: return crc64_nvme(covered, crc64_nvme(data));
    }
    return 0;
}

/// Types 1 and 2 count blocks, type 3 does not.
std::uint64_t reference_of(const Shape& shape, const ProtectionRequest& request, std::uint64_t block) {
    const auto step = shape.protection == Protection::type3 ? 0 : block;
    return (request.reference_tag + step) & reference_mask(shape);
}

bool is_escape(const Shape& shape, const Tuple& tuple) {
    return tuple.application == 0xffff &&
           (shape.protection != Protection::type3 || tuple.reference == reference_mask(shape));
}

} // namespace

std::uint64_t reference_mask(const Shape& shape) {
    switch (shape.format.guard) {
    case Guard::crc16: return 0xffff'ffff;
    case Guard::crc32: break;
    case Guard::crc64: return 0xffff'ffff'ffff;
    }
    return ~std::uint64_t{0};
}

bool fits(const Shape& shape, const ProtectionRequest& request, std::uint64_t lba) {
    if (!shape.is_protected())
        return !request.asks_anything();
    if (!request.checks_reference)
        return true;
    if (shape.protection == Protection::type3) // its reference tags mean nothing
        return false;
    return shape.protection != Protection::type1 || ((request.reference_tag ^ lba) & reference_mask(shape)) == 0;
}

void fill_escape(const Shape& shape, std::span<std::byte> block_metadata) {
    std::ranges::fill(block_metadata.subspan(shape.tuple_offset(), shape.tuple_bytes()), std::byte{0xff});
}

void protect(const Shape& shape, const ProtectionRequest& request, std::span<const std::byte> data,
             std::span<std::byte> metadata) {
    for (std::uint64_t block = 0; !metadata.empty(); ++block) {
        const auto own = metadata.first(shape.metadata_bytes());
        write_tuple(shape.format.guard, own.data() + shape.tuple_offset(),
                    {guard_of(shape, data.first(shape.data_bytes()), own), request.application_tag, request.storage_tag,
                     reference_of(shape, request, block)});
        data = data.subspan(shape.data_bytes()), metadata = metadata.subspan(shape.metadata_bytes());
    }
}

void protect_zeroes(const Shape& shape, const ProtectionRequest& request, std::span<const std::byte> zeroes,
                    std::span<std::byte> metadata) {
    auto one = request;
    for (; !metadata.empty(); metadata = metadata.subspan(shape.metadata_bytes())) {
        protect(shape, one, zeroes, metadata.first(shape.metadata_bytes()));
        if (shape.protection != Protection::type3)
            ++one.reference_tag;
    }
}

ProtectionError check(const Shape& shape, const ProtectionRequest& request, std::span<const std::byte> data,
                      std::span<const std::byte> metadata) {
    for (std::uint64_t block = 0; !metadata.empty(); ++block) {
        const auto own = metadata.first(shape.metadata_bytes());
        const auto tuple = read_tuple(shape.format.guard, own.data() + shape.tuple_offset());
        if (!is_escape(shape, tuple)) {
            if (request.checks_guard && tuple.guard != guard_of(shape, data.first(shape.data_bytes()), own))
                return {Status::guard_check_error, block};
            if (request.checks_application &&
                ((tuple.application ^ request.application_tag) & request.application_mask) != 0)
                return {Status::application_tag_check_error, block};
            if (request.checks_reference && tuple.reference != reference_of(shape, request, block))
                return {Status::reference_tag_check_error, block};
            if (request.checks_storage && tuple.storage != request.storage_tag)
                return {Status::reference_tag_check_error, block};
        }
        data = data.subspan(shape.data_bytes()), metadata = metadata.subspan(shape.metadata_bytes());
    }
    return {};
}

} // namespace model::nvme
