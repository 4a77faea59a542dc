// Where the coroutine frames of one thread lie: one piece of memory, taken when the thread is launched. Calls nest, so
// frames come and go like those of a stack, and no step of a program allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace model::gpu::wave {

class Frames {
public:
    explicit Frames(std::size_t bytes) : bytes_(bytes), memory_(std::make_unique_for_overwrite<std::byte[]>(bytes)) {}

    void* take(std::size_t bytes) {
        const auto whole = head_bytes + (bytes + alignment - 1) / alignment * alignment;
        if (whole > bytes_ - top_) {
            // A program that calls deeper than expected is slower, not wrong.
            ++overflows_;
            return new (::operator new(whole)) Head{} + 1;
        }
        auto* head = new (&memory_[top_]) Head{.frames = this, .below = last_};
        last_ = static_cast<std::uint32_t>(top_);
        top_ += whole;
        return head + 1;
    }
    static void give_back(void* frame) {
        auto* head = static_cast<Head*>(frame) - 1;
        if (head->frames == nullptr)
            return ::operator delete(head);
        head->is_free = true;
        head->frames->drop_free();
    }

    std::size_t used() const { return top_; }
    std::size_t overflows() const { return overflows_; }

private:
    static constexpr std::size_t alignment = 16;
    static constexpr std::uint32_t none = ~0u;
    struct alignas(alignment) Head {
        Frames* frames = nullptr;   ///< none: from the heap
        std::uint32_t below = none; ///< place of the frame before
        bool is_free = false;
    };
    static constexpr std::size_t head_bytes = sizeof(Head);

    /// Frames that end out of order go when those above them have gone.
    void drop_free() {
        while (last_ != none) {
            const auto* head = reinterpret_cast<const Head*>(&memory_[last_]);
            if (!head->is_free)
                return;
            top_ = last_;
            last_ = head->below;
        }
    }

    std::size_t bytes_, top_ = 0, overflows_ = 0;
    std::uint32_t last_ = none;
    std::unique_ptr<std::byte[]> memory_; ///< as aligned as operator new makes it: 16 bytes
};

} // namespace model::gpu::wave
