// A queue of values in a power-of-two array that grows to what it once needed and then allocates no more.
#pragma once

#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

namespace model::hca::queue {

/// Elements have running numbers: the oldest is begin(), the next to be pushed gets end(). Numbers wrap at 2^32.
template <class T> class Ring {
public:
    std::uint32_t begin() const { return begin_; }
    std::uint32_t end() const { return end_; }
    std::uint32_t size() const { return end_ - begin_; }
    bool is_empty() const { return begin_ == end_; }
    T& operator[](std::uint32_t number) {
        assert(number - begin_ < size());
        return slots_[number & (slots_.size() - 1)];
    }
    const T& operator[](std::uint32_t number) const { return slots_[number & (slots_.size() - 1)]; }
    T& front() { return (*this)[begin_]; }
    const T& front() const { return (*this)[begin_]; }
    T& back() { return (*this)[end_ - 1]; }
    T& push(T value) { return push() = std::move(value); }
    /// A new element to be filled in place: a value that is first made elsewhere is read again before its members have
    /// left the processor's store buffer, which costs more than all else here.
    T& push() {
        if (size() == slots_.size()) [[unlikely]]
            grow();
        return slots_[end_++ & (slots_.size() - 1)] = T{};
    }
    void pop() {
        assert(!is_empty());
        ++begin_;
    }
    void pop_back() {
        assert(!is_empty());
        --end_;
    }
    void clear() { begin_ = end_ = 0; }

private:
    void grow() {
        // It begins with one: of thousands of queue pairs, most have one message under way, and a place that is used
        // again is in the processor's cache.
        std::vector<T> bigger(slots_.empty() ? 1 : slots_.size() * 2);
        for (auto n = begin_; n != end_; ++n)
            bigger[n & (bigger.size() - 1)] = std::move(slots_[n & (slots_.size() - 1)]);
        slots_ = std::move(bigger);
    }

    std::vector<T> slots_;
    std::uint32_t begin_ = 0, end_ = 0;
};

} // namespace model::hca::queue
