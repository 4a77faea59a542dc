#include "traces/codec/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace traces::codec {
namespace {

std::unexpected<std::string> failure(const std::string& path, std::string_view what) {
    return std::unexpected(fmt::format("{}: cannot be {}: {}", path, what, std::strerror(errno)));
}

} // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
}

Descriptor::~Descriptor() {
    if (number_ >= 0)
        ::close(number_);
}

std::expected<FileSource, std::string> FileSource::open(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.number() < 0)
        return failure(path, "opened");
    return FileSource(std::move(file), path);
}

std::expected<std::size_t, std::string> FileSource::read(std::span<std::byte> into) {
    for (;;) {
        const auto count = ::read(file_.number(), into.data(), into.size());
        if (count >= 0)
            return static_cast<std::size_t>(count);
        if (errno != EINTR)
            return failure(path_, "read");
    }
}

std::expected<FileDestination, std::string> FileDestination::create(const std::string& path, Outlives outlives) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.number() < 0)
        return failure(path, "created");
    return FileDestination(std::move(file), path, outlives);
}

Destination::Outcome FileDestination::write(std::span<const std::byte> bytes) {
    const auto all = bytes.size();
    while (!bytes.empty()) {
        const auto count = ::write(file_.number(), bytes.data(), bytes.size());
        if (count >= 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        } else if (errno != EINTR) {
            const auto failed = failure(path_, "written");
            // A pipe or a device keeps what it has taken.
            static_cast<void>(::ftruncate(file_.number(), static_cast<off_t>(size_)) == 0);
            return failed;
        }
    }
    size_ += all;
    return {};
}

Destination::Outcome FileDestination::keep() {
    // EINVAL: a pipe or a terminal keeps nothing.
    if (outlives_ == Outlives::machine && ::fdatasync(file_.number()) != 0 && errno != EINVAL && errno != EROFS)
        return failure(path_, "written");
    return {};
}

void FileDestination::give_up() {
    struct stat found{};
    // What is in it may have come from a process that was made since.
    if (::fstat(file_.number(), &found) == 0 && found.st_size == 0 && S_ISREG(found.st_mode))
        static_cast<void>(::unlink(path_.c_str()) == 0); // who asks has another reason to give, and gives that
}

} // namespace traces::codec
