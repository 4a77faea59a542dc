// A medium in a sparse file. A write is a pwritev(): the host's page cache is the volatile cache, so a killed process
// loses nothing that was written, and a flush is an fdatasync(), so a crash of the host loses nothing that was flushed.
// Nothing dirty is ever kept in this process.
#pragma once

#include "model/nvme/media/medium.h"

#include <string>

namespace model::nvme {

class FileMedium final : public Medium {
public:
    /// Opens or makes the file, which nobody else may have as a medium. It grows to `bytes` where it is shorter; a
    /// longer one is refused, since data behind the end would be lost to the guest. Throws std::system_error or
    /// std::runtime_error with the name of the file.
    FileMedium(const std::string& path, std::uint64_t bytes);
    ~FileMedium() override;
    FileMedium(const FileMedium&) = delete;
    FileMedium& operator=(const FileMedium&) = delete;

    std::uint64_t size() const override { return size_; }
    MediumResult read(std::uint64_t offset, std::span<std::byte> into, port::Time at) override;
    MediumResult write(std::uint64_t offset, Pieces from, Durability durability, port::Time at) override;
    MediumResult discard(std::uint64_t offset, std::uint64_t length, Durability durability, port::Time at) override;
    MediumResult flush(port::Time at) override;
    std::optional<Extent> next_data(std::uint64_t offset) const override;

private:
    bool write_all(std::uint64_t offset, Pieces from, bool durable, std::uint64_t& written);
    bool zero(std::uint64_t offset, std::uint64_t length);
    bool sync();

    int file_ = -1;
    std::uint64_t size_ = 0;
    /// After a failed fdatasync() the kernel may call pages clean that never reached the disk: a later success would
    /// be a lie, so nothing is called durable any more.
    bool has_lost_writes_ = false;
};

} // namespace model::nvme
