// The memory of the card: who makes an object takes its bytes from here, and gets nothing when they are used up.
#pragma once

#include <cstdint>

namespace model::simple {

class CardMemory {
public:
    static constexpr std::uint64_t unit = 64;

    explicit CardMemory(std::uint64_t bytes) : bytes_(bytes), free_(bytes) {}

    /// In whole units; false: there are not so many left.
    [[nodiscard]] bool take(std::uint64_t bytes) {
        if (bytes > bytes_ || rounded(bytes) > free_)
            return false;
        free_ -= rounded(bytes);
        return true;
    }
    void give_back(std::uint64_t bytes) { free_ += rounded(bytes); }
    void give_back_all() { free_ = bytes_; }

    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t free() const { return free_; }

private:
    static constexpr std::uint64_t rounded(std::uint64_t bytes) { return (bytes + unit - 1) / unit * unit; }

    std::uint64_t bytes_, free_;
};

} // namespace model::simple
