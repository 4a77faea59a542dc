#include "model/memory/sparse_memory.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace model::memory {

namespace {
constexpr std::uint64_t page = 4096, file_block = 512;

[[noreturn]] void fail(const std::string& what, const std::string& name, std::uint64_t bytes) {
    throw std::system_error(errno, std::generic_category(),
                            what + " of " + std::to_string(bytes) + " bytes for " + name);
}
} // namespace

SparseMemory::SparseMemory(const std::string& name, std::uint64_t bytes) : size_(bytes) {
    file_ = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file_ < 0)
        fail("memory file", name, bytes);
    if (ftruncate(file_, static_cast<off_t>(bytes)) != 0) {
        close(file_);
        fail("size", name, bytes);
    }
    // Whoever else maps it cannot take pages away from under us. Where sealing fails it is only not given away.
    is_sealed_ = fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (at == MAP_FAILED) {
        close(file_);
        fail("mapping", name, bytes);
    }
    data_ = static_cast<std::byte*>(at);
}

SparseMemory::~SparseMemory() {
    munmap(data_, size_);
    close(file_);
}

std::uint64_t SparseMemory::resident_bytes() const {
    struct stat status{};
    return fstat(file_, &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * file_block : 0;
}

void SparseMemory::discard(std::uint64_t offset, std::uint64_t length) {
    const auto end = offset + length;
    const auto first = (offset + page - 1) / page * page, last = end / page * page;
    if (first >= last) {
        std::memset(data_ + offset, 0, length);
        return;
    }
    std::memset(data_ + offset, 0, first - offset);
    std::memset(data_ + last, 0, end - last);
    if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                  static_cast<off_t>(last - first)) != 0)
        std::memset(data_ + first, 0, last - first);
}

} // namespace model::memory
