// Numbers of objects (PRM "Resource numbers"): gives one that is free, takes it back. A number that was given back is
// the last to be given again, so that a driver's stale number is refused for as long as possible. Knows nothing of the
// objects.
#pragma once

#include <cassert>
#include <cstdint>
#include <deque>
#include <optional>

namespace firmware::objects {

class IdPool {
public:
    IdPool() = default;
    /// Numbers [first, first + count).
    IdPool(std::uint32_t first, std::uint32_t count) : first_(first), next_(first), end_(first + count) {}

    std::optional<std::uint32_t> take() {
        if (next_ != end_) {
            ++in_use_;
            return next_++;
        }
        if (returned_.empty())
            return std::nullopt;
        const auto number = returned_.front();
        returned_.pop_front();
        ++in_use_;
        return number;
    }
    /// The number must have come from take().
    void give_back(std::uint32_t number) {
        assert(number >= first_ && number < next_ && "a number that this pool gave");
        --in_use_;
        returned_.push_back(number);
    }
    std::uint32_t in_use() const { return in_use_; }
    bool has(std::uint32_t number) const { return number >= first_ && number < end_; }

private:
    std::uint32_t first_ = 0, next_ = 0, end_ = 0, in_use_ = 0;
    std::deque<std::uint32_t> returned_;
};

} // namespace firmware::objects
