// Ordering between the processor and the device. A caller names the two things it orders; no barrier stands alone.
// DMA memory is coherent: these order accesses, they do not flush. PCIe 6.0 §2.4 keeps posted writes of one source in
// order, so what is left to order is the processor's own stores and loads.
#pragma once

#include <atomic>

namespace sw::base {

/// Stores to DMA memory before this are visible to the device before stores after it: entry before owner, ring before
/// record.
inline void dma_wmb() {
#if defined(__aarch64__)
    asm volatile("dmb oshst" ::
                     : "memory"); // the device sits in the outer shareable domain, which a C++ fence does not reach
#else
    std::atomic_thread_fence(std::memory_order_release);
#endif
}

/// Loads of DMA memory before this happen before loads after it: owner before entry.
inline void dma_rmb() {
#if defined(__aarch64__)
    asm volatile("dmb oshld" ::: "memory");
#else
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

/// Stores to DMA memory before this are visible before an MMIO store after it: record before doorbell.
inline void mmio_wmb() {
#if defined(__aarch64__)
    asm volatile("dsb st" ::: "memory");
#else
    std::atomic_thread_fence(std::memory_order_release);
#endif
}

/// A store to DMA memory before this is visible before a load of DMA memory after it: arm before the last look.
inline void dma_mb() { std::atomic_thread_fence(std::memory_order_seq_cst); }

} // namespace sw::base
