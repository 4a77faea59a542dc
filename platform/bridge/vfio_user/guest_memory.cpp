#include "platform/bridge/vfio_user/guest_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <iterator>
#include <limits>

namespace platform::bridge::vfio_user {

namespace {
/// Whether the file stays as long as it is.
bool is_lasting(int file) {
    const int seals = ::fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}
} // namespace

FileMapping::~FileMapping() { ::munmap(data_, size_); }

std::expected<std::shared_ptr<FileMapping>, int> FileMappings::open(const Descriptor& file, std::uint64_t offset,
                                                                    std::uint64_t size, bool is_written) {
    struct stat status{};
    const int flags = ::fcntl(file.number(), F_GETFL);
    if (flags < 0 || ::fstat(file.number(), &status) != 0)
        return std::unexpected(errno);
    if (!S_ISREG(status.st_mode) || !is_lasting(file.number()))
        return nullptr;
    const auto length = static_cast<std::uint64_t>(status.st_size);
    if (offset > length || size > length - offset)
        return std::unexpected(EINVAL);
    const bool is_writable = (flags & O_ACCMODE) == O_RDWR;
    if (is_written && !is_writable)
        return std::unexpected(EACCES);

    const Key key{status.st_dev, status.st_ino};
    for (auto [at, end] = files_.equal_range(key); at != end; ++at)
        if (at->second->bytes().size() >= offset + size && (at->second->is_writable() || !is_written))
            return at->second;
    void* data = ::mmap(nullptr, length, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_NORESERVE,
                        file.number(), 0);
    if (data == MAP_FAILED)
        return std::unexpected(errno);
    return files_.emplace(key, std::make_shared<FileMapping>(static_cast<std::byte*>(data), length, is_writable))
        ->second;
}

void FileMappings::sweep() {
    std::erase_if(files_, [](const auto& file) { return file.second.use_count() == 1; });
}

int GuestMemory::map(const DmaMapRequest& map, const Descriptor& file) {
    const auto after = ranges_.lower_bound(map.address);
    if (after != ranges_.end() && after->first - map.address < map.size)
        return EEXIST;
    if (after != ranges_.begin() && std::prev(after)->second.bus.end > map.address)
        return EEXIST;
    if (ranges_.size() >= max_ranges)
        return ENOSPC;
    Range range{{map.address, map.address + map.size}, nullptr, map.is_readable, map.is_writable, nullptr};
    if (file) {
        auto mapping = files_.open(file, map.offset, map.size, map.is_writable);
        if (!mapping)
            return mapping.error();
        if (*mapping) {
            range.memory = (*mapping)->bytes().data() + map.offset;
            range.file = std::move(*mapping);
        }
    }
    ranges_.emplace(map.address, std::move(range));
    return 0;
}

int GuestMemory::unmap(const DmaUnmapRequest& unmap) {
    if (unmap.is_all) {
        unmap_all();
        return 0;
    }
    const auto last = unmap.address + (unmap.size - 1); // the range may end where the addresses do
    const auto first = ranges_.lower_bound(unmap.address);
    const auto end = ranges_.upper_bound(last);
    const bool is_begin_cut = first != ranges_.begin() && std::prev(first)->second.bus.end > unmap.address;
    const bool is_end_cut = end != first && std::prev(end)->second.bus.end - 1 > last;
    if (is_begin_cut || is_end_cut)
        return EINVAL;
    ranges_.erase(first, end);
    return 0;
}

const GuestMemory::Range* GuestMemory::find(std::uint64_t address) const {
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin())
        return nullptr;
    const auto& range = std::prev(after)->second;
    return range.bus.contains(address) ? &range : nullptr;
}

model::pcie::Range GuestMemory::gap(std::uint64_t address) const {
    const auto after = ranges_.upper_bound(address);
    return {after != ranges_.begin() ? std::prev(after)->second.bus.end : 0,
            after != ranges_.end() ? after->first : std::numeric_limits<std::uint64_t>::max()};
}

} // namespace platform::bridge::vfio_user
