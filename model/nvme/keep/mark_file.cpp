#include "model/nvme/keep/mark_file.h"

#include "model/nvme/data/crc.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace model::nvme {

namespace {

constexpr std::uint64_t page = 4096, word_bits = 64, word_bytes = 8, piece_words = 8192;
constexpr auto marks_checksum = MarksHeader::field<"checksum">::offset;

std::uint64_t words_of(std::uint64_t blocks) { return (blocks + word_bits - 1) / word_bits; }

bool transfer(auto call, std::uint64_t at, auto* bytes, std::size_t length) {
    while (length != 0) {
        const auto n = call(bytes, length, static_cast<off_t>(at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n, at += static_cast<std::uint64_t>(n), length -= static_cast<std::size_t>(n);
    }
    return true;
}

} // namespace

MarkFile::MarkFile(const std::string& path) : path_(path) {
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file_ < 0)
        throw std::system_error(errno, std::generic_category(), "open " + path);
    struct stat status{};
    const bool is_plain = fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
    if (!is_plain || flock(file_, LOCK_EX | LOCK_NB) != 0) {
        close(file_);
        throw std::runtime_error(path + (is_plain ? " has the marks of another namespace" : " is not a plain file"));
    }
    is_new_ = status.st_size == 0;
}

MarkFile::~MarkFile() { close(file_); }

void MarkFile::refuse(const std::string& what) const { throw std::runtime_error(path_ + " " + what); }

std::uint64_t MarkFile::plane_bytes() const { return (words_of(blocks_) * word_bytes + page - 1) / page * page; }

std::uint64_t MarkFile::plane_offset(Plane plane) const {
    return page + (plane == Plane::uncorrectable ? plane_bytes() : 0);
}

bool MarkFile::begin(std::uint64_t blocks, std::uint64_t generation) {
    blocks_ = blocks, is_new_ = false, is_dirty_ = false;
    abi::Block<MarksHeader> header;
    header.view().set<"magic">(marks_magic).set<"version">(marks_version).set<"blocks">(blocks);
    header.view().set<"generation">(generation);
    header.view().set<"checksum">(crc64_nvme(std::span<const std::byte>(header.bytes).first(marks_checksum)));
    const auto write = [this](const std::byte* p, std::size_t n, off_t at) { return pwrite(file_, p, n, at); };
    // An empty file says that nothing is known, until the header is there.
    return ftruncate(file_, 0) == 0 && ftruncate(file_, static_cast<off_t>(page + 2 * plane_bytes())) == 0 &&
           transfer(write, 0, header.bytes.data(), header.bytes.size()) && fsync(file_) == 0;
}

void MarkFile::load(std::uint64_t blocks, std::uint64_t generation, BlockMap& allocated,
                    BlockMap& uncorrectable) const {
    abi::Block<MarksHeader> header;
    const auto read = [this](std::byte* p, std::size_t n, off_t at) { return pread(file_, p, n, at); };
    if (!transfer(read, 0, header.bytes.data(), header.bytes.size()))
        refuse("is cut: it has no header");
    const auto view = header.view();
    if (view.get<"magic">() != marks_magic)
        refuse("has no marks of an NVMe namespace");
    if (view.get<"version">() != marks_version)
        refuse("is of version " + std::to_string(view.get<"version">()) + ", and version 1 is known");
    if (view.get<"checksum">() != crc64_nvme(std::span<const std::byte>(header.bytes).first(marks_checksum)))
        refuse("is damaged: the checksum of its header is another one");
    if (view.get<"blocks">() != blocks || view.get<"generation">() != generation)
        refuse("has the marks of " + std::to_string(view.get<"blocks">()) + " blocks, the namespace has " +
               std::to_string(blocks) + ", or they are of an older one of this number");
    blocks_ = blocks;
    struct stat status{};
    if (fstat(file_, &status) != 0 || static_cast<std::uint64_t>(status.st_size) != page + 2 * plane_bytes())
        refuse("is cut, or has more than its header says");
    load_plane(Plane::allocated, allocated);
    load_plane(Plane::uncorrectable, uncorrectable);
}

void MarkFile::load_plane(Plane plane, BlockMap& map) const {
    const auto begin = plane_offset(plane), end = begin + words_of(blocks_) * word_bytes;
    std::vector<std::byte> bytes(piece_words * word_bytes);
    const auto read = [this](std::byte* p, std::size_t n, off_t at) { return pread(file_, p, n, at); };
    for (auto at = begin; at < end;) {
        const auto data = lseek(file_, static_cast<off_t>(at), SEEK_DATA); // most of a large one was never written
        if (data < 0 || static_cast<std::uint64_t>(data) >= end)
            return;
        at = std::max(at, static_cast<std::uint64_t>(data) / word_bytes * word_bytes);
        const auto length = std::min<std::uint64_t>(bytes.size(), end - at);
        if (!transfer(read, at, bytes.data(), length))
            refuse("cannot be read");
        for (std::uint64_t i = 0; i < length; i += word_bytes)
            map.set_word((at - begin + i) / word_bytes,
                         abi::load<std::uint64_t, abi::Endian::little>(bytes.data() + i));
        at += length;
    }
}

bool MarkFile::store(Plane plane, const BlockMap& map, std::uint64_t first, std::uint64_t count) {
    if (count == 0)
        return true;
    is_dirty_ = true;
    std::array<std::byte, page> bytes;
    const auto write = [this](const std::byte* p, std::size_t n, off_t at) { return pwrite(file_, p, n, at); };
    const auto end = (first + count - 1) / word_bits + 1;
    for (auto word = first / word_bits; word < end;) {
        const auto in_page = std::min(end - word, page / word_bytes - word % (page / word_bytes));
        bool is_zero = true;
        for (std::uint64_t i = 0; i < in_page; ++i) {
            const auto bits = map.word(word + i);
            is_zero &= bits == 0;
            abi::store<std::uint64_t, abi::Endian::little>(bytes.data() + i * word_bytes, bits);
        }
        const auto at = plane_offset(plane) + word * word_bytes;
        const bool is_whole = in_page == page / word_bytes; // one that is all zero costs no room
        if (!is_zero || !is_whole ||
            fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at), page) != 0)
            if (!transfer(write, at, bytes.data(), in_page * word_bytes))
                return false;
        word += in_page;
    }
    return true;
}

bool MarkFile::sync() {
    if (is_dirty_ && !has_lost_writes_ && fdatasync(file_) != 0)
        has_lost_writes_ = true;
    is_dirty_ &= has_lost_writes_;
    return !has_lost_writes_;
}

} // namespace model::nvme
