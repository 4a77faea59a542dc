#include "platform/record/record_store.h"

#include "traces/codec/layouts.h"

#include <algorithm>

namespace platform::record {

using namespace traces::codec;

RecordStore::RecordStore(const Head& head, std::span<const std::uint32_t> interfaces)
    : head_(head), interface_of_(head.interfaces.size(), unwanted) {
    head_.interfaces.clear();
    for (const auto interface : interfaces) {
        interface_of_.at(interface) = static_cast<std::uint32_t>(head_.interfaces.size());
        head_.interfaces.push_back(head.interfaces.at(interface));
    }
}

std::uint64_t RecordStore::put(std::span<const std::byte> bytes) {
    const auto at = bytes_.size();
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return at;
}

bool RecordStore::add(const Record& record) {
    const auto interface = interface_of_.at(record.interface);
    if (interface == unwanted)
        return false;
    Entry entry{.number = record.number,
                .time_ps = record.time_ps,
                .mark = record.mark,
                .head = put(record.head),
                .payload = 0,
                .interface = interface,
                .head_bytes = static_cast<std::uint16_t>(record.head.size()),
                .payload_bytes = static_cast<std::uint16_t>(record.payload.size())};
    entry.mark.flags &= static_cast<std::uint8_t>(~by_reference); // how it is stored here is our choice
    if (!record.payload.empty()) {
        const auto hash = abi::load<std::uint64_t, abi::Endian::little>(digest_of(record.payload).data());
        const auto known = payloads_.find(hash);
        const bool is_known =
            known != payloads_.end() && bytes_.size() - known->second >= record.payload.size() &&
            std::ranges::equal(record.payload, std::span(bytes_).subspan(known->second, record.payload.size()));
        entry.payload = is_known ? known->second : put(record.payload);
        payloads_[hash] = entry.payload;
    }
    entries_.push_back(entry);
    return true;
}

void RecordStore::clear() {
    entries_.clear();
    bytes_.clear();
    payloads_.clear();
}

std::vector<std::uint64_t> RecordStore::write(Writer& writer, const std::function<bool(std::size_t)>& is_kept,
                                              const Edit& edit) const {
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (!is_kept(i))
            continue;
        const auto& entry = entries_[i];
        auto mark = entry.mark;
        const auto cause = std::ranges::lower_bound(numbers, mark.cause);
        const bool has_cause = mark.cause != 0 && cause != numbers.end() && *cause == mark.cause;
        mark.cause = has_cause ? static_cast<std::uint32_t>(cause - numbers.begin() + 1) : 0;
        numbers.push_back(entry.number);
        if (const auto edited = edit(i)) {
            writer.write(entry.interface, entry.time_ps, mark, edited->head, edited->payload);
            continue;
        }
        const auto payload = payload_of(entry);
        const auto reference = payload.size() > PayloadReference::size ? writer.refer(payload) : std::nullopt;
        if (reference)
            writer.write(entry.interface, entry.time_ps, mark, head_of(entry), *reference);
        else
            writer.write(entry.interface, entry.time_ps, mark, head_of(entry), payload);
    }
    return numbers;
}

} // namespace platform::record
