#include "model/nvme/keep/state_file.h"

#include "model/nvme/keep/state.h"

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace model::nvme {

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path) {
    throw std::system_error(errno, std::generic_category(), what + " " + path);
}

bool write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto n = ::write(file, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
}

} // namespace

bool sync_folder_of(const std::string& path) {
    const auto slash = path.find_last_of('/');
    const auto folder = slash == std::string::npos ? std::string(".") : path.substr(0, slash + 1);
    const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return false;
    const bool is_done = fsync(file) == 0;
    close(file);
    return is_done;
}

StateFile::StateFile(const std::string& path) : path_(path) {
    file_ = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file_ < 0) {
        if (errno != ENOENT)
            fail("open", path);
        return;
    }
    struct stat status{};
    const bool is_plain = fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
    if (is_plain && flock(file_, LOCK_EX | LOCK_NB) == 0)
        return;
    close(file_);
    throw std::runtime_error(path + (is_plain ? " is the state of another drive" : " is not a plain file"));
}

StateFile::~StateFile() {
    if (file_ >= 0)
        close(file_);
}

std::optional<std::vector<std::byte>> StateFile::read() const {
    if (file_ < 0)
        return std::nullopt;
    struct stat status{};
    if (fstat(file_, &status) != 0)
        fail("look at", path_);
    if (static_cast<std::uint64_t>(status.st_size) > most_state_bytes)
        throw std::runtime_error(path_ + " is too long for the state of a drive");
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    for (std::size_t at = 0; at < bytes.size();) {
        const auto n = pread(file_, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail("read", path_);
        at += static_cast<std::size_t>(n);
    }
    return bytes;
}

bool StateFile::write(std::span<const std::byte> bytes) {
    const auto next = path_ + ".new";
    const int file = open(next.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0)
        return false;
    // Whoever opens the name finds a file that is locked.
    if (flock(file, LOCK_EX | LOCK_NB) != 0 || !write_all(file, bytes) || fsync(file) != 0 ||
        rename(next.c_str(), path_.c_str()) != 0 || !sync_folder_of(path_)) {
        close(file);
        return false;
    }
    if (file_ >= 0)
        close(file_);
    file_ = file;
    return true;
}

} // namespace model::nvme
