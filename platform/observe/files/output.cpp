#include "platform/observe/files/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace platform::observe::files {
namespace {

namespace fs = std::filesystem;

std::unexpected<std::string> cannot_create(const std::string& path, int error) {
    return std::unexpected(fmt::format("{}: cannot be created: {}", path, std::strerror(error)));
}

/// A new file beside `place`, with the rights that a new file has, or those of the one it takes the place of.
int create_beside(const std::string& place, std::string& temporary) {
    const fs::path path(place);
    struct stat old{};
    const bool replaces = stat(place.c_str(), &old) == 0;
    if (replaces && access(place.c_str(), W_OK) != 0)
        return -1;
    for (unsigned attempt = 0; attempt < 100; ++attempt) {
        temporary =
            (path.parent_path() / fmt::format(".{}.{}.{}", path.filename().string(), getpid(), attempt)).string();
        const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno == EEXIST)
            continue;
        if (file >= 0 && replaces && fchmod(file, old.st_mode & 0777) != 0) {
            // It keeps the rights of a new file: no reason not to write it.
        }
        return file;
    }
    return -1;
}

} // namespace

std::string place_of(const std::string& path) {
    constexpr unsigned most_links = 40; // as the kernel has it
    fs::path place(path);
    std::error_code error;
    for (unsigned i = 0; i < most_links && fs::is_symlink(fs::symlink_status(place, error)); ++i) {
        const auto target = fs::read_symlink(place, error);
        if (error)
            break;
        place = target.is_absolute() ? target : place.parent_path() / target;
    }
    return place.string();
}

bool is_standard_output(const std::string& path) {
    if (path == "-")
        return true;
    struct stat there{}, ours{};
    return stat(path.c_str(), &there) == 0 && fstat(STDOUT_FILENO, &ours) == 0 && !S_ISCHR(there.st_mode) &&
           there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

std::expected<Output, std::string> Output::create(const std::string& path, Appears appears) {
    if (is_standard_output(path))
        return borrow(stdout, "standard output");
    struct stat status{};
    const bool is_there = stat(path.c_str(), &status) == 0;
    if (appears == Appears::at_once || (is_there && !S_ISREG(status.st_mode))) {
        auto* file = std::fopen(path.c_str(), "wbe");
        if (file == nullptr)
            return cannot_create(path, errno);
        return Output(file, true, path);
    }
    const auto place = place_of(path);
    std::string temporary;
    const int descriptor = create_beside(place, temporary);
    if (descriptor < 0)
        return cannot_create(path, errno);
    auto* file = fdopen(descriptor, "wb");
    if (file == nullptr) {
        const int error = errno;
        close(descriptor);
        unlink(temporary.c_str());
        return cannot_create(path, error);
    }
    Output output(file, true, path);
    output.temporary_ = std::move(temporary);
    output.final_ = place;
    return output;
}

Output Output::borrow(std::FILE* file, std::string name) { return {file, false, std::move(name)}; }

void Output::Close::operator()(std::FILE* file) const {
    if (is_owned)
        std::fclose(file);
}

Output& Output::operator=(Output&& other) noexcept {
    discard();
    file_ = std::move(other.file_);
    name_ = std::move(other.name_);
    temporary_ = std::exchange(other.temporary_, {});
    final_ = std::move(other.final_);
    why_ = std::move(other.why_);
    heard_ = std::move(other.heard_);
    return *this;
}

Output::~Output() { discard(); }

void Output::discard() {
    file_.reset();
    if (!temporary_.empty())
        unlink(temporary_.c_str());
    temporary_.clear();
}

bool Output::write(std::string_view bytes) {
    if (file_ == nullptr || !why_.empty())
        return false;
    errno = 0;
    return std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size() || fail(errno);
}

bool Output::flush() {
    if (file_ == nullptr || !why_.empty())
        return why_.empty();
    errno = 0;
    return std::fflush(file_.get()) == 0 || fail(errno);
}

Output::Outcome Output::finish() {
    if (file_ != nullptr && flush() && file_.get_deleter().is_owned) {
        errno = 0;
        if (std::fclose(file_.release()) != 0)
            fail(errno);
        else if (!temporary_.empty() && std::rename(temporary_.c_str(), final_.c_str()) != 0)
            fail(errno);
        else
            temporary_.clear();
    }
    discard();
    if (!why_.empty())
        return std::unexpected(why_);
    return {};
}

bool Output::fail(int error) {
    why_ = fmt::format("{}: cannot be written: {}", name_, error != 0 ? std::strerror(error) : "short write");
    if (heard_)
        heard_(why_);
    return false;
}

} // namespace platform::observe::files
