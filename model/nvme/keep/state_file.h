// The file in which the state of a drive is kept. It is whole at any time: what is new is written to a file of its own,
// made durable, and takes the name. Nobody else may have it while this lives.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace model::nvme {

class StateFile {
public:
    /// Opens it where there is one. Throws std::system_error or std::runtime_error with the name of the file.
    explicit StateFile(const std::string& path);
    ~StateFile();
    StateFile(const StateFile&) = delete;
    StateFile& operator=(const StateFile&) = delete;

    const std::string& path() const { return path_; }
    /// What it has; nothing: it is not there yet.
    std::optional<std::vector<std::byte>> read() const;
    /// Durable when it returns. False: what was there before is there still.
    bool write(std::span<const std::byte> bytes);

private:
    std::string path_;
    int file_ = -1; ///< with the lock on it
};

/// Makes what a folder says of its files durable.
bool sync_folder_of(const std::string& path);

} // namespace model::nvme
