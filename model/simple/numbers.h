// Numbers of objects and the objects behind them. A number that was given back is the last to be given again, so that
// packets and completions that still name it meet nobody.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace model::simple {

template <class T> class Numbered {
public:
    /// Numbers from `first` to `end` - 1.
    Numbered(std::uint32_t first, std::uint32_t end) : first_(first), next_(first), end_(end) {}

    /// nullptr: there is none of that number.
    T* find(std::uint32_t number) const {
        return number >= first_ && number - first_ < objects_.size() ? objects_[number - first_].get() : nullptr;
    }
    bool is_full() const { return next_ == end_ && given_back_.empty(); }
    /// Nothing: all numbers are taken.
    std::optional<std::uint32_t> add(std::unique_ptr<T> object) {
        if (is_full())
            return std::nullopt;
        std::uint32_t number = next_;
        if (next_ != end_) {
            ++next_;
            objects_.emplace_back();
        } else {
            number = given_back_.front();
            given_back_.pop_front();
        }
        objects_[number - first_] = std::move(object);
        return number;
    }
    void remove(std::uint32_t number) {
        objects_[number - first_].reset();
        given_back_.push_back(number);
    }
    void clear() { *this = Numbered(first_, end_); }

private:
    std::uint32_t first_, next_, end_;
    std::vector<std::unique_ptr<T>> objects_;
    std::deque<std::uint32_t> given_back_;
};

} // namespace model::simple
