#include "platform/bridge/vfio_user/mapped_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace platform::bridge::vfio_user {

/// Bus errors in mappings of files. A signal has no argument of ours: what its handler needs is static. The list
/// changes only outside of accesses to mappings, and in the one thread that makes them.
struct BusErrors {
    static inline FileMapping* first = nullptr;
    static inline struct sigaction before{};
    static inline int event = -1;

    static void install() {
        if (event >= 0)
            return;
        event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        struct sigaction action{};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        ::sigaction(SIGBUS, &action, &before);
    }
    static void add(FileMapping& mapping) {
        if ((mapping.next_ = first) != nullptr)
            first->previous_ = &mapping;
        first = &mapping;
    }
    static void remove(FileMapping& mapping) {
        (mapping.previous_ != nullptr ? mapping.previous_->next_ : first) = mapping.next_;
        if (mapping.next_ != nullptr)
            mapping.next_->previous_ = mapping.previous_;
    }
    static void handle(int, siginfo_t* info, void*) {
        const int error = errno;
        const auto* address = static_cast<const std::byte*>(info->si_addr);
        for (auto* mapping = first; mapping != nullptr; mapping = mapping->next_)
            if (address >= mapping->data_ && address < mapping->data_ + mapping->size_ && give_zeroes(*mapping)) {
                errno = error;
                return; // to the access, which now finds zeroes
            }
        // In none of our mappings: the access faults again, and the handler that was installed before ours gets it.
        ::sigaction(SIGBUS, &before, nullptr);
    }
    static bool give_zeroes(FileMapping& mapping) {
        // The system call itself: a sanitizer's mmap() is not for signal handlers.
        const auto address = ::syscall(SYS_mmap, mapping.data_, mapping.size_, PROT_READ | PROT_WRITE,
                                       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (address == -1)
            return false;
        mapping.is_broken_.store(true, std::memory_order_relaxed);
        constexpr std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);
        return true;
    }
};

// --- one mapping ---

FileMapping::FileMapping(std::byte* data, std::uint64_t offset, std::uint64_t size, bool is_writable)
    : data_(data), offset_(offset), size_(size), is_writable_(is_writable) {
    BusErrors::add(*this);
}

FileMapping::~FileMapping() {
    BusErrors::remove(*this);
    ::munmap(data_, size_);
}

std::expected<std::shared_ptr<FileMapping>, int> FileMapping::create(int file, std::uint64_t offset, std::uint64_t size,
                                                                     bool is_writable, bool is_huge) {
    BusErrors::install();
    // Huge pages are reserved here, where the error that there are none can still be returned.
    const int flags = is_huge ? MAP_SHARED : MAP_SHARED | MAP_NORESERVE;
    void* data = ::mmap(nullptr, size, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, flags, file,
                        static_cast<off_t>(offset));
    if (data == MAP_FAILED)
        return std::unexpected(errno);
    return std::shared_ptr<FileMapping>(new FileMapping(static_cast<std::byte*>(data), offset, size, is_writable));
}

// --- of all clients ---

namespace {
/// Ranges of a file share windows of so much: a hypervisor with an IOMMU of its own maps page by page.
constexpr std::uint64_t window = std::uint64_t{1} << 30;

/// Whether the file stays as long as it is, and its pages are the kernel's to give: only memory files can be sealed.
bool is_lasting(int file) {
    const int seals = ::fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

bool is_memory(mode_t mode) { return S_ISREG(mode) || S_ISCHR(mode) || S_ISBLK(mode); }

bool is_huge(int file) {
    struct statfs status{};
    return ::fstatfs(file, &status) == 0 && status.f_type == HUGETLBFS_MAGIC;
}
} // namespace

FileMappings::FileMappings() {
    BusErrors::install();
    fault_file_ = BusErrors::event;
}

std::expected<std::shared_ptr<FileMapping>, int>
FileMappings::open(const void* who, const Descriptor& file, std::uint64_t offset, std::uint64_t size, bool is_written) {
    struct stat status{};
    const int flags = ::fcntl(file.number(), F_GETFL);
    if (flags < 0 || ::fstat(file.number(), &status) != 0)
        return std::unexpected(errno);
    if (!is_memory(status.st_mode) || (flags & O_PATH) != 0)
        return std::unexpected(ENODEV); // as mmap() says of a pipe or a directory
    const bool is_writable = (flags & O_ACCMODE) == O_RDWR;
    if ((flags & O_ACCMODE) == O_WRONLY || (is_written && !is_writable))
        return std::unexpected(EACCES);
    if (!S_ISREG(status.st_mode))
        return nullptr;
    const auto length = static_cast<std::uint64_t>(status.st_size);
    if (offset > length || size > length - offset)
        return std::unexpected(EINVAL);
    if (!is_lasting(file.number()))
        return nullptr;

    const Key key{status.st_dev, status.st_ino};
    for (auto [at, end] = files_.equal_range(key); at != end; ++at)
        if (at->second.mapping->holds(offset, size, is_written))
            return at->second.mapping;
    const auto begin = offset / window * window;
    const auto end = length - offset - size < window ? length : (offset + size + window - 1) / window * window;
    auto& sum = sums_[who];
    if (sum.count >= max_count || end - begin > max_bytes - sum.bytes)
        return nullptr;
    auto mapping = FileMapping::create(file.number(), begin, end - begin, is_writable, is_huge(file.number()));
    if (!mapping)
        return std::unexpected(mapping.error());
    sum.bytes += end - begin, ++sum.count;
    files_.emplace(key, Kept{*mapping, who});
    return *mapping;
}

void FileMappings::sweep() {
    std::erase_if(files_, [this](const auto& file) {
        const auto& [mapping, who] = file.second;
        if (mapping.use_count() != 1)
            return false;
        auto& sum = sums_[who];
        sum.bytes -= mapping->bytes().size(), --sum.count;
        return true;
    });
}

} // namespace platform::bridge::vfio_user
