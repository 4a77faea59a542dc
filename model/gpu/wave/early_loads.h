// The adversary of load order: a load without an acquire in front of it may have been done earlier, by the compiler or
// by the machine (PTX ISA "Memory Consistency Model", and so in the model of the C++ that GPU programs are written in).
// What a thread polls shows with it what stood around it when the thread first looked there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace model::gpu::wave {

class EarlyLoads {
public:
    static constexpr std::uint64_t block_bytes = 64;
    static constexpr std::size_t longest_poll = 8;

    /// Whether a load of so many bytes there is to bring in the block around it; of the same block, only the first.
    bool wants(std::uint64_t address, std::size_t length) {
        const auto block = address / block_bytes * block_bytes;
        if (length > longest_poll || address + length > block + block_bytes || (is_valid_ && block == block_))
            return false;
        is_valid_ = true;
        block_ = block, polled_ = address, polled_end_ = address + length;
        return true;
    }
    std::uint64_t block() const { return block_; }
    std::span<std::byte> bytes() { return bytes_; }

    /// Whether a load there has bytes that may be those of then. The value that was polled never is.
    bool has(std::uint64_t address, std::size_t length) const {
        return is_valid_ && address >= block_ && address + length <= block_ + block_bytes &&
               (address < polled_ || address + length > polled_end_);
    }
    /// What a load has brought becomes what it would have brought then.
    void give(std::uint64_t address, std::span<std::byte> into) const {
        for (std::size_t i = 0; i < into.size(); ++i)
            if (address + i < polled_ || address + i >= polled_end_)
                into[i] = bytes_[address + i - block_];
    }
    /// An acquire, or a store of the thread's own: what was loaded before is not what is loaded now.
    void forget() { is_valid_ = false; }

private:
    bool is_valid_ = false;
    std::uint64_t block_ = 0, polled_ = 0, polled_end_ = 0;
    std::array<std::byte, block_bytes> bytes_{};
};

} // namespace model::gpu::wave
