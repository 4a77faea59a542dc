#include "model/hca/icm/context_memory.h"

#include <algorithm>
#include <array>

namespace model::hca::icm {

namespace {
constexpr std::uint64_t line_bytes = 64, page_bytes = 4096, lines_per_page = page_bytes / line_bytes;
constexpr std::uint64_t tables = 5;
} // namespace

port::Time ContextMemory::fetch(Table table, std::uint64_t line, port::Time at, port::Time beyond) {
    // A read may have to wait for a client's memory, and another chain come here meanwhile; it is not kept waiting.
    const auto entered = is_timed_ ? engines_.enter(at) : port::never;
    const auto begin = entered == port::never ? at : entered;
    auto done = begin;
    if (pages_ != nullptr && !pages_->empty()) {
        // Each table begins at a fifth of the pages, and neighbours lie next to each other.
        const auto first = static_cast<std::uint64_t>(table) * pages_->size() / tables;
        const auto page = (*pages_)[(first + line / lines_per_page) % pages_->size()];
        std::array<std::byte, line_bytes> bytes; // what they say is with the objects
        done = std::max(done, dma_.read(abi::BusAddress{page + line % lines_per_page * line_bytes}, bytes, begin).done);
    }
    done += beyond;
    if (entered != port::never)
        engines_.leave(begin, done);
    return done;
}

} // namespace model::hca::icm
