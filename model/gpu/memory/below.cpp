#include "model/gpu/memory/below.h"

#include <algorithm>
#include <cstring>

namespace model::gpu::memory {

using cache::ByteMask;
using cache::Insert;

Below::Below(const MemoryConfig& config, std::span<std::byte> vram, port::Dma& dma, std::mt19937_64& random)
    : config_(config), vram_(vram), dma_(dma), random_(random), vram_line_("vram", config.vram_bytes_per_second),
      mall_(config.mall) {
    delayed_.reserve(max_delayed);
}

Below::Answer Below::read(Physical from, std::span<std::byte> into, bool allocates, port::Time at, unsigned reader,
                          port::Purpose purpose) {
    Answer answer{.done = at};
    if (from.is_bus()) {
        const auto result = dma_.read(abi::BusAddress{from.address()}, into, at, purpose);
        answer = {.is_ok = result.is_ok(), .done = config_.timed ? result.done : at, .level = Level::bus};
    } else if (is_in_vram(from, into.size())) {
        for (std::size_t i = 0; i < into.size();) {
            const auto n =
                std::min<std::size_t>(into.size() - i, mall_.line_bytes() - (from.value + i) % mall_.line_bytes());
            const auto piece = read_vram_line(from + i, into.subspan(i, n), allocates, at);
            answer.done = std::max(answer.done, piece.done);
            answer.level = i == 0 ? piece.level : std::max(answer.level, piece.level);
            i += n;
        }
    } else {
        answer.is_ok = false;
    }
    if (!answer.is_ok) {
        std::ranges::fill(into, std::byte{0xff});
        return answer;
    }
    add_own_stores(reader, from, into);
    return answer;
}

void Below::add_own_stores(unsigned reader, Physical from, std::span<std::byte> into) const {
    if (reader == nobody)
        return;
    for (const auto& store : delayed_) {
        const auto begin = std::max(store.to.value, from.value);
        const auto end = std::min(store.to.value + store.length, from.value + into.size());
        if (store.writer == reader && begin < end)
            std::memcpy(into.data() + (begin - from.value), store.bytes.data() + (begin - store.to.value), end - begin);
    }
}

Below::Answer Below::read_vram_line(Physical from, std::span<std::byte> into, bool allocates, port::Time at) {
    const auto begin = static_cast<unsigned>(from.value % mall_.line_bytes());
    const ByteMask wanted{begin, static_cast<unsigned>(into.size())};
    if (auto* line = mall_.find(from.value); line != nullptr && line->valid.has(wanted)) {
        line->read(begin, into);
        return {.done = config_.timed ? at + config_.latencies.mall : at, .level = Level::mall};
    }
    std::memcpy(into.data(), vram_.data() + from.value, into.size());
    if (allocates) {
        const auto first = from.value - begin;
        auto& line = mall_.allocate(first, Insert::most_recent, at, [](cache::Line&) {}); // never dirty
        line.fill(0, vram_.subspan(first, std::min<std::size_t>(mall_.line_bytes(), vram_.size() - first)));
    }
    const auto crossed = cross(allocates ? mall_.line_bytes() : into.size(), at);
    return {.done = config_.timed ? crossed + config_.latencies.vram : at, .level = Level::vram};
}

Below::Answer Below::send(Physical to, std::span<const std::byte> from, port::Purpose purpose, port::Time at) {
    const auto result = dma_.write(abi::BusAddress{to.address()}, from, at, purpose);
    return {.is_ok = result.is_ok(), .done = config_.timed ? result.done : at, .level = Level::bus};
}

port::Time Below::write(Physical to, std::span<const std::byte> from, port::Time at) {
    if (to.is_bus())
        return send(to, from, port::Purpose::control, at).done;
    if (!is_in_vram(to, from.size())) // decoded by nobody
        return at;
    std::memcpy(vram_.data() + to.value, from.data(), from.size());
    update_mall(to.value, from);
    writers_.note(to.value, from.size(), Writer::gpu, at);
    watchers_.tell(to.value, from.size(), at);
    return config_.timed ? cross(from.size(), at) + config_.latencies.mall : at;
}

port::Time Below::store(Physical to, std::span<const std::byte> from, port::Time at, unsigned writer) {
    assert(from.size() <= ByteMask::bytes && "a store reaches memory in pieces of a line");
    if (config_.store_hold == port::Time{} || !config_.is_adversarial)
        return write(to, from, at);
    if (delayed_.size() == max_delayed)
        drain(at);
    auto due =
        at +
        port::Time{static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(config_.store_hold.count() + 1))};
    // Stores to one line, and posted writes on their path to PCIe, stay in order.
    for (const auto& store : delayed_)
        if (to.is_bus() ? store.to.is_bus() : store.to.value / ByteMask::bytes == to.value / ByteMask::bytes)
            due = std::max(due, store.due);
    auto& store = delayed_.emplace_back(Delayed{to, due, at, static_cast<std::uint32_t>(from.size()), writer, {}});
    std::memcpy(store.bytes.data(), from.data(), from.size());
    // Who waits on the same CU sees it from now on; all others are told again when it is due.
    watchers_.tell(to.value, from.size(), at);
    return due;
}

void Below::drain_until(port::Time due, port::Time at) {
    while (!delayed_.empty()) {
        const auto first = std::ranges::min_element(delayed_, {}, &Delayed::due); // the earlier store of equals
        if (first->due > due)
            return;
        const auto store = *first;
        delayed_.erase(first);
        write_kept(store.to, store.since);
        write(store.to, std::span(store.bytes).first(store.length), std::min(std::max(at, store.due), due));
    }
}

port::Time Below::next_due() const {
    return delayed_.empty() ? port::never : std::ranges::min_element(delayed_, {}, &Delayed::due)->due;
}

void Below::read_vram(std::uint64_t offset, std::span<std::byte> into) const {
    std::memcpy(into.data(), vram_.data() + offset, into.size());
}

void Below::write_vram(std::uint64_t offset, std::span<const std::byte> from, port::Time at) {
    std::memcpy(vram_.data() + offset, from.data(), from.size());
    if (!config_.mall_lies)
        update_mall(offset, from);
    writers_.note(offset, from.size(), Writer::inbound, at);
    watchers_.tell(offset, from.size(), at);
}

void Below::update_mall(std::uint64_t offset, std::span<const std::byte> from) {
    for (std::size_t i = 0; i < from.size();) {
        const auto begin = static_cast<unsigned>((offset + i) % mall_.line_bytes());
        const auto n = std::min<std::size_t>(from.size() - i, mall_.line_bytes() - begin);
        if (auto* line = mall_.peek(offset + i); line != nullptr)
            line->fill(begin, from.subspan(i, n));
        i += n;
    }
}

bool Below::differs(Physical from, std::span<const std::byte> bytes, unsigned reader) const {
    if (!is_in_vram(from, bytes.size()))
        return false;
    std::array<std::byte, ByteMask::bytes> held;
    const auto latest = std::span(held).first(bytes.size());
    read_vram(from.value, latest);
    add_own_stores(reader, from, latest);
    return !std::ranges::equal(latest, bytes);
}

void Below::reset() {
    delayed_.clear();
    mall_.drop_all();
}

} // namespace model::gpu::memory
