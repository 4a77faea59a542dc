// Where the bytes of a namespace are. A medium knows bytes and offsets, no logical blocks, no metadata, no commands: it
// reads, writes, zeroes and flushes, and says how each ended, and when: at once where there is no drive around it
// (flash/timed_medium.h). It computes times, it does not wait.
#pragma once

#include "model/port/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace model::nvme {

/// `no_space`: the medium promised more than it has. `no_answer`: it never ends the access. Its time is port::never,
/// and so is that of the command.
enum class MediumStatus : std::uint8_t { ok, read_error, write_fault, no_space, no_answer };

struct MediumResult {
    MediumStatus status = MediumStatus::ok;
    port::Time done{};
    std::uint64_t where = 0; ///< of an error: offset of the first byte that could not be accessed
    constexpr bool is_ok() const { return status == MediumStatus::ok; }
};

/// Bytes that lie in several places, one behind the other.
using Pieces = std::span<const std::span<const std::byte>>;

/// When a write is safe from a loss of power: at its end, or at the next flush (NVMe base 2.0 "Flush command").
enum class Durability : std::uint8_t { volatile_cache, durable };

/// Bytes [begin, end) of a medium.
struct Extent {
    std::uint64_t begin = 0, end = 0;
    bool operator==(const Extent&) const = default;
};

/// The caller keeps offset and length within size().
class Medium {
public:
    virtual ~Medium() = default;
    virtual std::uint64_t size() const = 0;
    virtual MediumResult read(std::uint64_t offset, std::span<std::byte> into, port::Time at) = 0;
    /// As read(), and charged so, for a medium that has the bytes in memory: they are valid until the next write.
    /// Without data and with status ok: use read().
    struct View {
        const std::byte* data = nullptr;
        MediumResult result;
    };
    virtual View view(std::uint64_t offset, std::uint64_t length, port::Time at) {
        (void)offset, (void)length;
        return {nullptr, {.done = at}};
    }
    /// The bytes are in the medium when the call returns; how safe they are is what `durability` asks for.
    virtual MediumResult write(std::uint64_t offset, Pieces from, Durability durability, port::Time at) = 0;
    /// The range reads as zero from now on, and costs no space where the medium can give it back.
    virtual MediumResult discard(std::uint64_t offset, std::uint64_t length, Durability durability, port::Time at) = 0;
    /// Everything written before is durable when this has ended well.
    virtual MediumResult flush(port::Time at) = 0;
    /// The first bytes at or behind `offset` that may be other than zero; nothing: all of them are zero.
    virtual std::optional<Extent> next_data(std::uint64_t offset) const = 0;
    /// When bytes that are to be read will be there; who has asked has paid for the read (Flash::Paid).
    virtual port::Time prepare(std::uint64_t offset, std::uint64_t length, port::Time at) {
        (void)offset, (void)length;
        return at;
    }
    /// The same bytes without the times of a drive: for what goes on behind commands, and has a time of its own.
    virtual Medium& bare() { return *this; }
};

constexpr std::uint64_t length_of(Pieces pieces) {
    std::uint64_t length = 0;
    for (const auto& piece : pieces)
        length += piece.size();
    return length;
}

} // namespace model::nvme
