#include "sw/transport/vfio_user/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace sw::transport::vfio_user {

using protocol::Command;

namespace {

/// Bytes of what a server may say of a region.
constexpr std::uint32_t most_region_info = 64 << 10;

/// The structure at the start of a reply that was asked to hold it.
template <class L> abi::ConstView<L> view(const Reply& reply) {
    return abi::ConstView<L>(std::span<const std::byte>(reply.body));
}

/// Sends a structure and gets it back, filled in.
template <class L> Result<Reply> exchange(Connection& connection, Command command, const abi::Block<L>& body) {
    return connection.ask(command, body.bytes, L::size);
}

Result<void> without_answer(const Result<Reply>& reply, const std::string& what) {
    if (!reply)
        return failure(reply.error().code, what + ": " + reply.error().what);
    return {};
}

abi::Block<protocol::RegionAccess> access(std::uint32_t region, std::uint64_t offset, std::size_t count) {
    abi::Block<protocol::RegionAccess> body;
    body.view().set<"offset">(offset).set<"region">(region).set<"count">(static_cast<std::uint32_t>(count));
    return body;
}

/// The areas of a region that can be mapped in parts: capabilities are a list behind the structure.
std::vector<Region::Area> areas_of(std::span<const std::byte> reply) {
    using protocol::SparseArea, protocol::SparseMmap;
    std::vector<Region::Area> areas;
    const abi::ConstView<protocol::RegionInfo> info(reply);
    auto at = info.get<"has_capabilities">() ? info.get<"capability_offset">() : 0;
    while (at >= protocol::RegionInfo::size && at <= reply.size() && reply.size() - at >= SparseMmap::size) {
        const abi::ConstView<SparseMmap> capability(reply.subspan(at));
        auto rest = reply.subspan(at + SparseMmap::size);
        const bool is_sparse = capability.get<"id">() == protocol::sparse_mmap_id;
        for (auto left = is_sparse ? capability.get<"areas">() : 0; left != 0 && rest.size() >= SparseArea::size;
             --left, rest = rest.subspan(SparseArea::size)) {
            const abi::ConstView<SparseArea> area(rest);
            areas.push_back({area.get<"offset">(), area.get<"size">()});
        }
        at = capability.get<"next">() > at ? capability.get<"next">() : 0; // a list that turns back has no end
    }
    return areas;
}

} // namespace

Result<DeviceInfo> get_info(Connection& connection) {
    abi::Block<protocol::DeviceInfo> body;
    body.view().set<"argsz">(protocol::DeviceInfo::size);
    const auto reply = exchange(connection, Command::get_info, body);
    if (!reply)
        return std::unexpected(reply.error());
    const auto info = view<protocol::DeviceInfo>(*reply);
    if (!info.get<"is_pci">())
        return failure(ENODEV,
                       connection.name() + ": what is served there is no PCI function; choose the socket of one");
    return DeviceInfo{info.get<"can_reset">(), info.get<"regions">(), info.get<"irqs">()};
}

Result<Region> get_region(Connection& connection, std::uint32_t index) {
    abi::Block<protocol::RegionInfo> body;
    body.view().set<"argsz">(protocol::RegionInfo::size).set<"index">(index);
    auto reply = exchange(connection, Command::get_region_info, body);
    if (!reply)
        return std::unexpected(reply.error());
    const auto needed = view<protocol::RegionInfo>(*reply).get<"argsz">();
    if (needed > protocol::RegionInfo::size && needed <= most_region_info) { // of which only parts can be mapped
        body.view().set<"argsz">(needed);
        reply = exchange(connection, Command::get_region_info, body);
        if (!reply)
            return std::unexpected(reply.error());
    }
    const auto info = view<protocol::RegionInfo>(*reply);
    Region region{info.get<"size">(), {}, info.get<"offset">(), areas_of(reply->body)};
    if (!info.get<"mappable">() || reply->files.empty())
        return region;
    region.file = std::move(reply->files.front());
    if (!info.get<"has_capabilities">())
        region.areas = {{0, region.size}};
    return region;
}

Result<std::uint32_t> get_irqs(Connection& connection, protocol::IrqType type) {
    abi::Block<protocol::IrqInfo> body;
    body.view().set<"argsz">(protocol::IrqInfo::size).set<"index">(static_cast<std::uint32_t>(type));
    const auto reply = exchange(connection, Command::get_irq_info, body);
    if (!reply)
        return std::unexpected(reply.error());
    const auto info = view<protocol::IrqInfo>(*reply);
    return info.get<"eventfd">() ? info.get<"count">() : 0;
}

Result<void> set_irqs(Connection& connection, protocol::IrqType type, std::span<const int> events) {
    for (std::size_t begin = 0; begin < events.size();) {
        const auto count = std::min<std::size_t>(events.size() - begin, std::max(connection.max_files(), 1u));
        abi::Block<protocol::IrqSet> body;
        body.view()
            .set<"argsz">(protocol::IrqSet::size)
            .set<"data_eventfd">(true)
            .set<"action_trigger">(true)
            .set<"index">(static_cast<std::uint32_t>(type))
            .set<"start">(static_cast<std::uint32_t>(begin))
            .set<"count">(static_cast<std::uint32_t>(count));
        const auto reply = connection.ask(Command::set_irqs, body.bytes, 0, events.subspan(begin, count));
        if (!reply)
            return without_answer(reply, fmt::format("interrupt vectors {} to {}", begin, begin + count - 1));
        begin += count;
    }
    return {};
}

Result<void> clear_irqs(Connection& connection, protocol::IrqType type) {
    abi::Block<protocol::IrqSet> body;
    body.view()
        .set<"argsz">(protocol::IrqSet::size)
        .set<"data_none">(true)
        .set<"action_trigger">(true)
        .set<"index">(static_cast<std::uint32_t>(type));
    return without_answer(connection.ask(Command::set_irqs, body.bytes), "switch interrupt vectors off");
}

Result<void> map(Connection& connection, std::uint64_t address, std::uint64_t size, int file) {
    abi::Block<protocol::DmaMap> body;
    body.view()
        .set<"argsz">(protocol::DmaMap::size)
        .set<"readable">(true)
        .set<"writable">(true)
        .set<"address">(address)
        .set<"size">(size);
    return without_answer(connection.ask(Command::dma_map, body.bytes, 0, std::span(&file, 1)),
                          fmt::format("map memory at {:#x}+{:#x}", address, size));
}

Result<void> unmap(Connection& connection, std::uint64_t address, std::uint64_t size) {
    abi::Block<protocol::DmaUnmap> body;
    body.view().set<"argsz">(protocol::DmaUnmap::size).set<"address">(address).set<"size">(size);
    return without_answer(connection.ask(Command::dma_unmap, body.bytes),
                          fmt::format("unmap memory at {:#x}+{:#x}", address, size));
}

Result<void> reset(Connection& connection) {
    return without_answer(connection.ask(Command::reset, {}), "reset the function");
}

Result<void> read(Connection& connection, std::uint32_t region, std::uint64_t offset, std::span<std::byte> into) {
    while (!into.empty()) {
        const auto count = std::min<std::size_t>(into.size(), connection.max_transfer());
        const auto reply = connection.ask(Command::region_read, access(region, offset, count).bytes,
                                          protocol::RegionAccess::size + count);
        if (!reply) {
            std::ranges::fill(into, std::byte{0xff});
            return without_answer(reply, fmt::format("read region {} at {:#x}+{:#x}", region, offset, count));
        }
        std::ranges::copy(std::span(reply->body).subspan(protocol::RegionAccess::size, count), into.begin());
        offset += count;
        into = into.subspan(count);
    }
    return {};
}

Result<void> write(Connection& connection, std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from,
                   bool is_posted) {
    while (!from.empty()) {
        const auto count = std::min<std::size_t>(from.size(), connection.max_transfer());
        const auto body = access(region, offset, count);
        if (is_posted)
            connection.post(Command::region_write, body.bytes, from.first(count));
        else if (const auto reply = connection.ask(Command::region_write, body.bytes, 0, {}, from.first(count)); !reply)
            return without_answer(reply, fmt::format("write region {} at {:#x}+{:#x}", region, offset, count));
        offset += count;
        from = from.subspan(count);
    }
    return {};
}

} // namespace sw::transport::vfio_user
