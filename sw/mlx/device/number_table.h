// Driver objects by the number the device gave them: one array, one load per look-up, as the completion path wants it.
#pragma once

#include <cstdint>
#include <vector>

namespace sw::mlx {

template <class T> class NumberTable {
public:
    T* find(std::uint32_t number) const { return number < slots_.size() ? slots_[number] : nullptr; }
    void insert(std::uint32_t number, T* object) {
        if (number >= slots_.size())
            slots_.resize(std::size_t{number} + 1);
        slots_[number] = object;
    }
    void erase(std::uint32_t number) {
        if (number < slots_.size())
            slots_[number] = nullptr;
    }

private:
    std::vector<T*> slots_; // numbers are at most 24 bits
};

} // namespace sw::mlx
