// Rights of memory regions and queue pairs, as one set of flags (IBA 10.6.3; ibv_access_flags).
#pragma once

#include <cstdint>

namespace sw::verbs {

enum class Access : std::uint32_t {
    none = 0, ///< local read is always allowed
    local_write = 1u << 0,
    remote_write = 1u << 1,
    remote_read = 1u << 2,
    remote_atomic = 1u << 3,
    relaxed_ordering = 1u << 4,
};
constexpr Access operator|(Access a, Access b) {
    return static_cast<Access>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr bool has(Access set, Access flag) {
    return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(flag)) != 0;
}

inline constexpr Access all_access =
    Access::local_write | Access::remote_write | Access::remote_read | Access::remote_atomic;

} // namespace sw::verbs
