// A memory region: memory the device may reach by key, from host memory or from what a peer exported (PRM "Memory key",
// CREATE_MKEY). Chooses the page size, hands the page list over, and takes the key away again. Copies nothing.
#pragma once

#include "abi/types.h"
#include "sw/base/result.h"
#include "sw/memory/dmabuf.h"
#include "sw/memory/umem.h"
#include "sw/mlx/access.h"
#include "sw/mlx/device.h"
#include "sw/transport/transport.h"

#include <cstdint>
#include <optional>

namespace sw::mlx {

struct RegionOptions {
    Access access = Access::local_write;
    std::optional<abi::Iova>
        iova{};              ///< where the region begins in work requests; else its bus address, or one of our own
    bool zero_based = false; ///< it begins at 0
    std::optional<unsigned> log_page_size{}; ///< no larger than this
};

class MemoryRegion {
public:
    /// Part of host memory: `length` bytes at `offset`.
    static Result<MemoryRegion> from_host(Device& device, abi::Pd pd, const transport::DmaMemory& memory,
                                          std::uint64_t offset, std::uint64_t length,
                                          const RegionOptions& options = {});
    /// Part of memory that another device exported.
    static Result<MemoryRegion> from_export(Device& device, abi::Pd pd, memory::DmaBufHandle handle,
                                            std::uint64_t offset, std::uint64_t length,
                                            const RegionOptions& options = {});
    /// All of the bus: addresses in work requests are bus addresses (PRM "Memory key", length64). For the driver's own
    /// use.
    static Result<MemoryRegion> physical(Device& device, abi::Pd pd, Access access);

    MemoryRegion(MemoryRegion&& other) noexcept;
    MemoryRegion& operator=(MemoryRegion&& other) noexcept;
    ~MemoryRegion();
    /// Takes the key away from the device, then lets go of the memory.
    Result<void> destroy();

    std::uint32_t lkey() const { return key_.value; }
    std::uint32_t rkey() const { return key_.value; }
    abi::Key key() const { return key_; }
    abi::Iova iova() const { return iova_; }
    std::uint64_t length() const { return length_; }
    unsigned log_page_size() const { return log_page_size_; }
    std::size_t page_count() const { return page_count_; }

private:
    MemoryRegion() = default;
    static Result<MemoryRegion> create(Device& device, abi::Pd pd, memory::Umem umem, abi::Iova iova,
                                       const RegionOptions& options);

    Device* device_ = nullptr; // set while the key exists
    memory::Umem umem_;
    abi::Key key_{};
    abi::Iova iova_{};
    bool owns_iova_ = false;
    std::uint64_t length_ = 0;
    unsigned log_page_size_ = 0;
    std::size_t page_count_ = 0;
};

} // namespace sw::mlx
