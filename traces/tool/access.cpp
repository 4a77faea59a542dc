#include "traces/tool/access.h"

#include "abi/pcie/tlp.h"

#include <algorithm>
#include <bit>

namespace traces::tool {

using namespace codec;
using namespace abi::pcie;

namespace {

/// Reads that may wait. A device has a few hundred; one whose answer never comes leaves when the newer ones need room.
constexpr std::size_t most_waiting = 65536;
constexpr std::uint32_t dword = 4;

struct Head {
    TlpFormat format;
    TlpType type;
    std::uint32_t dwords;
    std::span<const std::byte> bytes; ///< without prefixes
};
std::optional<Head> read_head(std::span<const std::byte> head) {
    // A prefix has format 4 and is a dword long (PCIe 6.0 §2.2.1).
    while (head.size() >= dword && abi::ConstView<TlpHeader>(head).get<"fmt">() > TlpFormat::data_4dw)
        head = head.subspan(dword);
    if (head.size() < 3 * dword)
        return std::nullopt;
    const abi::ConstView<TlpHeader> view(head);
    const auto format = view.get<"fmt">();
    const bool is_long = format == TlpFormat::no_data_4dw || format == TlpFormat::data_4dw;
    if (is_long && head.size() < 4 * dword)
        return std::nullopt;
    const auto dwords = view.get<"length">();
    return Head{format, view.get<"type">(), dwords == 0 ? 1024 : dwords, head};
}

} // namespace

std::optional<MemoryRequest> read_memory_request(std::span<const std::byte> bytes) {
    const auto head = read_head(bytes);
    if (!head || head->type != TlpType::memory)
        return std::nullopt;
    const abi::ConstView<MemoryRequest32> view(head->bytes); // the second dword is that of both
    const bool is_long = head->format == TlpFormat::no_data_4dw || head->format == TlpFormat::data_4dw;
    std::uint64_t address = std::uint64_t{view.get<"address">()} << 2;
    if (is_long) {
        const abi::ConstView<MemoryRequest64> wide(head->bytes);
        address = std::uint64_t{wide.get<"address_upper">()} << 32 | std::uint64_t{wide.get<"address">()} << 2;
    }
    const auto first = view.get<"first_enables">(), last = view.get<"last_enables">();
    const bool is_write = head->format == TlpFormat::data_3dw || head->format == TlpFormat::data_4dw;
    if (head->dwords == 1 && first == 0) // a request for nothing
        return MemoryRequest{is_write, address, 0, 0};
    const auto lead = first == 0 ? 0u : static_cast<std::uint32_t>(std::countr_zero(first));
    const auto end_enables = head->dwords == 1 ? first : last;
    const auto unused = end_enables == 0 ? 0u : static_cast<std::uint32_t>(std::countl_zero(end_enables << 28));
    return MemoryRequest{is_write, address + lead, head->dwords * dword - lead - unused, lead};
}

std::optional<Access> Accesses::take(const Record& record) {
    if (record.mark.kind != RecordKind::request && record.mark.kind != RecordKind::completion &&
        record.mark.kind != RecordKind::continuation)
        return std::nullopt;
    if (const auto found = read_memory_request(record.head))
        return request(record, *found);
    return completion(record);
}

std::optional<Access> Accesses::request(const Record& record, const MemoryRequest& request) {
    Access access{.kind = request.is_write ? Access::Kind::write : Access::Kind::read,
                  .is_by_device = record.mark.direction == Direction::outbound,
                  .address = request.address,
                  .length = request.length,
                  .bytes = {}};
    if (request.is_write) {
        const auto lead = std::min<std::size_t>(request.lead, record.payload.size());
        access.bytes = record.payload.subspan(lead);
        access.bytes = access.bytes.first(std::min<std::size_t>(access.bytes.size(), request.length));
        return access;
    }
    auto& last = last_read_[record.interface];
    if (record.mark.kind == RecordKind::continuation)
        if (const auto before = waiting_.find(last); before != waiting_.end()) {
            before->second.length += request.length;
            return access;
        }
    last = record.number;
    waiting_.emplace(record.number, Waiting{request.address, request.length, 0, record.time_ps, access.is_by_device});
    order_.push_back(record.number);
    if (order_.size() > most_waiting) {
        waiting_.erase(order_.front());
        order_.pop_front();
    }
    return access;
}

std::optional<Access> Accesses::completion(const Record& record) {
    const auto head = read_head(record.head);
    const auto found = waiting_.find(record.mark.cause);
    if (!head || head->type != TlpType::completion || found == waiting_.end())
        return std::nullopt;
    auto& waiting = found->second;
    const abi::ConstView<Completion> view(head->bytes);
    Access access{.kind = Access::Kind::answer,
                  .is_by_device = waiting.is_by_device,
                  .address = waiting.address + waiting.answered,
                  .length = 0,
                  .bytes = {},
                  .request = found->first,
                  .asked_ps = waiting.asked_ps,
                  .status = static_cast<std::uint8_t>(view.get<"status">())};
    if (view.get<"status">() != CompletionStatus::success) {
        access.kind = Access::Kind::refusal;
        access.length = waiting.length - waiting.answered;
        access.is_last = true;
    } else {
        const auto lead = std::min<std::size_t>(access.address & 3, record.payload.size());
        const auto left = waiting.length - waiting.answered;
        access.bytes = record.payload.subspan(lead);
        access.bytes = access.bytes.first(std::min<std::size_t>(access.bytes.size(), left));
        access.length = access.bytes.size();
        waiting.answered += access.length;
        access.is_last = waiting.answered == waiting.length;
    }
    if (access.is_last) {
        waiting_.erase(found);
        while (!order_.empty() && !waiting_.contains(order_.front()))
            order_.pop_front();
    }
    return access;
}

} // namespace traces::tool
