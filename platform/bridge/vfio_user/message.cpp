#include "platform/bridge/vfio_user/message.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>

namespace platform::bridge::vfio_user {

namespace {

using Decoded = std::expected<Request, int>;
using Bytes = std::span<const std::byte>;
constexpr std::uint64_t page = protocol::default_page_sizes;

std::unexpected<int> refuse(int error) { return std::unexpected(error); }

/// The structure at the start of the body, or nothing when the body is shorter.
template <class L> std::optional<abi::ConstView<L>> view(Bytes body) {
    if (body.size() < L::size)
        return {};
    return abi::ConstView<L>(body);
}

bool wraps(std::uint64_t begin, std::uint64_t size) { return size > std::numeric_limits<std::uint64_t>::max() - begin; }

Decoded decode_version(Bytes body) {
    const auto in = view<protocol::Version>(body);
    if (!in)
        return refuse(EINVAL);
    auto text = body.subspan(protocol::Version::size);
    if (!text.empty() && text.back() != std::byte{0})
        return refuse(EINVAL); // the text is ended by a zero
    const auto end = std::ranges::find(text, std::byte{0});
    return VersionRequest{in->get<"major">(),
                          in->get<"minor">(),
                          {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(end - text.begin())}};
}

Decoded decode_dma_map(Bytes body, std::size_t descriptors) {
    const auto in = view<protocol::DmaMap>(body);
    if (!in || in->get<"argsz">() < protocol::DmaMap::size || descriptors > 1)
        return refuse(EINVAL);
    const DmaMapRequest map{in->get<"address">(), in->get<"size">(), in->get<"offset">(), in->get<"readable">(),
                            in->get<"writable">()};
    const bool is_fair = in->get<"reserved">() == 0 && map.size != 0 && (map.is_readable || map.is_writable) &&
                         (map.address | map.size | map.offset) % page == 0 && !wraps(map.address, map.size) &&
                         !wraps(map.offset, map.size);
    if (!is_fair)
        return refuse(EINVAL);
    return map;
}

Decoded decode_dma_unmap(Bytes body) {
    const auto in = view<protocol::DmaUnmap>(body);
    if (!in || in->get<"argsz">() < protocol::DmaUnmap::size || in->get<"reserved">() != 0)
        return refuse(EINVAL);
    if (in->get<"dirty_bitmap">())
        return refuse(ENOTSUP); // belongs to migration
    const DmaUnmapRequest unmap{in->get<"address">(), in->get<"size">(), in->get<"all">()};
    if (unmap.is_all ? unmap.address != 0 || unmap.size != 0 : unmap.size == 0 || wraps(unmap.address, unmap.size - 1))
        return refuse(EINVAL);
    return unmap;
}

Decoded decode_irq_set(Bytes body, std::size_t descriptors) {
    using Data = IrqSetRequest::Data;
    using Action = IrqSetRequest::Action;
    const auto in = view<protocol::IrqSet>(body);
    if (!in || in->get<"reserved">() != 0)
        return refuse(EINVAL);
    const bool none = in->get<"data_none">(), boolean = in->get<"data_bool">(), eventfd = in->get<"data_eventfd">();
    const bool mask = in->get<"action_mask">(), unmask = in->get<"action_unmask">(),
               trigger = in->get<"action_trigger">();
    if (none + boolean + eventfd != 1 || mask + unmask + trigger != 1)
        return refuse(EINVAL);
    IrqSetRequest set{none      ? Data::none
                      : boolean ? Data::boolean
                                : Data::eventfd,
                      mask     ? Action::mask
                      : unmask ? Action::unmask
                               : Action::trigger,
                      in->get<"index">(),
                      in->get<"start">(),
                      in->get<"count">(),
                      body.subspan(protocol::IrqSet::size)};
    if (set.index >= protocol::irq_type_count || set.start > std::numeric_limits<std::uint32_t>::max() - set.count)
        return refuse(EINVAL);
    if (set.data == Data::boolean ? set.chosen.size() != set.count : !set.chosen.empty())
        return refuse(EINVAL);
    // One descriptor for each, or none at all: then those that were there go.
    if (set.data == Data::eventfd ? descriptors != 0 && descriptors != set.count : descriptors != 0)
        return refuse(EINVAL);
    // Nothing to act on; only "none, trigger, 0" means something: the whole type off.
    if (set.count == 0 && (set.data != Data::none || set.action != Action::trigger || set.start != 0))
        return refuse(EINVAL);
    return set;
}

Decoded decode_region_read(Bytes body) {
    const auto in = view<protocol::RegionAccess>(body);
    if (!in || body.size() != protocol::RegionAccess::size)
        return refuse(EINVAL);
    if (in->get<"count">() > max_transfer)
        return refuse(E2BIG);
    if (wraps(in->get<"offset">(), in->get<"count">()) || in->get<"region">() >= protocol::region_count)
        return refuse(EINVAL);
    return RegionReadRequest{in->get<"offset">(), in->get<"region">(), in->get<"count">()};
}

Decoded decode_region_write(Bytes body) {
    const auto in = view<protocol::RegionAccess>(body);
    if (!in)
        return refuse(EINVAL);
    const auto data = body.subspan(protocol::RegionAccess::size);
    if (data.size() != in->get<"count">() || wraps(in->get<"offset">(), data.size()) ||
        in->get<"region">() >= protocol::region_count)
        return refuse(EINVAL);
    return RegionWriteRequest{in->get<"offset">(), in->get<"region">(), data};
}

Decoded decode_region_write_multi(Bytes body) {
    using protocol::RegionWriteSmall;
    const auto in = view<protocol::RegionWriteMulti>(body);
    if (!in)
        return refuse(EINVAL);
    const auto writes = body.subspan(protocol::RegionWriteMulti::size);
    if (writes.size() % RegionWriteSmall::size != 0 || in->get<"writes">() != writes.size() / RegionWriteSmall::size)
        return refuse(EINVAL);
    for (std::size_t at = 0; at < writes.size(); at += RegionWriteSmall::size) {
        const abi::ConstView<RegionWriteSmall> one(writes.subspan(at));
        if (one.get<"count">() > sizeof(std::uint64_t) || one.get<"region">() >= protocol::region_count ||
            wraps(one.get<"offset">(), one.get<"count">()))
            return refuse(EINVAL);
    }
    return RegionWriteMultiRequest{writes};
}

} // namespace

Decoded decode(protocol::Command command, Bytes body, std::size_t descriptors) {
    using enum protocol::Command;
    if (descriptors != 0 && command != dma_map && command != set_irqs)
        return refuse(EINVAL);
    switch (command) {
    case version: return decode_version(body);
    case dma_map: return decode_dma_map(body, descriptors);
    case dma_unmap: return decode_dma_unmap(body);
    case get_info: {
        const auto in = view<protocol::DeviceInfo>(body);
        if (!in || in->get<"argsz">() < protocol::DeviceInfo::size)
            return refuse(EINVAL);
        return DeviceInfoRequest{};
    }
    case get_region_info: {
        const auto in = view<protocol::RegionInfo>(body);
        if (!in || in->get<"argsz">() < protocol::RegionInfo::size || in->get<"index">() >= protocol::region_count)
            return refuse(EINVAL);
        return RegionInfoRequest{in->get<"index">(), in->get<"argsz">()};
    }
    case get_region_io_fds: {
        const auto in = view<protocol::RegionIoFds>(body);
        if (!in || in->get<"argsz">() < protocol::RegionIoFds::size || in->get<"flags">() != 0 ||
            in->get<"index">() >= protocol::region_count)
            return refuse(EINVAL);
        return RegionIoFdsRequest{in->get<"index">()};
    }
    case get_irq_info: {
        const auto in = view<protocol::IrqInfo>(body);
        if (!in || in->get<"argsz">() < protocol::IrqInfo::size || in->get<"index">() >= protocol::irq_type_count)
            return refuse(EINVAL);
        return IrqInfoRequest{in->get<"index">()};
    }
    case set_irqs: return decode_irq_set(body, descriptors);
    case region_read: return decode_region_read(body);
    case region_write: return decode_region_write(body);
    case region_write_multi: return decode_region_write_multi(body);
    case reset:
        if (!body.empty())
            return refuse(EINVAL);
        return ResetRequest{};
    case dma_read:
    case dma_write: return refuse(EINVAL); // those are the server's
    case device_feature:
    case migration_read:
    case migration_write: return refuse(ENOTSUP);
    }
    return refuse(ENOSYS);
}

std::vector<std::byte> make_message(protocol::MessageType type, std::uint16_t id, protocol::Command command,
                                    std::size_t body) {
    std::vector<std::byte> message(protocol::Header::size + body);
    abi::View<protocol::Header>(std::span(message))
        .set<"id">(id)
        .set<"command">(command)
        .set<"size">(static_cast<std::uint32_t>(message.size()))
        .set<"type">(type);
    return message;
}

std::vector<std::byte> make_error(std::uint16_t id, protocol::Command command, int error) {
    auto message = make_message(protocol::MessageType::reply, id, command, 0);
    abi::View<protocol::Header>(std::span(message))
        .set<"is_error">(true)
        .set<"error">(static_cast<std::uint32_t>(error));
    return message;
}

} // namespace platform::bridge::vfio_user
