#include "model/nvme/data/host_data.h"

#include <cassert>

namespace model::nvme {

using abi::BusAddress;
using abi::nvme::DataPointerType;
using port::Purpose;

namespace {

Refusal check_admin(const DataPointer& pointer) {
    if (pointer.type != DataPointerType::prp)
        return refuse(Status::invalid_field, parameter_of<abi::nvme::Command, "psdt">());
    return {};
}

} // namespace

Refusal HostData::gather(const BusRanges& ranges, std::vector<std::span<const std::byte>>& pieces, port::Time& at) {
    pieces.clear();
    std::size_t used = 0;
    auto done = at;
    for (const auto& range : ranges) {
        assert(!range.is_bucket && "a bucket has no bytes to give");
        const auto loan = dma_.lend(BusAddress{range.address}, range.length, at, Purpose::payload);
        auto result = loan.result;
        if (loan.data != nullptr) {
            pieces.emplace_back(loan.data, range.length);
        } else if (result.is_ok()) {              // no plain memory, or not in one piece
            if (staged_.size() < ranges.length()) // at the first such piece: later it must not move
                staged_.resize(ranges.length());
            const auto into = std::span(staged_).subspan(used, range.length);
            used += range.length;
            result = dma_.read(BusAddress{range.address}, into, at, Purpose::payload);
            pieces.emplace_back(into);
        }
        if (!result.is_ok())
            return fail(Status::data_transfer_error);
        done = std::max(done, result.done);
    }
    at = done;
    return {};
}

Refusal HostData::fetch(const BusRanges& ranges, std::span<std::byte> into, port::Time& at) {
    assert(into.size() == ranges.length());
    auto done = at;
    for (const auto& range : ranges) {
        assert(!range.is_bucket && "a bucket has no bytes to give");
        const auto result = dma_.read(BusAddress{range.address}, into.first(range.length), at, Purpose::payload);
        if (!result.is_ok())
            return fail(Status::data_transfer_error);
        into = into.subspan(range.length);
        done = std::max(done, result.done);
    }
    at = done;
    return {};
}

Refusal HostData::scatter(const BusRanges& ranges, std::span<const std::byte> from, port::Time& at) {
    assert(from.size() == ranges.length());
    auto done = at;
    for (const auto& range : ranges) {
        const auto part = from.first(range.length);
        from = from.subspan(range.length);
        if (range.is_bucket)
            continue;
        const auto result = dma_.write(BusAddress{range.address}, part, at, Purpose::payload);
        if (!result.is_ok())
            return fail(Status::data_transfer_error);
        done = std::max(done, result.done);
    }
    at = done;
    return {};
}

Refusal HostData::send(const DataPointer& pointer, std::span<const std::byte> from, port::Time& at) {
    if (const auto refusal = check_admin(pointer); !refusal.is_ok())
        return refusal;
    if (const auto refusal = walker_.walk(pointer, from.size(), Direction::to_host, ranges_, at); !refusal.is_ok())
        return refusal;
    return scatter(ranges_, from, at);
}

Refusal HostData::receive(const DataPointer& pointer, std::span<std::byte> into, port::Time& at) {
    if (const auto refusal = check_admin(pointer); !refusal.is_ok())
        return refusal;
    if (const auto refusal = walker_.walk(pointer, into.size(), Direction::from_host, ranges_, at); !refusal.is_ok())
        return refusal;
    return fetch(ranges_, into, at);
}

} // namespace model::nvme
