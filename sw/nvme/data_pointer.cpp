#include "sw/nvme/data_pointer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace sw::nvme {

namespace {

using abi::nvme::Command;
using abi::nvme::DataPointerType;
using abi::nvme::SglDescriptor;
using abi::nvme::SglType;

constexpr std::size_t entry_bytes = 8, entries_a_page = page_bytes / entry_bytes;

/// Entries of a PRP list, page after page: the last entry of a page leads to the next where more entries follow.
class ListWriter {
public:
    ListWriter(const transport::DmaMemory& memory, std::size_t entries) : memory_(memory), left_(entries) {}
    bool add(std::uint64_t entry) {
        if (at_ % entries_a_page == entries_a_page - 1 && left_ > 1) {
            if (!store(memory_.bus + (at_ + 1) * entry_bytes))
                return false;
        }
        --left_;
        return store(entry);
    }

private:
    bool store(std::uint64_t entry) {
        if ((at_ + 1) * entry_bytes > memory_.size)
            return false;
        abi::store<std::uint64_t, abi::Endian::little>(memory_.data + at_ * entry_bytes, entry);
        ++at_;
        return true;
    }
    const transport::DmaMemory& memory_;
    std::size_t at_ = 0, left_;
};

Result<void> refuse(const char* why, const Segment& segment) {
    return failure(EINVAL, fmt::format("PRP for [{:#x}, +{:#x}): {}", segment.bus, segment.bytes, why));
}

/// Calls `page(bus)` for each page of the data, after the first one.
template <class Page> void for_each_later_page(std::span<const Segment> data, Page&& page) {
    bool is_first = true;
    for (const auto& segment : data)
        for (auto at = segment.bus; at < segment.bus + segment.bytes; at = at / page_bytes * page_bytes + page_bytes) {
            if (!is_first)
                page(at);
            is_first = false;
        }
}

Result<void> point_by_prp(abi::View<Command> command, std::span<const Segment> data,
                          const transport::DmaMemory& lists) {
    for (std::size_t i = 0; i < data.size(); ++i) {
        if (i == 0 ? data[i].bus % 4 != 0 : data[i].bus % page_bytes != 0)
            return refuse(i == 0 ? "does not begin at a dword" : "does not begin at a page", data[i]);
        if (i + 1 != data.size() && (data[i].bus + data[i].bytes) % page_bytes != 0)
            return refuse("does not end at a page, and more follows", data[i]);
    }
    std::size_t later = 0;
    std::uint64_t second = 0;
    for_each_later_page(data, [&](std::uint64_t at) { second = later++ == 0 ? at : second; });
    command.set<"psdt">(DataPointerType::prp);
    command.set<"prp1">(data.front().bus);
    command.set<"prp2">(second); // 0 where there is none; the controller does not look then
    if (later < 2)
        return {};
    ListWriter list(lists, later);
    bool has_room = true;
    for_each_later_page(data, [&](std::uint64_t at) { has_room = has_room && list.add(at); });
    if (!has_room)
        return failure(ENOBUFS, fmt::format("PRP list: {} entries do not fit into {} bytes", later, lists.size));
    command.set<"prp2">(lists.bus);
    return {};
}

void describe_block(std::span<std::byte> at, SglType type, std::uint64_t address, std::uint64_t bytes) {
    abi::View<SglDescriptor> descriptor(at);
    descriptor.set<"address">(address);
    descriptor.set<"length">(static_cast<std::uint32_t>(bytes));
    descriptor.set<"subtype">(0);
    descriptor.set<"type">(type);
}

Result<void> point_by_sgl(abi::View<Command> command, std::span<const Segment> data,
                          const transport::DmaMemory& lists) {
    for (const auto& segment : data)
        if (segment.bytes > 0xffff'ffff)
            return failure(EINVAL, fmt::format("SGL: a block of {:#x} bytes", segment.bytes));
    if (data.size() * SglDescriptor::size > lists.size && data.size() > 1)
        return failure(ENOBUFS, fmt::format("SGL: {} descriptors do not fit into {} bytes", data.size(), lists.size));
    command.set<"psdt">(DataPointerType::sgl_metadata_buffer);
    abi::Block<SglDescriptor> first;
    if (data.size() == 1) {
        describe_block(first.bytes, SglType::data_block, data.front().bus, data.front().bytes);
    } else {
        // The list is one segment however long: its memory is contiguous for the controller.
        for (std::size_t i = 0; i < data.size(); ++i)
            describe_block(lists.bytes().subspan(i * SglDescriptor::size, SglDescriptor::size), SglType::data_block,
                           data[i].bus, data[i].bytes);
        describe_block(first.bytes, SglType::last_segment, lists.bus, data.size() * SglDescriptor::size);
    }
    // The descriptor stands in the place of both PRP entries.
    command.set<"prp1">(abi::load<std::uint64_t, abi::Endian::little>(first.bytes.data()));
    command.set<"prp2">(abi::load<std::uint64_t, abi::Endian::little>(first.bytes.data() + 8));
    return {};
}

} // namespace

Result<void> point_to(abi::View<Command> command, Scheme scheme, std::span<const Segment> data,
                      const transport::DmaMemory& lists) {
    if (data.empty())
        return {};
    if (std::ranges::any_of(data, [](const Segment& segment) { return segment.bytes == 0; }))
        return failure(EINVAL, "data pointer: a range of no bytes");
    return scheme == Scheme::prp ? point_by_prp(command, data, lists) : point_by_sgl(command, data, lists);
}

} // namespace sw::nvme
