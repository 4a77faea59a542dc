// Objects of one kind by number. Numbers are dense, so look-up is an index, never a hash.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace model::hca {

template <class T> class ObjectTable {
public:
    /// The object with this number, or nullptr. Any number may be asked for.
    T* find(std::uint32_t number) const { return number < slots_.size() ? slots_[number].get() : nullptr; }
    /// Puts an object in its place; the number must be free and come from a bounded pool.
    template <class... Args> T& create(std::uint32_t number, Args&&... args) {
        if (number >= slots_.size())
            slots_.resize(number + 1);
        slots_[number] = std::make_unique<T>(std::forward<Args>(args)...);
        ++count_;
        return *slots_[number];
    }
    void destroy(std::uint32_t number) {
        if (find(number) == nullptr)
            return;
        slots_[number].reset();
        --count_;
    }
    void clear() { slots_.clear(), count_ = 0; }
    std::size_t count() const { return count_; }
    template <class F> void for_each(F&& f) const {
        for (const auto& slot : slots_)
            if (slot)
                f(*slot);
    }

private:
    std::vector<std::unique_ptr<T>> slots_;
    std::size_t count_ = 0;
};

} // namespace model::hca
