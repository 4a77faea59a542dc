#include "testbench/hcasim/files.h"

#include "platform/observe/files/output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <vector>

namespace hcasim {
namespace {

/// What makes two names one file.
struct Identity {
    dev_t device;
    ino_t inode;
    std::string name; ///< within that directory, of a file that is not there yet
    bool operator==(const Identity&) const = default;
};

std::optional<Identity> identity_of(const NamedFile& file) {
    struct stat status{};
    const bool is_output = file.use == NamedFile::Use::output;
    if (is_output && platform::observe::files::is_standard_output(file.path)) {
        if (fstat(STDOUT_FILENO, &status) == 0)
            return Identity{status.st_dev, status.st_ino, S_ISCHR(status.st_mode) ? "standard output" : ""};
        return {};
    }
    if (stat(file.path.c_str(), &status) == 0)
        return S_ISCHR(status.st_mode) ? std::nullopt : std::optional(Identity{status.st_dev, status.st_ino, {}});
    if (!is_output)
        return {};
    const std::filesystem::path place = platform::observe::files::place_of(file.path);
    const auto directory = place.has_parent_path() ? place.parent_path().string() : std::string(".");
    if (stat(directory.c_str(), &status) != 0)
        return {};
    return Identity{status.st_dev, status.st_ino, place.filename().string()};
}

} // namespace

std::expected<void, std::string> are_apart(std::span<const NamedFile> files) {
    struct Known {
        const NamedFile* file;
        Identity identity;
    };
    std::vector<Known> known;
    for (const auto& file : files) {
        const bool is_output = file.use == NamedFile::Use::output;
        const auto identity = is_output && file.path.empty() ? std::nullopt : identity_of(file);
        if (!identity)
            continue;
        for (const auto& other : known)
            if (other.identity == *identity && (is_output || other.file->use == NamedFile::Use::output))
                return std::unexpected(fmt::format("{} {}: is the same file as {} {}", file.what, file.path,
                                                   other.file->what, other.file->path));
        known.push_back({&file, *identity});
    }
    return {};
}

} // namespace hcasim
