// Features, and asynchronous events. NVMe base 2.0 "Feature values", "Asynchronous Event Request". Little endian.
// Witness: testbench/witness/nvme_test.cpp (nvme/types.h of libnvme).
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

namespace abi::nvme {

// clang-format off
#define ABI_NVME_FEATURES(X)                                        \
    X(arbitration,              0x01, "arbitration")                \
    X(power_management,         0x02, "power management")           \
    X(temperature_threshold,    0x04, "temperature threshold")      \
    X(error_recovery,           0x05, "error recovery")             \
    X(volatile_write_cache,     0x06, "volatile write cache")       \
    X(number_of_queues,         0x07, "number of queues")           \
    X(interrupt_coalescing,     0x08, "interrupt coalescing")       \
    X(interrupt_vector,         0x09, "interrupt vector configuration") \
    X(write_atomicity,          0x0a, "write atomicity normal")     \
    X(async_event,              0x0b, "asynchronous event configuration") \
    X(autonomous_power,         0x0c, "autonomous power state transition") \
    X(host_memory_buffer,       0x0d, "host memory buffer")         \
    X(timestamp,                0x0e, "timestamp")                  \
    X(keep_alive,               0x0f, "keep alive timer")           \
    X(host_behavior,            0x16, "host behavior support")      \
    X(host_identifier,          0x81, "host identifier")            \
    X(write_protection,         0x84, "namespace write protection")
ABI_NAMED_ENUM(Feature, std::uint8_t, ABI_NVME_FEATURES)
#undef ABI_NVME_FEATURES

enum class Select : std::uint8_t { current = 0, standard = 1, saved = 2, capabilities = 3 };

/// Dword 11 of Set Features, and the result of Get Features.
using ArbitrationFeature = LittleLayout<"nvme_arbitration", 4,
    Bits<"ab",   0x0,  2,  0>,  // burst of 2^n commands; 7: no limit
    Bits<"lpw",  0x0, 15,  8>,  // weights, zero-based
    Bits<"mpw",  0x0, 23, 16>,
    Bits<"hpw",  0x0, 31, 24>>;
using TemperatureFeature = LittleLayout<"nvme_temperature_threshold", 4,
    Bits<"tmpth", 0x0, 15,  0>, // kelvin
    Bits<"tmpsel", 0x0, 19, 16>, // 0 composite, 1..8 a sensor, f all
    Bits<"thsel", 0x0, 21, 20>>; // 0 over, 1 under
/// Error recovery, DULBE: a read of deallocated blocks is an error.
inline constexpr std::uint32_t reports_deallocated = 1 << 16;
using QueuesFeature = LittleLayout<"nvme_number_of_queues", 4,
    Bits<"nsq",  0x0, 15,  0>,  // zero-based
    Bits<"ncq",  0x0, 31, 16>>;
using CoalescingFeature = LittleLayout<"nvme_interrupt_coalescing", 4,
    Bits<"thr",  0x0,  7,  0>,  // completions, zero-based
    Bits<"time", 0x0, 15,  8>>; // units of 100 us; 0: none
using VectorFeature = LittleLayout<"nvme_interrupt_vector", 4,
    Bits<"iv",   0x0, 15,  0, std::uint16_t>,
    Bits<"cd",   0x0, 16, 16, bool>>; // no coalescing

using Timestamp = LittleLayout<"nvme_timestamp", 8,
    U32 <"ms_low",  0>,         // milliseconds since 1970
    Bits<"ms_high", 0x4, 15,  0>,
    Bits<"synch",   0x4, 16, 16, bool>,
    Bits<"origin",  0x4, 19, 17>>; // 0: counts since a reset, 1: was set
using HostBehavior = LittleLayout<"nvme_host_behavior", 512,
    U8  <"acre",    0>,
    U8  <"etdas",   1>,
    U8  <"lbafee",  2>>;
using HostMemoryDescriptor = LittleLayout<"nvme_host_memory_descriptor", 16,
    U64 <"badd",    0>,
    U32 <"bsize",   8>>;        // in memory pages
using HostMemoryAttributes = LittleLayout<"nvme_host_memory_attributes", 4096,
    U32 <"hsize",   0>,
    U32 <"hmdlal",  4>,
    U32 <"hmdlau",  8>,
    U32 <"hmdlec",  12>>;

/// Dword 0 of the completion of an Asynchronous Event Request.
using AsyncEvent = LittleLayout<"nvme_async_event", 4,
    Bits<"type", 0x0,  2,  0, std::uint8_t>,
    Bits<"info", 0x0, 15,  8, std::uint8_t>,
    Bits<"log",  0x0, 23, 16, std::uint8_t>>;
#define ABI_NVME_EVENT_TYPES(X)       \
    X(error,  0, "error")             \
    X(smart,  1, "SMART / health")    \
    X(notice, 2, "notice")            \
    X(io_set, 6, "I/O command set")   \
    X(vendor, 7, "vendor specific")
ABI_NAMED_ENUM(EventType, std::uint8_t, ABI_NVME_EVENT_TYPES)
#undef ABI_NVME_EVENT_TYPES
enum class ErrorEvent : std::uint8_t {
    invalid_doorbell_register = 0,
    invalid_doorbell_value = 1,
    diagnostic_failure = 2,
    persistent_internal = 3,
    transient_internal = 4,
    firmware_load = 5,
};
enum class SmartEvent : std::uint8_t { reliability = 0, temperature = 1, spare = 2 };
enum class NoticeEvent : std::uint8_t { namespace_changed = 0, firmware_starting = 1, telemetry = 2 };
enum class IoSetEvent : std::uint8_t { reservation = 0, sanitize_done = 1 };

/// Dword 11 of the feature that says which events are reported; OAES has the notices at the same places.
using AsyncEventFeature = LittleLayout<"nvme_async_event_configuration", 4,
    Bits<"smart",     0x0,  7,  0>,       // as critical_warning
    Bits<"namespace_attribute", 0x0, 8, 8, bool>,
    Bits<"firmware",  0x0,  9,  9, bool>,
    Bits<"telemetry", 0x0, 10, 10, bool>>;
// clang-format on

} // namespace abi::nvme
