// How much of the heap is in use, so that a test can say what an object costs: differences of heap_bytes().
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
// GCC 12 brings these functions, but not the header that declares them.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));
extern "C" std::size_t __sanitizer_get_allocated_size(const volatile void*);
#else
#include <malloc.h>
#endif

namespace harness {

#if defined(__SANITIZE_ADDRESS__)
/// Counted from the first call on. The sanitizer's own sum has in it what it keeps of every freed piece.
inline std::size_t heap_bytes() {
    static std::size_t bytes = 0;
    static const auto installed = __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void*, std::size_t size) { bytes += size; },
        [](const volatile void* piece) { bytes -= piece != nullptr ? __sanitizer_get_allocated_size(piece) : 0; });
    static_cast<void>(installed);
    return bytes;
}
#else
inline std::size_t heap_bytes() {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#endif

} // namespace harness
