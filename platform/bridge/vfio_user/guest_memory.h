// The memory of a client as one function may reach it: bus address ranges over the files that came with them, mapped
// once a file and kept while a range uses it. Ranges without a usable file are reached by messages; that is the
// caller's business. No SystemC, no sockets.
#pragma once

#include "model/pcie/bridge_space.h"
#include "platform/bridge/vfio_user/descriptor.h"
#include "platform/bridge/vfio_user/message.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace platform::bridge::vfio_user {

/// A whole file in this process's memory.
class FileMapping {
public:
    FileMapping(std::byte* data, std::size_t size, bool is_writable)
        : data_(data), size_(size), is_writable_(is_writable) {}
    ~FileMapping();
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;
    std::span<std::byte> bytes() const { return {data_, size_}; }
    bool is_writable() const { return is_writable_; }

private:
    std::byte* data_;
    std::size_t size_;
    bool is_writable_;
};

/// The files of all clients: functions of one guest share its memory.
class FileMappings {
public:
    /// The mapping that holds `size` bytes at `offset`. Nothing for a file that must not be mapped: one that is no
    /// file, or one that its owner could shorten under us, which would be a bus error. The error is an errno.
    std::expected<std::shared_ptr<FileMapping>, int> open(const Descriptor& file, std::uint64_t offset,
                                                          std::uint64_t size, bool is_written);
    /// Lets go of what no range uses. Only when nothing that was lent of it is under way.
    void sweep();
    std::size_t size() const { return files_.size(); }

private:
    using Key = std::pair<std::uint64_t, std::uint64_t>; ///< device and inode
    std::multimap<Key, std::shared_ptr<FileMapping>> files_;
};

class GuestMemory {
public:
    static constexpr std::size_t max_ranges = protocol::default_max_maps;

    struct Range {
        model::pcie::Range bus;
        std::byte* memory; ///< of bus.begin; nullptr: by messages
        bool is_readable, is_writable;
        std::shared_ptr<FileMapping> file;
        bool allows(bool is_write) const { return is_write ? is_writable : is_readable; }
    };

    explicit GuestMemory(FileMappings& files) : files_(files) {}

    /// EEXIST where the range touches another one; errno values of the file.
    int map(const DmaMapRequest& map, const Descriptor& file);
    /// All ranges inside of it go, as in the kernel's VFIO: a hypervisor with an IOMMU of its own unmaps whatever may be
    /// there. EINVAL, and nothing goes, where a range lies across an edge.
    int unmap(const DmaUnmapRequest& unmap);
    void unmap_all() { ranges_.clear(); }

    const Range* find(std::uint64_t address) const;
    /// What lies around an address without a range, up to the next ones.
    model::pcie::Range gap(std::uint64_t address) const;
    std::size_t size() const { return ranges_.size(); }

private:
    FileMappings& files_;
    std::map<std::uint64_t, Range> ranges_; ///< by address, disjoint
};

} // namespace platform::bridge::vfio_user
