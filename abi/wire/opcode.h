// BTH operation codes (IBA 9.2, table "BTH OpCode"): transport service in bits 7..5, operation in bits 4..0.
// Witness: testbench/witness (scapy and tshark name the same codes).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace abi::wire {

/// Transport service: bits 7..5 of the opcode.
enum class Service : std::uint8_t { rc = 0, uc = 1, rd = 2, ud = 3, cnp = 4, xrc = 5 };

/// Operation: bits 4..0 of the opcode.
enum class Operation : std::uint8_t {
    send_first = 0x00,
    send_middle = 0x01,
    send_last = 0x02,
    send_last_with_immediate = 0x03,
    send_only = 0x04,
    send_only_with_immediate = 0x05,
    write_first = 0x06,
    write_middle = 0x07,
    write_last = 0x08,
    write_last_with_immediate = 0x09,
    write_only = 0x0a,
    write_only_with_immediate = 0x0b,
    read_request = 0x0c,
    read_response_first = 0x0d,
    read_response_middle = 0x0e,
    read_response_last = 0x0f,
    read_response_only = 0x10,
    acknowledge = 0x11,
    atomic_acknowledge = 0x12,
    compare_swap = 0x13,
    fetch_add = 0x14,
    send_last_with_invalidate = 0x16,
    send_only_with_invalidate = 0x17,
};

/// What an operation is, read off one table row instead of off switches.
struct OperationTraits {
    std::string_view name; ///< empty for a reserved code
    enum class Kind : std::uint8_t { reserved, send, write, read_request, read_response, acknowledge, atomic } kind{};
    bool is_first = false;       ///< starts a message
    bool is_last = false;        ///< ends a message
    bool has_payload = false;    ///< data follows the headers (may be empty for an "only")
    bool has_reth = false;       ///< RDMA extended transport header
    bool has_aeth = false;       ///< ACK extended transport header
    bool has_atomic = false;     ///< atomic extended transport header
    bool has_atomic_ack = false; ///< atomic ACK extended transport header
    bool has_immediate = false;  ///< immediate data header
    bool has_invalidate = false; ///< invalidate extended transport header
    constexpr bool is_valid() const { return kind != Kind::reserved; }
    constexpr bool is_request() const {
        return kind == Kind::send || kind == Kind::write || kind == Kind::read_request || kind == Kind::atomic;
    }
};

inline constexpr auto operations = [] {
    using K = OperationTraits::Kind;
    std::array<OperationTraits, 32> t{};
    const auto at = [&t](Operation op) -> OperationTraits& { return t[static_cast<std::uint8_t>(op)]; };
    using enum Operation;
    // clang-format off: a row an operation
    at(send_first) = {.name = "SEND First", .kind = K::send, .is_first = true, .has_payload = true};
    at(send_middle) = {.name = "SEND Middle", .kind = K::send, .has_payload = true};
    at(send_last) = {.name = "SEND Last", .kind = K::send, .is_last = true, .has_payload = true};
    at(send_last_with_immediate) = {.name = "SEND Last with Immediate", .kind = K::send, .is_last = true,
                                    .has_payload = true, .has_immediate = true};
    at(send_only) = {.name = "SEND Only", .kind = K::send, .is_first = true, .is_last = true, .has_payload = true};
    at(send_only_with_immediate) = {.name = "SEND Only with Immediate", .kind = K::send, .is_first = true,
                                    .is_last = true, .has_payload = true, .has_immediate = true};
    at(write_first) = {.name = "RDMA WRITE First", .kind = K::write, .is_first = true, .has_payload = true,
                       .has_reth = true};
    at(write_middle) = {.name = "RDMA WRITE Middle", .kind = K::write, .has_payload = true};
    at(write_last) = {.name = "RDMA WRITE Last", .kind = K::write, .is_last = true, .has_payload = true};
    at(write_last_with_immediate) = {.name = "RDMA WRITE Last with Immediate", .kind = K::write, .is_last = true,
                                     .has_payload = true, .has_immediate = true};
    at(write_only) = {.name = "RDMA WRITE Only", .kind = K::write, .is_first = true, .is_last = true,
                      .has_payload = true, .has_reth = true};
    at(write_only_with_immediate) = {.name = "RDMA WRITE Only with Immediate", .kind = K::write, .is_first = true,
                                     .is_last = true, .has_payload = true, .has_reth = true, .has_immediate = true};
    at(read_request) = {.name = "RDMA READ Request", .kind = K::read_request, .is_first = true, .is_last = true,
                        .has_reth = true};
    at(read_response_first) = {.name = "RDMA READ Response First", .kind = K::read_response, .is_first = true,
                               .has_payload = true, .has_aeth = true};
    at(read_response_middle) = {.name = "RDMA READ Response Middle", .kind = K::read_response, .has_payload = true};
    at(read_response_last) = {.name = "RDMA READ Response Last", .kind = K::read_response, .is_last = true,
                              .has_payload = true, .has_aeth = true};
    at(read_response_only) = {.name = "RDMA READ Response Only", .kind = K::read_response, .is_first = true,
                              .is_last = true, .has_payload = true, .has_aeth = true};
    at(acknowledge) = {.name = "Acknowledge", .kind = K::acknowledge, .is_first = true, .is_last = true,
                       .has_aeth = true};
    at(atomic_acknowledge) = {.name = "ATOMIC Acknowledge", .kind = K::acknowledge, .is_first = true,
                              .is_last = true, .has_aeth = true, .has_atomic_ack = true};
    at(compare_swap) = {.name = "CompareSwap", .kind = K::atomic, .is_first = true, .is_last = true,
                        .has_atomic = true};
    at(fetch_add) = {.name = "FetchAdd", .kind = K::atomic, .is_first = true, .is_last = true, .has_atomic = true};
    at(send_last_with_invalidate) = {.name = "SEND Last with Invalidate", .kind = K::send, .is_last = true,
                                     .has_payload = true, .has_invalidate = true};
    at(send_only_with_invalidate) = {.name = "SEND Only with Invalidate", .kind = K::send, .is_first = true,
                                     .is_last = true, .has_payload = true, .has_invalidate = true};
    // clang-format on
    return t;
}();

constexpr const OperationTraits& traits(Operation op) { return operations[static_cast<std::uint8_t>(op) & 0x1f]; }

/// Whether `op` exists for `service` (IBA 9.2: UC has no READ and atomics, UD only the SEND Only forms, CNP is 0x81).
constexpr bool is_defined(Service service, Operation op) {
    const auto& t = traits(op);
    using K = OperationTraits::Kind;
    switch (service) {
    case Service::rc:
    case Service::xrc: return t.is_valid();
    case Service::uc: return (t.kind == K::send || t.kind == K::write) && !t.has_invalidate;
    case Service::ud: return op == Operation::send_only || op == Operation::send_only_with_immediate;
    case Service::cnp: return static_cast<std::uint8_t>(op) == 1;
    case Service::rd: return false;
    }
    return false;
}

/// The whole eight-bit code.
constexpr std::uint8_t code(Service service, Operation op) {
    return static_cast<std::uint8_t>(static_cast<std::uint8_t>(service) << 5 | static_cast<std::uint8_t>(op));
}
constexpr Service service_of(std::uint8_t code) { return static_cast<Service>(code >> 5); }
constexpr Operation operation_of(std::uint8_t code) { return static_cast<Operation>(code & 0x1f); }

} // namespace abi::wire
