// DMA memory with one owner: allocated from a transport, released when the object is destroyed. Knows no contents.
#pragma once

#include "sw/base/result.h"
#include "sw/transport/transport.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sw::memory {

class Buffer {
public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept
        : transport_(std::exchange(other.transport_, nullptr)), memory_(std::exchange(other.memory_, {})) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(transport_, other.transport_);
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~Buffer() {
        if (transport_)
            transport_->release(memory_);
    }

    /// Zeroed memory of at least `bytes`, rounded up to whole 4 KiB pages. `alignment` is a power of two.
    static Result<Buffer> allocate(transport::Transport& transport, std::size_t bytes, std::size_t alignment = 4096);

    std::byte* data() const { return memory_.data; }
    std::uint64_t bus() const { return memory_.bus; }
    std::size_t size() const { return memory_.size; }
    std::span<std::byte> bytes() const { return memory_.bytes(); }
    const transport::DmaMemory& memory() const { return memory_; }

private:
    Buffer(transport::Transport& transport, const transport::DmaMemory& memory)
        : transport_(&transport), memory_(memory) {}

    transport::Transport* transport_ = nullptr;
    transport::DmaMemory memory_{};
};

} // namespace sw::memory
