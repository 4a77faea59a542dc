#include "testbench/hcasim/payload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hcasim {
namespace {

std::unexpected<std::string> failure(const std::string& name, const char* why) {
    return std::unexpected(fmt::format("payload {}: {}", name, why));
}

} // namespace

std::expected<Payload, std::string> Payload::open(const std::string& path) {
    const auto name = path.empty() ? std::string("(this program)") : path;
    // A FIFO nobody writes to would wait for ever.
    const int file = ::open(path.empty() ? "/proc/self/exe" : path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return failure(name, std::strerror(errno));
    struct stat status{};
    const bool is_file = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    if (!is_file || status.st_size == 0) {
        close(file);
        return failure(name, S_ISDIR(status.st_mode) ? "is a directory"
                             : is_file               ? "is empty, there is nothing to move"
                                                     : "is not a file");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    close(file);
    if (data == MAP_FAILED)
        return failure(name, std::strerror(error));
    return Payload(name, {static_cast<const std::byte*>(data), size});
}

Payload::Payload(std::string name, std::span<const std::byte> bytes) : name_(std::move(name)), bytes_(bytes) {}
Payload::Payload(Payload&& other) noexcept : name_(std::move(other.name_)), bytes_(std::exchange(other.bytes_, {})) {}
Payload& Payload::operator=(Payload&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(bytes_, other.bytes_);
    return *this;
}
Payload::~Payload() {
    if (!bytes_.empty())
        munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

} // namespace hcasim
