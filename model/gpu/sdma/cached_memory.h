// Memory of a GPU with caches, as its copy engines reach it: they are clients of GL2, as the waves are, and pass the
// caches above it. Addresses of a context go through its page tables; context 0, while it is off, is the window onto
// VRAM that needs none.
#pragma once

#include "model/gpu/graphics_block.h"
#include "model/gpu/sdma/memory.h"

namespace model::gpu::sdma {

class CachedMemory final : public Memory {
public:
    explicit CachedMemory(GraphicsBlock& block) : block_(block) {}

    std::optional<Place> find(unsigned vmid, std::uint64_t address, bool is_write, unsigned client,
                              port::Time at) override;
    void leave_pages() override { block_.spaces().tell_none(); }
    memory::Below::Answer read(const Place& from, std::span<std::byte> into, port::Purpose purpose,
                               port::Time at) override;
    memory::Below::Answer write(const Place& to, std::span<const std::byte> from, port::Purpose purpose,
                                port::Time at) override;
    port::Time rinse(std::uint32_t gcr_cntl, port::Time at) override { return block_.acquire(gcr_cntl, at); }

private:
    GraphicsBlock& block_;
};

} // namespace model::gpu::sdma
