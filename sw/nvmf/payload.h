// Memory that data of commands go through at a target: the drive reads and writes there, and so does the HCA. It lies
// in memory of the host, in a GPU's VRAM, or in the drive's own memory; the target does not look at it. Divided into
// pieces of one size, each for one command.
#pragma once

#include "sw/base/result.h"
#include "sw/mlx/verbs.h"
#include "sw/nvme/data_pointer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace sw::nvmf {

struct PayloadMemory {
    std::uint64_t drive = 0;   ///< where the drive has it, at the begin of a page
    std::uint64_t address = 0; ///< where the HCA has it, by `lkey`
    std::uint32_t lkey = 0;
    std::uint64_t bytes = 0;
    std::byte* data = nullptr; ///< where the processor has it; nullptr: it does not
};

/// Memory of the host for both, registered and mapped as long as this lives.
class HostPayload {
public:
    /// `drive` may have an address space of its own.
    static Result<HostPayload> make(mlx::Context& context, abi::Pd pd, transport::Transport& drive,
                                    std::uint64_t bytes);
    HostPayload(HostPayload&& other) noexcept;
    HostPayload& operator=(HostPayload&&) = delete;
    ~HostPayload();
    PayloadMemory memory() const {
        return {mapped_, region_.iova().value, region_.lkey(), buffer_.size(), buffer_.data()};
    }

private:
    HostPayload(transport::Transport& drive, memory::Buffer buffer, mlx::MemoryRegion region, std::uint64_t mapped)
        : drive_(&drive), buffer_(std::move(buffer)), region_(std::move(region)), mapped_(mapped) {}
    transport::Transport* drive_;
    memory::Buffer buffer_;
    mlx::MemoryRegion region_;
    std::uint64_t mapped_;
};

class PayloadPool {
public:
    PayloadPool(const PayloadMemory& memory, std::uint64_t piece_bytes)
        : memory_(memory), piece_bytes_(piece_bytes), owners_(memory.bytes / piece_bytes) {
        for (auto piece = static_cast<std::uint32_t>(owners_.size()); piece-- != 0;)
            free_.push_back(piece);
    }
    std::uint64_t piece_bytes() const { return piece_bytes_; }
    std::size_t pieces() const { return owners_.size(); }
    std::size_t free() const { return free_.size(); }

    /// None: all are in use, or others wait for them. Then `owner` waits, too, and asks until it has one; owners that
    /// wait have a piece each in turn.
    std::optional<std::uint32_t> take(const void* owner) {
        if (free_.empty() || (!waiting_.empty() && waiting_.front() != owner)) {
            if (std::ranges::find(waiting_, owner) == waiting_.end())
                waiting_.push_back(owner);
            return std::nullopt;
        }
        if (!waiting_.empty())
            waiting_.pop_front();
        const auto piece = free_.back();
        free_.pop_back();
        owners_[piece] = owner;
        return piece;
    }
    void give(std::uint32_t piece) {
        owners_[piece] = nullptr;
        free_.push_back(piece);
    }
    /// All that `owner` has; it waits for none any more.
    void give_all(const void* owner) {
        std::erase(waiting_, owner);
        for (std::uint32_t piece = 0; piece < owners_.size(); ++piece)
            if (owners_[piece] == owner)
                give(piece);
    }

    nvme::Segment for_drive(std::uint32_t piece, std::uint64_t bytes) const {
        return {memory_.drive + piece * piece_bytes_, bytes};
    }
    mlx::Sge for_hca(std::uint32_t piece, std::uint32_t bytes) const {
        return {memory_.address + piece * piece_bytes_, bytes, memory_.lkey};
    }
    /// Empty where the processor does not have it.
    std::span<std::byte> bytes(std::uint32_t piece) const {
        return memory_.data == nullptr ? std::span<std::byte>()
                                       : std::span(memory_.data + piece * piece_bytes_, piece_bytes_);
    }

private:
    PayloadMemory memory_;
    std::uint64_t piece_bytes_;
    std::vector<const void*> owners_; ///< by piece
    std::vector<std::uint32_t> free_;
    std::deque<const void*> waiting_; ///< owners, who waits longest in front
};

} // namespace sw::nvmf
