#include "traces/codec/digest.h"

#include <xxhash.h>

#include <bit>
#include <new>

namespace traces::codec {
namespace {

Digest canonical(XXH128_hash_t hash) {
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, hash);
    return std::bit_cast<Digest>(bytes.digest);
}

XXH3_state_t* xxh(void* state) { return static_cast<XXH3_state_t*>(state); }

} // namespace

Digest digest_of(std::span<const std::byte> bytes) { return canonical(XXH3_128bits(bytes.data(), bytes.size())); }

RunningDigest::RunningDigest() : state_(reinterpret_cast<State*>(XXH3_createState())) {
    if (state_ == nullptr)
        throw std::bad_alloc();
    XXH3_128bits_reset(xxh(state_.get()));
}

void RunningDigest::Free::operator()(State* state) const { XXH3_freeState(xxh(state)); }

void RunningDigest::add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(xxh(state_.get()), bytes.data(), bytes.size());
}

Digest RunningDigest::value() const { return canonical(XXH3_128bits_digest(xxh(state_.get()))); }

} // namespace traces::codec
