#include "sw/mlx/doorbell/doorbell_record.h"

#include <utility>

namespace sw::mlx {

Result<DoorbellRecord> DoorbellRecords::take() {
    constexpr std::size_t line = 64, page = 4096;
    if (free_.empty()) {
        auto memory = memory::Buffer::allocate(transport_, page);
        if (!memory)
            return failure(memory.error().code, "take a doorbell record: " + memory.error().what);
        for (std::size_t at = page; at >= line; at -= line)
            free_.push_back({memory->data() + at - line, memory->bus() + at - line});
        pages_.push_back(std::move(*memory));
    }
    const auto record = free_.back();
    free_.pop_back();
    record.set_first(0);
    record.set_second(0);
    return record;
}

} // namespace sw::mlx
