// Messages of the vfio-user protocol, version 0.x: a header, then a body whose layout the command chooses. Where the
// kernel's VFIO has the same structure, it is the same here. Little endian. Offsets of bodies count from the end of the
// header.
// Witness: testbench/witness/vfio_test.cpp (linux/vfio.h); stock QEMU for the rest.
// vfio-user Protocol Specification 0.9.2.
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

namespace abi::vfio_user {

#define ABI_VFIO_USER_COMMANDS(X)                                                                                      \
    X(version, 1, "VERSION")                                                                                           \
    X(dma_map, 2, "DMA_MAP")                                                                                           \
    X(dma_unmap, 3, "DMA_UNMAP")                                                                                       \
    X(get_info, 4, "DEVICE_GET_INFO")                                                                                  \
    X(get_region_info, 5, "DEVICE_GET_REGION_INFO")                                                                    \
    X(get_region_io_fds, 6, "DEVICE_GET_REGION_IO_FDS")                                                                \
    X(get_irq_info, 7, "DEVICE_GET_IRQ_INFO")                                                                          \
    X(set_irqs, 8, "DEVICE_SET_IRQS")                                                                                  \
    X(region_read, 9, "REGION_READ")                                                                                   \
    X(region_write, 10, "REGION_WRITE")                                                                                \
    X(dma_read, 11, "DMA_READ")                                                                                        \
    X(dma_write, 12, "DMA_WRITE")                                                                                      \
    X(reset, 13, "DEVICE_RESET")                                                                                       \
    X(region_write_multi, 15, "REGION_WRITE_MULTI")                                                                    \
    X(device_feature, 16, "DEVICE_FEATURE")                                                                            \
    X(migration_read, 17, "MIG_DATA_READ")                                                                             \
    X(migration_write, 18, "MIG_DATA_WRITE")
ABI_NAMED_ENUM(Command, std::uint16_t, ABI_VFIO_USER_COMMANDS)
#undef ABI_VFIO_USER_COMMANDS

inline constexpr std::uint16_t major_version = 0, minor_version = 0;
enum class MessageType : std::uint8_t { command = 0, reply = 1 };

// clang-format off
using Header = LittleLayout<"header", 16,
    U16 <"id",       0x0>,                      // of the sender's choice; a reply carries the command's
    Bits<"command",  0x0, 31, 16, Command>,
    U32 <"size",     0x4>,                      // of the whole message
    Bits<"type",     0x8,  3,  0, MessageType>,
    Bits<"no_reply", 0x8,  4,  4, bool>,        // of a command: a posted one
    Bits<"is_error", 0x8,  5,  5, bool>,        // of a reply: it is a header alone
    U32 <"error",    0xc>>;                     // errno

// JSON text follows, ended by a zero byte; both are optional.
using Version = LittleLayout<"version", 4,
    U16 <"major", 0x0>,
    U16 <"minor", 0x2>>;

using DmaMap = LittleLayout<"dma_map", 32,
    U32 <"argsz",    0x00>,
    Bits<"readable", 0x04, 0, 0, bool>,
    Bits<"writable", 0x04, 1, 1, bool>,
    Bits<"reserved", 0x04, 31, 2>,
    U64 <"offset",   0x08>,                     // in the file whose descriptor comes with the message
    U64 <"address",  0x10>,
    U64 <"size",     0x18>>;

using DmaUnmap = LittleLayout<"dma_unmap", 24,
    U32 <"argsz",        0x00>,
    Bits<"dirty_bitmap", 0x04, 0, 0, bool>,
    Bits<"all",          0x04, 1, 1, bool>,     // address and size are zero
    Bits<"reserved",     0x04, 31, 2>,
    U64 <"address",      0x08>,
    U64 <"size",         0x10>>;

using DeviceInfo = LittleLayout<"device_info", 16,
    U32 <"argsz",     0x0>,
    Bits<"can_reset", 0x4, 0, 0, bool>,
    Bits<"is_pci",    0x4, 1, 1, bool>,
    U32 <"regions",   0x8>,
    U32 <"irqs",      0xc>>;

using RegionInfo = LittleLayout<"region_info", 32,
    U32 <"argsz",            0x00>,
    Bits<"readable",         0x04, 0, 0, bool>,
    Bits<"writable",         0x04, 1, 1, bool>,
    Bits<"mappable",         0x04, 2, 2, bool>,
    Bits<"has_capabilities", 0x04, 3, 3, bool>,
    U32 <"index",            0x08>,
    U32 <"capability_offset", 0x0c>,
    U64 <"size",             0x10>,
    U64 <"offset",           0x18>>;

// A capability of a region of which only areas can be mapped; `areas` entries of SparseArea follow. Their offsets count
// from the start of the region, and in the file from where the region begins there.
using SparseMmap = LittleLayout<"sparse_mmap", 16,
    U16 <"id",      0x0>,
    U16 <"version", 0x2>,
    U32 <"next",    0x4>,                       // capability, from the start of RegionInfo; 0: none
    U32 <"areas",   0x8>>;
using SparseArea = LittleLayout<"sparse_area", 16,
    U64 <"offset", 0x0>,
    U64 <"size",   0x8>>;

using RegionIoFds = LittleLayout<"region_io_fds", 16,
    U32 <"argsz", 0x0>,
    U32 <"flags", 0x4>,
    U32 <"index", 0x8>,
    U32 <"count", 0xc>>;

using IrqInfo = LittleLayout<"irq_info", 16,
    U32 <"argsz",       0x0>,
    Bits<"eventfd",     0x4, 0, 0, bool>,
    Bits<"maskable",    0x4, 1, 1, bool>,
    Bits<"automasked",  0x4, 2, 2, bool>,
    Bits<"no_resize",   0x4, 3, 3, bool>,
    U32 <"index",       0x8>,
    U32 <"count",       0xc>>;

// With data_bool, `count` bytes follow. Descriptors come beside the message.
using IrqSet = LittleLayout<"irq_set", 20,
    U32 <"argsz",          0x00>,
    Bits<"data_none",      0x04, 0, 0, bool>,
    Bits<"data_bool",      0x04, 1, 1, bool>,
    Bits<"data_eventfd",   0x04, 2, 2, bool>,
    Bits<"action_mask",    0x04, 3, 3, bool>,
    Bits<"action_unmask",  0x04, 4, 4, bool>,
    Bits<"action_trigger", 0x04, 5, 5, bool>,
    Bits<"reserved",       0x04, 31, 6>,
    U32 <"index",          0x08>,
    U32 <"start",          0x0c>,
    U32 <"count",          0x10>>;

// Region read and write; the bytes follow in a write and in the reply to a read.
using RegionAccess = LittleLayout<"region_access", 16,
    U64 <"offset", 0x0>,
    U32 <"region", 0x8>,
    U32 <"count",  0xc>>;

// `writes` entries of RegionWriteSmall follow.
using RegionWriteMulti = LittleLayout<"region_write_multi", 8,
    U64 <"writes", 0x0>>;
using RegionWriteSmall = LittleLayout<"region_write_small", 24,
    U64 <"offset", 0x00>,
    U32 <"region", 0x08>,
    U32 <"count",  0x0c>,                       // at most 8
    Raw <"data",   0x10, 8>>;

// From server to client; the bytes follow in a write and in the reply to a read.
using DmaAccess = LittleLayout<"dma_access", 16,
    U64 <"address", 0x0>,
    U64 <"count",   0x8>>;
// clang-format on

/// Regions and interrupt types of a PCI device, as VFIO numbers them.
inline constexpr std::uint32_t bar_regions = 6, rom_region = 6, config_region = 7, vga_region = 8, region_count = 9;
inline constexpr std::uint16_t sparse_mmap_id = 1, sparse_mmap_version = 1;
enum class IrqType : std::uint32_t { intx = 0, msi = 1, msix = 2, error = 3, request = 4 };
inline constexpr std::uint32_t irq_type_count = 5;

/// What holds where a peer does not say otherwise in the version handshake.
inline constexpr std::uint32_t default_max_transfer = 1 << 20, default_max_descriptors = 1, default_max_maps = 65535,
                               default_page_sizes = 4096;

} // namespace abi::vfio_user
