#include "model/nvme/data/data_walker.h"

namespace model::nvme {

using abi::BusAddress;
using abi::nvme::DataPointerType;
using abi::nvme::SglDescriptor;
using abi::nvme::SglType;
using port::GrantKind;

namespace {
constexpr std::uint64_t entry_bytes = 8;
constexpr std::uint64_t descriptor_bytes = SglDescriptor::size;
constexpr auto prp1 = parameter(prp1_offset), prp2 = parameter(prp2_offset), mptr = parameter(mptr_offset);
constexpr auto psdt = parameter_of<abi::nvme::Command, "psdt">();
} // namespace

Refusal DataWalker::check_list(std::uint64_t address, std::uint64_t length) {
    if (memory_ == nullptr || !memory_->is_mapped())
        return {};
    const bool is_inside = memory_->place(address, length) != ControllerMemory::Place::outside;
    if (!memory_->takes(address, length, abi::nvme::MemoryUse::lists) ||
        has_lists_inside_.value_or(is_inside) != is_inside)
        return refuse(Status::invalid_cmb_use, prp1);
    has_lists_inside_ = is_inside;
    return {};
}

Refusal DataWalker::check_data(const BusRanges& ranges, Direction direction, std::uint16_t parameter) {
    if (memory_ == nullptr || !memory_->is_mapped())
        return {};
    const auto use =
        direction == Direction::to_host ? abi::nvme::MemoryUse::data_to_host : abi::nvme::MemoryUse::data_from_host;
    for (const auto& range : ranges) {
        if (range.is_bucket)
            continue;
        const bool is_inside = memory_->place(range.address, range.length) != ControllerMemory::Place::outside;
        if (!memory_->takes(range.address, range.length, use) || has_data_inside_.value_or(is_inside) != is_inside)
            return refuse(Status::invalid_cmb_use, parameter);
        has_data_inside_ = is_inside;
    }
    return {};
}

Refusal DataWalker::fetch(std::uint64_t address, std::span<std::byte> into, GrantKind by, port::Time& at) {
    if (const auto refusal = check_list(address, into.size()); !refusal.is_ok())
        return refusal;
    grants_->use_list(by, address, into.size());
    const auto result = dma_.read(BusAddress{address}, into, at, port::Purpose::control);
    at = std::max(at, result.done);
    return result.is_ok() ? Refusal{} : fail(Status::data_transfer_error);
}

Refusal DataWalker::walk(const DataPointer& pointer, std::uint64_t length, Direction direction, BusRanges& out,
                         port::Time& at) {
    has_lists_inside_.reset(), has_data_inside_.reset();
    grants_->begin_walk();
    const auto refusal = walk_data(pointer, length, direction, out, at);
    grants_->end_walk();
    return refusal.is_ok() ? check_data(out, direction, prp1) : refusal;
}

Refusal DataWalker::walk_metadata(const DataPointer& pointer, std::uint64_t length, Direction direction, BusRanges& out,
                                  port::Time& at) {
    const auto refusal = walk_to_metadata(pointer, length, direction, out, at);
    grants_->end_walk();
    return refusal.is_ok() ? check_data(out, direction, mptr) : refusal;
}

Refusal DataWalker::walk_data(const DataPointer& pointer, std::uint64_t length, Direction direction, BusRanges& out,
                              port::Time& at) {
    out.clear();
    if (pointer.type == DataPointerType::reserved)
        return refuse(Status::invalid_field, psdt);
    if (pointer.type == DataPointerType::prp)
        return walk_prps(pointer, length, out, at);
    if (!rules_.takes_sgl)
        return refuse(Status::invalid_field, psdt);
    abi::Block<SglDescriptor> first;
    abi::store<std::uint64_t, abi::Endian::little>(first.bytes.data(), pointer.prp1);
    abi::store<std::uint64_t, abi::Endian::little>(first.bytes.data() + 8, pointer.prp2);
    return walk_sgl(first.view(), length, {direction, Status::invalid_data_sgl_length, prp1}, out, at);
}

Refusal DataWalker::walk_to_metadata(const DataPointer& pointer, std::uint64_t length, Direction direction,
                                     BusRanges& out, port::Time& at) {
    out.clear();
    switch (pointer.type) {
    case DataPointerType::prp:
        if (pointer.mptr % 4 != 0)
            return refuse(Status::invalid_field, mptr);
        [[fallthrough]];
    case DataPointerType::sgl_metadata_buffer:
        if (pointer.mptr + length < pointer.mptr)
            return refuse(Status::invalid_field, mptr);
        add(out, GrantKind::metadata, {pointer.mptr, length});
        return {};
    case DataPointerType::sgl_metadata_sgl: {
        if (!rules_.takes_metadata_sgl)
            return refuse(Status::invalid_field, psdt);
        if (pointer.mptr % 8 != 0) // a segment begins at a qword
            return refuse(Status::invalid_field, mptr);
        // A segment of exactly one descriptor.
        abi::Block<SglDescriptor> first;
        if (const auto refusal = fetch(pointer.mptr, first.bytes, GrantKind::metadata, at); !refusal.is_ok())
            return refusal;
        return walk_sgl(first.view(), length, {direction, Status::invalid_metadata_sgl_length, mptr}, out, at);
    }
    default: return refuse(Status::invalid_field, psdt);
    }
}

// NVMe base 2.0 "Physical Region Page Entry and List".
Refusal DataWalker::walk_prps(const DataPointer& pointer, std::uint64_t length, BusRanges& out, port::Time& at) {
    if (length == 0)
        return {};
    const std::uint64_t page = rules_.page_bytes;
    if (pointer.prp1 % 4 != 0)
        return refuse(Status::invalid_prp_offset, prp1);
    const auto first = std::min(length, page - pointer.prp1 % page);
    add(out, GrantKind::prp, {pointer.prp1, first});
    length -= first;
    if (length == 0) // PRP2 is reserved then, and software leaves anything there
        return {};
    if (length > page)
        return walk_prp_list(pointer.prp2, length, out, at);
    if (pointer.prp2 % page != 0)
        return refuse(Status::invalid_prp_offset, prp2);
    add(out, GrantKind::prp, {pointer.prp2, length});
    return {};
}

Refusal DataWalker::walk_prp_list(std::uint64_t list, std::uint64_t length, BusRanges& out, port::Time& at) {
    const std::uint64_t page = rules_.page_bytes;
    if (list % entry_bytes != 0)
        return refuse(Status::invalid_prp_offset, prp2);
    while (length != 0) {
        // The list goes to the end of its page. Only if more entries remain than fit, its last one leads to the next
        // list. What is behind the last entry needed may be anything, or nothing: it is not read.
        const auto needed = (length + page - 1) / page;
        const auto room = (page - list % page) / entry_bytes;
        const bool goes_on = needed > room;
        auto slots = std::min(needed, room);
        for (auto next = list; slots != 0;) {
            const auto count = std::min<std::uint64_t>(slots, piece_.size() / entry_bytes);
            if (const auto refusal = fetch(next, std::span(piece_).first(count * entry_bytes), GrantKind::prp, at);
                !refusal.is_ok())
                return refusal;
            next += count * entry_bytes, slots -= count;
            for (std::uint64_t i = 0; i < count; ++i) {
                const auto entry = abi::load<std::uint64_t, abi::Endian::little>(piece_.data() + i * entry_bytes);
                if (entry % page != 0)
                    return refuse(Status::invalid_prp_offset, prp2);
                if (goes_on && slots == 0 && i + 1 == count) {
                    list = entry;
                    break;
                }
                const auto part = std::min(length, page);
                add(out, GrantKind::prp, {entry, part});
                length -= part;
            }
        }
    }
    return {};
}

// NVMe base 2.0 "Scatter Gather List".
Refusal DataWalker::walk_sgl(abi::ConstView<SglDescriptor> first, std::uint64_t length, const SglOf& what,
                             BusRanges& out, port::Time& at) {
    auto left = length;
    const auto type = first.get<"type">();
    if (type == SglType::data_block || type == SglType::bit_bucket) {
        if (const auto refusal = add_block(first, left, what, out); !refusal.is_ok())
            return refusal;
        return left == 0 ? Refusal{} : refuse(what.wrong_length, what.parameter);
    }
    auto budget = rules_.most_descriptors;
    abi::Block<SglDescriptor> segment;
    std::ranges::copy(first.bytes(), segment.bytes.begin());
    for (bool goes_on = true; goes_on;) {
        if (const auto refusal = walk_segment(segment, left, budget, what, out, at, goes_on); !refusal.is_ok())
            return refusal;
    }
    return left == 0 ? Refusal{} : refuse(what.wrong_length, what.parameter);
}

Refusal DataWalker::walk_segment(abi::Block<SglDescriptor>& segment, std::uint64_t& left, std::uint32_t& budget,
                                 const SglOf& what, BusRanges& out, port::Time& at, bool& goes_on) {
    const auto here = segment.view();
    const auto type = here.get<"type">();
    if ((type != SglType::segment && type != SglType::last_segment) || here.get<"subtype">() != 0)
        return refuse(Status::invalid_sgl_type, what.parameter);
    const auto address = here.get<"address">();
    const std::uint64_t bytes = here.get<"length">();
    if (bytes == 0 || bytes % descriptor_bytes != 0 || address % 8 != 0 || address + bytes < address)
        return refuse(Status::invalid_sgl_segment, what.parameter);
    const bool is_last = type == SglType::last_segment;
    const auto before = left;
    goes_on = false;
    for (std::uint64_t at_byte = 0; at_byte < bytes;) {
        const auto count = std::min<std::uint64_t>(bytes - at_byte, piece_.size());
        if (budget < count / descriptor_bytes)
            return refuse(Status::invalid_sgl_count, what.parameter);
        budget -= static_cast<std::uint32_t>(count / descriptor_bytes);
        if (const auto refusal = fetch(address + at_byte, std::span(piece_).first(count), GrantKind::sgl, at);
            !refusal.is_ok())
            return refusal;
        at_byte += count;
        for (std::uint64_t i = 0; i < count; i += descriptor_bytes) {
            if (left == 0 && rules_.takes_excess)
                return {};
            const abi::ConstView<SglDescriptor> descriptor{std::span(piece_).subspan(i, descriptor_bytes)};
            const auto kind = descriptor.get<"type">();
            if (kind == SglType::segment || kind == SglType::last_segment) {
                if (at_byte != bytes || i + descriptor_bytes != count)
                    return refuse(Status::invalid_sgl_count, what.parameter);
                // A last segment has no next one, and a segment without data would be a step without progress.
                if (is_last || left == before)
                    return refuse(Status::invalid_sgl_segment, what.parameter);
                std::ranges::copy(descriptor.bytes(), segment.bytes.begin());
                goes_on = left != 0 || !rules_.takes_excess;
                return {};
            }
            if (const auto refusal = add_block(descriptor, left, what, out); !refusal.is_ok())
                return refusal;
        }
    }
    // Another segment must follow one that is not the last, unless nothing more is wanted.
    if (!is_last && left != 0)
        return refuse(Status::invalid_sgl_segment, what.parameter);
    return {};
}

Refusal DataWalker::add_block(abi::ConstView<SglDescriptor> descriptor, std::uint64_t& left, const SglOf& what,
                              BusRanges& out) {
    const auto type = descriptor.get<"type">();
    const bool is_bucket = type == SglType::bit_bucket;
    if ((type != SglType::data_block && !is_bucket) || descriptor.get<"subtype">() != 0 ||
        (is_bucket && !rules_.takes_bit_buckets))
        return refuse(Status::invalid_sgl_type, what.parameter);
    // A bucket has no effect where data comes from the host: its length counts as 0 ("SGL Bit Bucket descriptor").
    if (is_bucket && what.direction == Direction::from_host)
        return {};
    const std::uint64_t length = descriptor.get<"length">();
    const auto address = is_bucket ? 0 : descriptor.get<"address">();
    if (rules_.is_dword_granular && (address % 4 != 0 || length % 4 != 0))
        return refuse(Status::invalid_sgl_granularity, what.parameter);
    if (address + length < address || (length > left && !rules_.takes_excess))
        return refuse(what.wrong_length, what.parameter);
    const auto used = std::min(length, left);
    if (used != 0)
        add(out, GrantKind::sgl, {address, used, is_bucket});
    left -= used;
    return {};
}

} // namespace model::nvme
