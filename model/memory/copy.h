// Copies between the memories of a platform. Small ones, which are descriptors and entries, inline; payload with the
// string instruction where the processor has it: it writes whole lines without reading them first, which memcpy only
// does for blocks larger than a packet.
#pragma once

#include <cstddef>
#include <cstring>

// The address sanitizer does not see into the instruction.
#if defined(__SANITIZE_ADDRESS__)
#define HCA_STRING_COPY 0
#elif defined(__has_feature)
#define HCA_STRING_COPY !__has_feature(address_sanitizer)
#else
#define HCA_STRING_COPY 1
#endif

namespace model::memory {

/// Ranges do not overlap.
inline void copy(std::byte* to, const std::byte* from, std::size_t length) {
    switch (length) { // the common sizes inline: doorbell records, segments, entries, WQEBBs
    case 0: return;   // a flush has no bytes, and no place for them
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    case 16: std::memcpy(to, from, 16); return;
    case 64: std::memcpy(to, from, 64); return;
    default: break;
    }
#if defined(__x86_64__) && HCA_STRING_COPY
    if (length >= 2048) {
        asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
        return;
    }
#endif
    std::memcpy(to, from, length);
}

} // namespace model::memory

#undef HCA_STRING_COPY
