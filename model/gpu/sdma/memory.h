// Memory as a copy engine reaches it: by a virtual address of one of the contexts, or by a physical one. A GPU with
// caches lets it through GL2, one without has only memory.
#pragma once

#include "abi/gpu/sdma.h"
#include "model/gpu/memory/below.h"

#include <optional>

namespace model::gpu::sdma {

/// Where an address leads.
struct Place {
    memory::Physical physical;
    memory::Mtype mtype = memory::Mtype::uc;
    std::uint64_t left = ~std::uint64_t{0}; ///< bytes from there on that lie behind each other
    bool is_prt = false;                    ///< there is no memory: reads give zero, writes are dropped
};

class Memory {
public:
    virtual ~Memory() = default;
    /// Nothing: a fault, which is on record for `client`.
    virtual std::optional<Place> find(unsigned vmid, std::uint64_t address, bool is_write, unsigned client,
                                      port::Time at) = 0;
    /// What follows goes to an address that no page leads to.
    virtual void leave_pages() {}
    virtual memory::Below::Answer read(const Place& from, std::span<std::byte> into, port::Purpose purpose,
                                       port::Time at) = 0;
    /// Returns when the bytes are there; `is_ok` is false where there is no memory.
    virtual memory::Below::Answer write(const Place& to, std::span<const std::byte> from, port::Purpose purpose,
                                        port::Time at) = 0;
    /// What GCR_REQ asks of the caches, by GCR_CNTL. Returns when it is done.
    virtual port::Time rinse(std::uint32_t gcr_cntl, port::Time at) = 0;
};

} // namespace model::gpu::sdma
