// Doorbell records: 8 bytes of host memory in which a queue tells the device its counters (PRM "Doorbell record").
// Lends out records of shared pages, one cache line each, so that two queues never write the same line.
#pragma once

#include "abi/layout.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/transport/transport.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sw::mlx {

/// dword 0: receive counter, or CQ consumer index. dword 1: send counter, or CQ arm word.
struct DoorbellRecord {
    std::byte* data = nullptr;
    std::uint64_t bus = 0;
    void set_first(std::uint32_t value) const { abi::store<std::uint32_t, abi::Endian::big>(data, value); }
    void set_second(std::uint32_t value) const { abi::store<std::uint32_t, abi::Endian::big>(data + 4, value); }
};

class DoorbellRecords {
public:
    explicit DoorbellRecords(transport::Transport& transport) : transport_(transport) {}
    Result<DoorbellRecord> take();
    void give_back(const DoorbellRecord& record) { free_.push_back(record); }

private:
    transport::Transport& transport_;
    std::vector<memory::Buffer> pages_;
    std::vector<DoorbellRecord> free_;
};

} // namespace sw::mlx
