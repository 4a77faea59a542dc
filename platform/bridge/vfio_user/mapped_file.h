// Files of clients as memory of this process. Of a file the parts that are asked for are mapped, in windows that
// several ranges share, up to a sum for each client. A page that cannot be had when it is touched (huge pages that have
// run out, a full file system) does not end the process: the whole mapping becomes anonymous zeroes and counts as
// broken from then on, and the thread that waits at fault_file() disconnects its clients.
#pragma once

#include "platform/bridge/vfio_user/descriptor.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <span>
#include <utility>

namespace platform::bridge::vfio_user {

/// A part of a file in this process's memory.
class FileMapping {
public:
    /// The error is an errno.
    static std::expected<std::shared_ptr<FileMapping>, int> create(int file, std::uint64_t offset, std::uint64_t size,
                                                                   bool is_writable, bool is_huge);
    ~FileMapping();
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;
    std::span<std::byte> bytes() const { return {data_, size_}; }
    /// Whether it can stand for that part of its file.
    bool holds(std::uint64_t offset, std::uint64_t size, bool is_written) const {
        return !is_broken() && offset >= offset_ && size <= size_ && offset - offset_ <= size_ - size &&
               (is_writable_ || !is_written);
    }
    std::byte* at(std::uint64_t offset) const { return data_ + (offset - offset_); }
    /// The file has failed under it, and these are zeroes.
    bool is_broken() const { return is_broken_.load(std::memory_order_relaxed); }

private:
    FileMapping(std::byte* data, std::uint64_t offset, std::uint64_t size, bool is_writable);
    friend struct BusErrors;

    std::byte* data_;
    std::uint64_t offset_, size_;
    bool is_writable_;
    std::atomic<bool> is_broken_ = false;
    FileMapping *next_ = nullptr, *previous_ = nullptr; ///< of all there are
};

/// The files of all clients: functions of one guest share its memory.
class FileMappings {
public:
    /// Of one client: address space, and mappings of the kernel's. What goes beyond is reached by messages.
    static constexpr std::uint64_t max_bytes = std::uint64_t{4} << 40, max_count = 4096;

    FileMappings();
    /// The mapping that holds `size` bytes at `offset`, for the client `who`. Nothing for a file that must not be
    /// mapped: one that its owner could shorten under us, or one that is no memory file, whose pages may never come.
    /// The error is an errno: for what is no memory at all, or was not opened for this.
    std::expected<std::shared_ptr<FileMapping>, int> open(const void* who, const Descriptor& file, std::uint64_t offset,
                                                          std::uint64_t size, bool is_written);
    /// Lets go of what no range uses. Only when nothing that was lent of it is under way.
    void sweep();
    std::size_t size() const { return files_.size(); }
    /// An eventfd, readable after a mapping has broken.
    int fault_file() const { return fault_file_; }

private:
    using Key = std::pair<std::uint64_t, std::uint64_t>; ///< device and inode
    struct Kept {
        std::shared_ptr<FileMapping> mapping;
        const void* who; ///< it counts for
    };
    struct Sum {
        std::uint64_t bytes = 0, count = 0;
    };
    std::multimap<Key, Kept> files_;
    std::map<const void*, Sum> sums_;
    int fault_file_;
};

} // namespace platform::bridge::vfio_user
