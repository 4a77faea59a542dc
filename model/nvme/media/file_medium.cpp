#include "model/nvme/media/file_medium.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace model::nvme {

namespace {

constexpr std::size_t most_pieces = 64; ///< of one call
constexpr std::size_t zero_bytes = 4096;

[[noreturn]] void fail(const std::string& what, const std::string& path) {
    throw std::system_error(errno, std::generic_category(), what + " " + path);
}

} // namespace

FileMedium::FileMedium(const std::string& path, std::uint64_t bytes) : size_(bytes) {
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0)
        fail("open", path);
    struct stat status{};
    if (fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(file_);
        throw std::runtime_error(path + " is not a plain file");
    }
    // Two drives in one file would destroy each other's data. The lock goes with the process, however that ends.
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
        close(file_);
        throw std::runtime_error(path + " is the medium of another namespace");
    }
    const auto present = static_cast<std::uint64_t>(status.st_size);
    if (present > bytes) {
        close(file_);
        throw std::runtime_error(path + " has " + std::to_string(present) + " bytes, the namespace " +
                                 std::to_string(bytes));
    }
    if (present < bytes && ftruncate(file_, static_cast<off_t>(bytes)) != 0) {
        const auto cause = errno;
        close(file_);
        errno = cause;
        fail("grow", path);
    }
}

FileMedium::~FileMedium() { close(file_); }

MediumResult FileMedium::read(std::uint64_t offset, std::span<std::byte> into, port::Time at) {
    assert(offset + into.size() <= size_);
    while (!into.empty()) {
        const auto n = pread(file_, into.data(), into.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) // an error of the host's disk, or somebody has made the file shorter
            return {MediumStatus::read_error, at, offset};
        into = into.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return {.done = at};
}

bool FileMedium::write_all(std::uint64_t offset, Pieces from, bool durable, std::uint64_t& written) {
    std::array<iovec, most_pieces> vectors;
    std::size_t first = 0, skip = 0; // the next byte is byte `skip` of piece `first`
    while (first < from.size()) {
        std::size_t count = 0;
        for (auto i = first; i < from.size() && count < most_pieces; ++i, ++count) {
            const auto piece = i == first ? from[i].subspan(skip) : from[i];
            vectors[count] = {const_cast<std::byte*>(piece.data()), piece.size()};
        }
        const auto n = pwritev2(file_, vectors.data(), static_cast<int>(count), static_cast<off_t>(offset + written),
                                durable ? RWF_DSYNC : 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        written += static_cast<std::uint64_t>(n);
        auto left = static_cast<std::size_t>(n);
        bool is_forward = left != 0;
        while (first < from.size() && left >= from[first].size() - skip) {
            left -= from[first].size() - skip;
            skip = 0, ++first;
            is_forward = true;
        }
        skip += left;
        if (!is_forward)
            return false;
    }
    return true;
}

MediumResult FileMedium::write(std::uint64_t offset, Pieces from, Durability durability, port::Time at) {
    assert(offset + length_of(from) <= size_);
    std::uint64_t written = 0;
    if (!write_all(offset, from, durability == Durability::durable, written)) {
        has_lost_writes_ |= errno == EIO;
        return {errno == ENOSPC ? MediumStatus::no_space : MediumStatus::write_fault, at, offset + written};
    }
    if (durability == Durability::durable && has_lost_writes_)
        return {MediumStatus::write_fault, at, offset};
    return {.done = at};
}

bool FileMedium::zero(std::uint64_t offset, std::uint64_t length) {
    static constexpr std::array<std::byte, zero_bytes> zeroes{};
    while (length != 0) {
        const std::array piece{std::span(zeroes).first(std::min<std::uint64_t>(length, zero_bytes))};
        std::uint64_t written = 0;
        if (!write_all(offset, piece, false, written))
            return false;
        offset += written, length -= written;
    }
    return true;
}

MediumResult FileMedium::discard(std::uint64_t offset, std::uint64_t length, Durability durability, port::Time at) {
    assert(offset + length <= size_);
    if (length == 0)
        return {.done = at};
    // The kernel zeroes what is less than a block of the file at both ends.
    if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(length)) != 0 &&
        (errno != EOPNOTSUPP || !zero(offset, length)))
        return {MediumStatus::write_fault, at, offset};
    if (durability == Durability::durable && !sync())
        return {MediumStatus::write_fault, at, offset};
    return {.done = at};
}

bool FileMedium::sync() {
    if (!has_lost_writes_ && fdatasync(file_) != 0)
        has_lost_writes_ = true;
    return !has_lost_writes_;
}

MediumResult FileMedium::flush(port::Time at) { return {sync() ? MediumStatus::ok : MediumStatus::write_fault, at}; }

std::optional<Extent> FileMedium::next_data(std::uint64_t offset) const {
    const auto begin = lseek(file_, static_cast<off_t>(offset), SEEK_DATA);
    if (begin < 0)
        return std::nullopt;
    const auto end = lseek(file_, begin, SEEK_HOLE);
    const auto last = end < 0 ? size_ : std::min(size_, static_cast<std::uint64_t>(end));
    if (static_cast<std::uint64_t>(begin) >= last)
        return std::nullopt;
    return Extent{static_cast<std::uint64_t>(begin), last};
}

} // namespace model::nvme
