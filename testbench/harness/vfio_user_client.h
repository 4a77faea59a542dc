// Messages as a vfio-user client sends them, byte by byte under the test's control, and the answers taken apart. Knows
// no socket: tests hand the bytes to a Session or write them themselves.
#pragma once

#include "abi/vfio_user/message.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace testbench::vfio_user {

using namespace abi::vfio_user;
using Bytes = std::vector<std::byte>;

/// Copies to an offset of a body that has room.
inline void put(Bytes& body, std::size_t at, std::span<const std::byte> from) {
    std::ranges::copy(from, body.begin() + static_cast<std::ptrdiff_t>(at));
}

inline Bytes message(Command command, std::span<const std::byte> body, std::uint16_t id = 1, bool is_posted = false,
                     MessageType type = MessageType::command) {
    Bytes out(Header::size + body.size());
    abi::View<Header>(std::span(out))
        .set<"id">(id)
        .set<"command">(command)
        .set<"size">(static_cast<std::uint32_t>(out.size()))
        .set<"type">(type)
        .set<"no_reply">(is_posted);
    put(out, Header::size, body);
    return out;
}

inline Bytes version(std::uint16_t major = 0, std::uint16_t minor = 0, std::string_view json = {}) {
    Bytes body(Version::size + (json.empty() ? 0 : json.size() + 1));
    abi::View<Version>(std::span(body)).set<"major">(major).set<"minor">(minor);
    put(body, Version::size, std::as_bytes(std::span(json)));
    return message(Command::version, body);
}
/// As stock QEMU proposes it.
inline constexpr std::string_view qemu_capabilities =
    R"({"capabilities":{"pgsizes":4096,"max_msg_fds":16,"max_dma_maps":65535,"max_data_xfer_size":1048576,)"
    R"("migration":{"max_bitmap_size":268435456,"pgsize":4096},"write_multiple":true}})";

inline Bytes dma_map(std::uint64_t address, std::uint64_t size, std::uint64_t offset = 0, std::uint32_t flags = 3) {
    abi::Block<DmaMap> body;
    body.view()
        .set<"argsz">(DmaMap::size)
        .set<"readable">(flags & 1)
        .set<"writable">(flags >> 1 & 1)
        .set<"reserved">(flags >> 2)
        .set<"offset">(offset)
        .set<"address">(address)
        .set<"size">(size);
    return message(Command::dma_map, body.bytes);
}
inline Bytes dma_unmap(std::uint64_t address, std::uint64_t size, bool is_all = false) {
    abi::Block<DmaUnmap> body;
    body.view().set<"argsz">(DmaUnmap::size).set<"all">(is_all).set<"address">(address).set<"size">(size);
    return message(Command::dma_unmap, body.bytes);
}
inline Bytes get_info() {
    abi::Block<DeviceInfo> body;
    body.view().set<"argsz">(DeviceInfo::size);
    return message(Command::get_info, body.bytes);
}
/// `room` is what the client takes of an answer.
inline Bytes get_region_info(std::uint32_t index, std::uint32_t room = RegionInfo::size) {
    abi::Block<RegionInfo> body;
    body.view().set<"argsz">(room).set<"index">(index);
    return message(Command::get_region_info, body.bytes);
}
inline Bytes get_irq_info(std::uint32_t index) {
    abi::Block<IrqInfo> body;
    body.view().set<"argsz">(IrqInfo::size).set<"index">(index);
    return message(Command::get_irq_info, body.bytes);
}
/// `flags` as the kernel's VFIO_IRQ_SET_ numbers.
inline Bytes set_irqs(std::uint32_t flags, std::uint32_t index, std::uint32_t start, std::uint32_t count,
                      std::span<const std::byte> data = {}) {
    Bytes body(IrqSet::size + data.size());
    abi::View<IrqSet>(std::span(body))
        .set<"argsz">(static_cast<std::uint32_t>(body.size()))
        .set<"index">(index)
        .set<"start">(start)
        .set<"count">(count);
    abi::store<std::uint32_t, abi::Endian::little>(body.data() + 4, flags);
    put(body, IrqSet::size, data);
    return message(Command::set_irqs, body);
}
inline constexpr std::uint32_t none = 1, boolean = 2, event_file = 4, mask = 8, unmask = 16, trigger = 32, msix = 2;

inline Bytes region_read(std::uint32_t region, std::uint64_t offset, std::uint32_t count, std::uint16_t id = 1) {
    abi::Block<RegionAccess> body;
    body.view().set<"offset">(offset).set<"region">(region).set<"count">(count);
    return message(Command::region_read, body.bytes, id);
}
inline Bytes region_write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> data,
                          bool is_posted = false) {
    Bytes body(RegionAccess::size + data.size());
    abi::View<RegionAccess>(std::span(body))
        .set<"offset">(offset)
        .set<"region">(region)
        .set<"count">(static_cast<std::uint32_t>(data.size()));
    put(body, RegionAccess::size, data);
    return message(Command::region_write, body, 1, is_posted);
}
struct SmallWrite {
    std::uint64_t offset;
    std::uint32_t region, count;
    std::uint64_t data;
};
inline Bytes region_write_multi(std::span<const SmallWrite> writes) {
    Bytes body(RegionWriteMulti::size + writes.size() * RegionWriteSmall::size);
    abi::View<RegionWriteMulti>(std::span(body)).set<"writes">(writes.size());
    for (std::size_t i = 0; i < writes.size(); ++i) {
        const auto at = std::span(body).subspan(RegionWriteMulti::size + i * RegionWriteSmall::size);
        abi::View<RegionWriteSmall>(at)
            .set<"offset">(writes[i].offset)
            .set<"region">(writes[i].region)
            .set<"count">(writes[i].count);
        abi::store<std::uint64_t, abi::Endian::little>(at.data() + RegionWriteSmall::field<"data">::offset,
                                                       writes[i].data);
    }
    return message(Command::region_write_multi, body, 1, true);
}
inline Bytes reset() { return message(Command::reset, {}); }

/// The answer to a DMA_READ or DMA_WRITE of the server.
inline Bytes dma_reply(const Bytes& asked, std::span<const std::byte> data) {
    const abi::ConstView<Header> header{std::span(asked)};
    Bytes body(DmaAccess::size + data.size());
    put(body, 0, std::span(asked).subspan(Header::size, DmaAccess::size));
    put(body, DmaAccess::size, data);
    return message(header.get<"command">(), body, header.get<"id">(), false, MessageType::reply);
}

inline abi::ConstView<Header> header_of(const Bytes& message) { return abi::ConstView<Header>(std::span(message)); }
template <class L> abi::ConstView<L> body_of(const Bytes& message) {
    return abi::ConstView<L>(std::span(message).subspan(Header::size));
}
/// 0, or the errno of a refusal.
inline std::uint32_t error_of(const Bytes& reply) {
    return header_of(reply).get<"is_error">() ? header_of(reply).get<"error">() : 0;
}
inline std::span<const std::byte> data_of(const Bytes& reply) {
    return std::span(reply).subspan(Header::size + RegionAccess::size);
}

} // namespace testbench::vfio_user
