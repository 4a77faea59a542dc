#include "platform/record/memory_image.h"

#include <algorithm>

namespace platform::record {

using model::port::DmaStatus;

/// Calls visit(number of the page, offset in it, offset in the range, bytes).
template <class Visit> void MemoryImage::each_page(std::uint64_t address, std::size_t length, Visit&& visit) {
    for (std::size_t at = 0; at < length;) {
        const auto offset = static_cast<std::size_t>((address + at) % page_bytes);
        const auto count = std::min(length - at, static_cast<std::size_t>(page_bytes) - offset);
        visit((address + at) / page_bytes, offset, at, count);
        at += count;
    }
}

void MemoryImage::observe(std::uint64_t record, std::uint64_t address, std::size_t length,
                          std::span<const std::byte> bytes, DmaStatus status, Time took) {
    auto& seen = observations_.emplace_back(Observation{.address = address,
                                                        .length = length,
                                                        .bytes = {bytes.begin(), bytes.end()},
                                                        .status = status,
                                                        .took = took,
                                                        .used = std::vector<bool>(length),
                                                        .record = record});
    seen.bytes.resize(status == DmaStatus::ok ? length : 0);
    held_bytes_ += length;
    each_page(address, length,
              [&](std::uint64_t page, auto, auto, auto) { pages_[page].observations.push_back(&seen); });
}

std::size_t MemoryImage::Observation::run(std::size_t byte, std::size_t most) const {
    most = std::min(most, length - byte);
    if (used_count == 0 || used_count == length)
        return most;
    std::size_t count = 1;
    while (count < most && used[byte + count] == used[byte])
        ++count;
    return count;
}

MemoryImage::Choice MemoryImage::choose(const Page& page, std::uint64_t address, std::size_t most,
                                        std::uint64_t applied, std::uint64_t next) {
    Observation *old = nullptr, *present = nullptr, *coming = nullptr;
    bool is_ahead = false; // it has had one that was to come
    auto run = most;
    for (auto* seen : page.observations) {
        if (address < seen->address) {
            run = std::min<std::uint64_t>(run, seen->address - address);
            continue;
        }
        const auto byte = static_cast<std::size_t>(address - seen->address);
        if (byte >= seen->length)
            continue;
        run = std::min(run, seen->run(byte, run));
        const bool is_used = seen->used[byte];
        if (seen->record < applied)
            old = is_used ? nullptr : seen;
        else if (seen->record < next && !is_used && present == nullptr)
            present = seen;
        else if (seen->record >= next && is_used)
            is_ahead = true;
        else if (seen->record >= next) {
            coming = seen;
            break; // those behind it are not had before it
        }
    }
    if (present != nullptr)
        return {present, run};
    if (old != nullptr)
        return {old, run};
    return {is_ahead ? nullptr : coming, run};
}

MemoryImage::Answer MemoryImage::read(std::uint64_t address, std::span<std::byte> into, std::uint64_t applied,
                                      std::uint64_t next) {
    Answer answer{.took = took_};
    each_page(address, into.size(), [&](std::uint64_t number, std::size_t offset, std::size_t at, std::size_t count) {
        auto& page = pages_[number];
        for (std::size_t i = 0; i < count;) {
            const auto [seen, run] = choose(page, address + at + i, count - i, applied, next);
            if (seen != nullptr)
                answer.took = took_ = seen->took;
            if (seen != nullptr && seen->status != DmaStatus::ok) {
                answer.status = seen->status;
                for (std::size_t byte = 0; byte < seen->length; ++byte)
                    seen->use(byte);
                return;
            }
            for (std::size_t step = 0; step < run; ++step, ++i) {
                if (seen != nullptr) {
                    const auto byte = static_cast<std::size_t>(address + at + i - seen->address);
                    page.bytes[offset + i] = seen->bytes[byte];
                    page.known.set(offset + i);
                    seen->use(byte);
                }
                answer.is_known = answer.is_known && page.known[offset + i];
                into[at + i] = page.bytes[offset + i];
            }
        }
    });
    return answer;
}

void MemoryImage::write(std::uint64_t address, std::span<const std::byte> bytes, std::uint64_t record) {
    each_page(address, bytes.size(), [&](std::uint64_t number, std::size_t offset, std::size_t at, std::size_t count) {
        auto& page = pages_[number];
        std::ranges::copy(bytes.subspan(at, count), page.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
        for (std::size_t i = 0; i < count; ++i)
            page.known.set(offset + i);
        // What was seen there before is overwritten.
        for (auto* seen : page.observations) {
            if (seen->record >= record)
                break;
            const auto begin = std::max(seen->address, address + at);
            const auto end = std::min(seen->address + seen->length, address + at + count);
            for (auto byte = begin; byte < end; ++byte)
                seen->use(byte - seen->address);
        }
    });
}

void MemoryImage::forget(std::uint64_t record) {
    while (!observations_.empty() && observations_.front().record < record) {
        auto& seen = observations_.front();
        held_bytes_ -= seen.length;
        each_page(seen.address, seen.length, [&](std::uint64_t number, std::size_t offset, std::size_t at, auto count) {
            auto& page = pages_[number];
            std::erase(page.observations, &seen);
            for (std::size_t i = 0; i < count && seen.status == DmaStatus::ok; ++i)
                if (!seen.used[at + i]) {
                    page.bytes[offset + i] = seen.bytes[at + i];
                    page.known.set(offset + i);
                }
        });
        observations_.pop_front();
    }
}

} // namespace platform::record
