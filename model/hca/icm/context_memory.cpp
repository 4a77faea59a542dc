#include "model/hca/icm/context_memory.h"

#include <algorithm>
#include <array>

namespace model::hca::icm {

namespace {
constexpr std::uint64_t line_bytes = 64, page_bytes = 4096, lines_per_page = page_bytes / line_bytes;
constexpr std::uint64_t tables = 5;
} // namespace

port::Time ContextMemory::fetch(Table table, std::uint64_t line, port::Time at, port::Time beyond) {
    // The misses of a message are booked one behind the other when its first one is, and those of others between them:
    // an engine that waits for a later one meanwhile brings what is missed earlier.
    if (!is_timed_)
        return read(table, line, at) + beyond;
    return engines_
        .use_until(at, last_read_ + beyond,
                   [&](port::Time begin) {
                       const auto done = read(table, line, begin);
                       last_read_ = done - begin;
                       return done + beyond;
                   })
        .done;
}

port::Time ContextMemory::read(Table table, std::uint64_t line, port::Time at) {
    if (pages_ == nullptr || pages_->empty())
        return at;
    // Each table begins at a fifth of the pages, and neighbours lie next to each other.
    const auto first = static_cast<std::uint64_t>(table) * pages_->size() / tables;
    const auto page = (*pages_)[(first + line / lines_per_page) % pages_->size()];
    std::array<std::byte, line_bytes> bytes; // what they say is with the objects
    const auto address = abi::BusAddress{page + line % lines_per_page * line_bytes};
    return std::max(at, dma_.read(address, bytes, at).done);
}

} // namespace model::hca::icm
