#include "testbench/hcasim/payload.h"

#include "testbench/program/version.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hcasim {
namespace {

std::unexpected<std::string> failure(const std::string& name, std::string_view why) {
    return std::unexpected(fmt::format("payload {}: {}", name, why));
}

} // namespace

std::expected<Payload, std::string> Payload::open(const std::string& path) {
    const auto name = path.empty() ? std::string("(this program)") : path;
    // A FIFO nobody writes to would wait for ever.
    const int file = ::open(path.empty() ? program_itself : path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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
    return Payload(name, file, static_cast<std::uint64_t>(status.st_size));
}

std::expected<void, std::string> Payload::read(std::uint64_t offset, std::span<std::byte> into) const {
    while (!into.empty()) {
        const auto count = pread(file_, into.data(), into.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return failure(name_, std::strerror(errno));
        if (count == 0)
            return failure(
                name_, fmt::format("has become shorter while it was moved: it had {} bytes, now {}", size_, offset));
        into = into.subspan(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    return {};
}

scenario::PayloadSource Payload::source() const {
    return {size_, [this](std::uint64_t offset, std::span<std::byte> into) { return read(offset, into); }};
}

Payload::Payload(Payload&& other) noexcept
    : name_(std::move(other.name_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}
Payload& Payload::operator=(Payload&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(file_, other.file_);
    std::swap(size_, other.size_);
    return *this;
}
Payload::~Payload() {
    if (file_ >= 0)
        close(file_);
}

} // namespace hcasim
