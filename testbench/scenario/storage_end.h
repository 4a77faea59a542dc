// One end of the scenario `storage_stream`: a drive, an HCA, and slots of VRAM that both reach.
#pragma once

#include "testbench/scenario/storage_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace scenario {

/// What both ends have: a drive, an HCA, and slots in VRAM that both reach.
class StorageEnd {
public:
    StorageEnd(const StreamMachine& machine, const StreamOptions& options) : machine_(machine), options_(options) {}
    ~StorageEnd() {
        if (drive_)
            (void)drive_->close();
    }
    StorageEnd(const StorageEnd&) = delete;
    StorageEnd& operator=(const StorageEnd&) = delete;

    sw::Result<void> open();
    sw::Result<void> connect();
    sw::Result<void> close();

    std::uint64_t chunks() const { return (options_.payload.size() + chunk() - 1) / chunk(); }
    std::uint64_t chunk() const { return options_.chunk_bytes; }
    /// Of chunk `number`, in whole pages.
    std::uint64_t length(std::uint64_t number) const {
        return (used(number) + page_bytes - 1) / page_bytes * page_bytes;
    }
    std::uint64_t used(std::uint64_t number) const { return bytes_before(number + 1) - bytes_before(number); }
    std::uint64_t bytes_before(std::uint64_t number) const {
        return std::min(number * chunk(), options_.payload.size());
    }
    std::uint64_t slot_of(std::uint64_t number) const { return number % options_.slots; }
    std::span<std::byte> vram(std::uint64_t slot) const {
        return machine_.vram(slots_->ranges().front().offset + slot * chunk()).first(chunk());
    }
    void filled(std::uint64_t slot) const {
        if (machine_.filled)
            machine_.filled(slots_->ranges().front().offset + slot * chunk(), chunk());
    }

    /// A command of the drive between chunk `number` of its blocks and a slot.
    sw::Result<void> begin(bool is_write, std::uint64_t number, std::uint64_t slot);
    /// Calls `done(chunk)` for the commands that have ended. Returns whether there was one.
    template <class Done> sw::Result<bool> poll_drive(Done&& done);
    /// One command, until it has ended.
    sw::Result<void> carry_out(bool is_write, std::uint64_t number, std::uint64_t slot);
    sw::Result<void> flush() { return space_->flush(*queue_); }

    sw::Result<void> write_to_peer(std::uint64_t number);
    sw::Result<void> tell_peer(std::uint32_t value);
    sw::Result<void> expect_message();
    /// Calls `heard(completion)` for each message of the peer, `sent()` for each WRITE that has ended.
    template <class Heard, class Sent> sw::Result<bool> poll_peer(Heard&& heard, Sent&& sent);

    std::chrono::nanoseconds now() { return machine_.hca.now(); }
    void relax() { machine_.hca.relax(); }
    const StreamMachine& machine() const { return machine_; }
    const StreamOptions& options() const { return options_; }

private:
    static constexpr std::uint64_t page_bytes = 4096;
    struct Hello {
        sw::mlx::AddressPath path{};
        std::uint64_t address = 0;
        std::uint32_t rkey = 0, qpn = 0, slots = 0;
    };
    sw::Result<void> open_drive();
    sw::Result<void> open_hca();

    const StreamMachine& machine_;
    const StreamOptions& options_;
    std::optional<sw::gpu::Gpu> gpu_;
    std::optional<sw::gpu::VramBuffer> slots_;
    // The drive lets go of the slots before they do.
    std::optional<harness::DeviceMapping> for_drive_;
    std::unique_ptr<sw::nvme::Controller> drive_;
    std::optional<sw::nvme::Namespace> space_;
    std::unique_ptr<sw::nvme::QueuePair> queue_;
    std::vector<std::uint64_t> chunk_of_command_;
    std::unique_ptr<sw::mlx::Context> context_;
    abi::Pd pd_{};
    sw::mlx::AddressPath path_{};
    std::optional<sw::mlx::MemoryRegion> region_;
    std::unique_ptr<sw::mlx::CompletionQueue> cq_;
    std::unique_ptr<sw::mlx::QueuePair> qp_;
    Hello remote_{};
};

template <class Done> sw::Result<bool> StorageEnd::poll_drive(Done&& done) {
    std::array<sw::nvme::Completion, 16> found;
    const auto count = queue_->poll(found);
    for (const auto& one : std::span(found).first(count)) {
        if (!one.is_ok())
            return sw::failure(EIO, fmt::format("{}: the drive: {}", machine_.name, sw::nvme::describe(one)));
        if (auto used = done(chunk_of_command_[one.id]); !used)
            return std::unexpected(std::move(used.error()));
    }
    return count != 0;
}

template <class Heard, class Sent> sw::Result<bool> StorageEnd::poll_peer(Heard&& heard, Sent&& sent) {
    std::array<sw::mlx::Completion, 16> found;
    const auto count = cq_->poll(found);
    for (const auto& one : std::span(found).first(count)) {
        if (one.status != sw::mlx::CompletionStatus::success)
            return sw::failure(EIO, fmt::format("{}: {}: {}", machine_.name, name(one.operation), name(one.status)));
        const bool is_heard = one.operation == sw::mlx::CompletionOperation::receive ||
                              one.operation == sw::mlx::CompletionOperation::receive_write_imm;
        if (!is_heard) {
            sent();
            continue;
        }
        if (auto posted = expect_message(); !posted)
            return std::unexpected(std::move(posted.error()));
        if (auto used = heard(one.immediate); !used)
            return std::unexpected(std::move(used.error()));
    }
    return count != 0;
}

} // namespace scenario
