// The fences in the rules of queues, by name, so that whoever asks what one is there for can leave out that one: what
// each orders, and who says that it must. A policy of memory (queue.h) is told the name with each fence.
#pragma once

#include "abi/named_enum.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

namespace sw::gpu {

// clang-format off
#define SW_GPU_FENCES(X)                                                        \
    X(command_before_doorbell,  0, "command_before_doorbell")                    \
    X(phase_before_entry,       1, "phase_before_entry")                         \
    X(request_before_record,    2, "request_before_record")                      \
    X(record_before_doorbell,   3, "record_before_doorbell")                     \
    X(owner_before_syndrome,    4, "owner_before_syndrome")                      \
    X(flag_before_data,         5, "flag_before_data")
ABI_NAMED_ENUM(Fence, std::uint8_t, SW_GPU_FENCES)
#undef SW_GPU_FENCES
// clang-format on

struct FenceRule {
    bool is_release = false;     ///< stores before a store; otherwise a load before loads
    std::string_view of;         ///< whose queue
    std::string_view sentence{}; ///< what it orders
    std::string_view cites{};
};

constexpr FenceRule rule(Fence fence) {
    switch (fence) {
    case Fence::command_before_doorbell:
        return {true, "NVMe queue pair",
                "the entry, and what it points to, are in memory before the tail doorbell: the controller may fetch as "
                "soon as it sees the new tail",
                "NVMe base 2.0 \"Submission Queue Tail Doorbell\""};
    case Fence::phase_before_entry:
        return {false, "NVMe queue pair",
                "the phase is read before the rest of the entry and before the data: they are whole only once it has "
                "turned",
                "NVMe base 2.0 \"Phase Tag\""};
    case Fence::request_before_record:
        return {true, "RDMA send queue",
                "the work request, and what it points to, are in memory before the doorbell record: an HCA that is "
                "fetching already goes as far as the record says",
                "PRM \"Doorbell record\""};
    case Fence::record_before_doorbell:
        return {true, "RDMA send queue",
                "the doorbell record is in memory before the doorbell rings: the HCA fetches as far as the record says",
                "PRM \"Doorbell record\", \"UAR\""};
    case Fence::owner_before_syndrome:
        return {false, "RDMA completion queue",
                "the owner bit is read before the rest of the entry: it is whole only once the bit has turned",
                "PRM \"Completion queue entry\""};
    case Fence::flag_before_data:
        return {false, "a program's flag in memory",
                "the flag is read before the data that a peer has written before it", "IBA 9.5"};
    }
    return {};
}

/// The fence of that name; nothing: there is none.
constexpr std::optional<Fence> find_fence(std::string_view text) {
    for (const auto& one : named(std::type_identity<Fence>{}))
        if (one.text == text)
            return one.value;
    return std::nullopt;
}

/// A set of them.
class Fences {
public:
    constexpr Fences() = default;
    constexpr Fences(std::initializer_list<Fence> fences) {
        for (const auto fence : fences)
            bits_ |= bit(fence);
    }
    constexpr bool has(Fence fence) const { return (bits_ & bit(fence)) != 0; }
    constexpr bool is_empty() const { return bits_ == 0; }
    bool operator==(const Fences&) const = default;

private:
    static constexpr std::uint32_t bit(Fence fence) { return 1u << static_cast<unsigned>(fence); }
    std::uint32_t bits_ = 0;
};

} // namespace sw::gpu
