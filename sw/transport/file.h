// What a process holds of the kernel: descriptors and mappings that are given back when their owner goes, and text for
// what the kernel refuses. Knows no device.
#pragma once

#include "sw/base/result.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace sw::transport {

class File {
public:
    File() = default;
    explicit File(int number) : number_(number) {}
    File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    File& operator=(File&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~File() { close(); }
    void close() {
        if (number_ >= 0)
            ::close(std::exchange(number_, -1));
    }
    int number() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

private:
    int number_ = -1;
};

/// A range of a file, or of memory without one, in this process.
class Mapping {
public:
    Mapping() = default;
    Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping() {
        if (!bytes_.empty())
            ::munmap(bytes_.data(), bytes_.size());
    }
    /// `file` -1: zeroes without a file. Empty, with errno set, when the kernel refuses.
    static Mapping create(std::size_t bytes, int protection, int file, std::uint64_t offset) {
        Mapping mapping;
        const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
        void* at = ::mmap(nullptr, bytes, protection, flags | MAP_NORESERVE, file, static_cast<off_t>(offset));
        if (at != MAP_FAILED)
            mapping.bytes_ = {static_cast<std::byte*>(at), bytes};
        return mapping;
    }
    std::span<std::byte> bytes() const { return bytes_; }
    explicit operator bool() const { return !bytes_.empty(); }

private:
    std::span<std::byte> bytes_;
};

/// "WHAT: No such file or directory", of the present errno.
inline std::unexpected<Error> system_failure(const std::string& what) {
    const int code = errno;
    return failure(code, what + ": " + std::strerror(code));
}

} // namespace sw::transport
