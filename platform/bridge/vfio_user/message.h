// The commands of a vfio-user client as typed requests: takes the body of one message, gives what it asks for or the
// errno of the refusal. Everything that can be judged without knowing the device is judged here: sizes, counts, flags,
// ranges that wrap. Knows no device, no socket and no state. vfio-user 0.9.2.
#pragma once

#include "abi/vfio_user/message.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace platform::bridge::vfio_user {

namespace protocol = abi::vfio_user;

/// Bytes of one region access or DMA message, in either direction.
inline constexpr std::uint32_t max_transfer = protocol::default_max_transfer;
/// The longest message that means something: a region write of max_transfer bytes.
inline constexpr std::uint32_t max_message = protocol::Header::size + protocol::RegionAccess::size + max_transfer;
inline constexpr std::uint32_t max_descriptors = 16; ///< of one message

struct VersionRequest {
    std::uint16_t major, minor;
    std::string_view capabilities; ///< JSON; may be empty
};
struct DmaMapRequest {
    std::uint64_t address, size, offset;
    bool is_readable, is_writable;
};
struct DmaUnmapRequest {
    std::uint64_t address, size;
    bool is_all;
};
struct DeviceInfoRequest {};
struct RegionInfoRequest {
    std::uint32_t index;
    std::uint32_t room; ///< bytes of body that the client takes
};
struct RegionIoFdsRequest {
    std::uint32_t index;
};
struct IrqInfoRequest {
    std::uint32_t index;
};
struct IrqSetRequest {
    enum class Data : std::uint8_t { none, boolean, eventfd } data;
    enum class Action : std::uint8_t { mask, unmask, trigger } action;
    std::uint32_t index, start, count;
    std::span<const std::byte> chosen; ///< of boolean: a byte for each of `count`
};
struct RegionReadRequest {
    std::uint64_t offset;
    std::uint32_t region, count;
};
struct RegionWriteRequest {
    std::uint64_t offset;
    std::uint32_t region;
    std::span<const std::byte> data;
};
struct RegionWriteMultiRequest {
    std::span<const std::byte> writes; ///< whole RegionWriteSmall entries, each with a count of at most 8
};
struct ResetRequest {};

using Request = std::variant<VersionRequest, DmaMapRequest, DmaUnmapRequest, DeviceInfoRequest, RegionInfoRequest,
                             RegionIoFdsRequest, IrqInfoRequest, IrqSetRequest, RegionReadRequest, RegionWriteRequest,
                             RegionWriteMultiRequest, ResetRequest>;

/// `body` is the message without its header, `descriptors` how many came with it. Views of the result point into
/// `body`. The error is an errno: EINVAL where the message does not hold together, E2BIG where it asks for too much at
/// once, ENOTSUP for what the protocol knows and this server has not, ENOSYS for an unknown command.
std::expected<Request, int> decode(protocol::Command command, std::span<const std::byte> body, std::size_t descriptors);

/// A message with `body` bytes of zeroes behind its header.
std::vector<std::byte> make_message(protocol::MessageType type, std::uint16_t id, protocol::Command command,
                                    std::size_t body);
/// A reply that says why not; a header alone.
std::vector<std::byte> make_error(std::uint16_t id, protocol::Command command, int error);

inline std::span<std::byte> body_of(std::vector<std::byte>& message) {
    return std::span(message).subspan(protocol::Header::size);
}

} // namespace platform::bridge::vfio_user
