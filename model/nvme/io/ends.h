// How commands end: an outcome of a refusal, or of what a medium said.
#pragma once

#include "model/nvme/io/outcome.h"
#include "model/nvme/space/namespaces.h"

namespace model::nvme {

inline Outcome ended(port::Time at) { return {.done = at}; }
inline Outcome ended(const Refusal& refusal, port::Time at) {
    return {.status = refusal.status, .dnr = refusal.dnr, .done = at, .parameter = refusal.parameter};
}
inline Outcome ended(const MediumResult& result, const Namespace& space) {
    auto outcome = ended(refusal_of(result), result.done);
    outcome.lba = result.is_ok() ? 0 : space.block_of(result.where);
    return outcome;
}
/// An error of one block, which stays until the block is written.
inline Outcome ended(Status status, std::uint64_t lba, port::Time at) {
    return {.status = status, .dnr = true, .done = at, .lba = lba};
}

/// At least `length` bytes of a buffer that keeps what it has got.
inline std::span<std::byte> take(std::vector<std::byte>& buffer, std::uint64_t length) {
    if (buffer.size() < length)
        buffer.resize(length);
    return std::span(buffer).first(length);
}

} // namespace model::nvme
