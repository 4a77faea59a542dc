// Divides a few large chunks of DMA memory into pieces of any size, so that thousands of pages are one mapping of the
// device. The maker of a chunk provides its memory and maps it; here it is divided, zeroed and taken back. Not for
// several threads at once.
#pragma once

#include "sw/base/result.h"
#include "sw/memory/iova.h"
#include "sw/transport/transport.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace sw::transport {

/// Memory that a device can reach at consecutive addresses; its owner undoes that when it goes.
class DmaChunk {
public:
    virtual ~DmaChunk() = default;
    virtual std::span<std::byte> bytes() const = 0;
};

class DmaPool {
public:
    /// Zeroed memory of `size` bytes for the device at `bus`. Both are whole pages.
    using Make = std::function<Result<std::unique_ptr<DmaChunk>>(std::uint64_t bus, std::size_t size)>;
    static constexpr std::size_t page = 4096, chunk_bytes = 4 << 20;

    /// Addresses are taken from `space`, which outlives the pool.
    DmaPool(memory::IovaSpace& space, Make make) : space_(space), make_(std::move(make)) {}
    ~DmaPool();
    DmaPool(const DmaPool&) = delete;
    DmaPool& operator=(const DmaPool&) = delete;

    /// As Transport::allocate.
    Result<DmaMemory> allocate(std::size_t bytes, std::size_t alignment);
    /// Releases chunks that nobody uses any more, except one.
    void release(const DmaMemory& memory);
    /// The processor's view of what the device has at [bus, +size); empty when that is no one chunk of ours.
    std::span<std::byte> find(std::uint64_t bus, std::uint64_t size) const;

private:
    struct Chunk {
        std::unique_ptr<DmaChunk> memory;
        std::unique_ptr<memory::IovaSpace> free; ///< of bus addresses
        std::uint64_t touched;                   ///< bus address behind all that was ever given out
        std::uint64_t free_bytes;
    };
    using Chunks = std::map<std::uint64_t, Chunk>; ///< by bus address
    Result<Chunks::iterator> add_chunk(std::size_t bytes, std::size_t alignment);
    static std::optional<DmaMemory> take(Chunks::iterator at, std::size_t bytes, std::size_t alignment);
    void remove(Chunks::iterator chunk);

    memory::IovaSpace& space_;
    Make make_;
    Chunks chunks_;
};

} // namespace sw::transport
