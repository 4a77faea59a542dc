// A file descriptor that is owned, as it comes out of a message of a local socket. Closes it; knows nothing of what is
// behind it.
#pragma once

#include <unistd.h>

#include <utility>

namespace platform::bridge::vfio_user {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0)
            ::close(number_);
    }
    int number() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

private:
    int number_ = -1;
};

} // namespace platform::bridge::vfio_user
