// Bytes that cost nothing until they are touched: the DRAM of a host, the VRAM of a GPU. Backed by a memory file, so
// that another process can be given the same bytes. Knows no addresses and no bus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace model::memory {

class SparseMemory {
public:
    /// Throws std::system_error where the machine cannot map `bytes`. `name` shows in /proc.
    SparseMemory(const std::string& name, std::uint64_t bytes);
    ~SparseMemory();
    SparseMemory(const SparseMemory&) = delete;
    SparseMemory& operator=(const SparseMemory&) = delete;

    std::span<std::byte> bytes() const { return {data_, size_}; }
    std::uint64_t size() const { return size_; }
    /// The memory file, for mappings in other processes; stays owned by this. -1: others could change its size.
    int file() const { return is_sealed_ ? file_ : -1; }
    /// Bytes of the machine's memory in use.
    std::uint64_t resident_bytes() const;
    /// Zeroes whole pages of the range and gives them back; parts of pages are zeroed in place.
    void discard(std::uint64_t offset, std::uint64_t length);

private:
    int file_ = -1;
    bool is_sealed_ = false;
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0;
};

} // namespace model::memory
