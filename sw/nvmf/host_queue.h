// One queue of a host, and its connection to a controller over RDMA: commands go out in capsules, responses come in. As
// sw/nvme/queue_pair.h in its use, but that it may end: then every command under way ends with a pathing error, once,
// and no more can be submitted.
#pragma once

#include "sw/nvme/completion.h"
#include "sw/nvme/queue_pair.h"
#include "sw/nvmf/channel.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sw::nvmf {

/// Data of a command, in memory of the host that is registered: the controller reaches it by `rkey`, the own HCA by
/// `lkey`.
struct HostData {
    std::uint64_t address = 0;
    std::uint32_t bytes = 0, lkey = 0, rkey = 0;
};

struct Response : nvme::Completion {
    std::uint32_t upper = 0; ///< dword 1: of properties that have 8 bytes
};

class HostQueue {
public:
    using Command = nvme::QueuePair::Command;

    /// `entries` as the controller has its submission queue; one less can be under way. `in_capsule_bytes`: data that
    /// may go with a command.
    static Result<std::unique_ptr<HostQueue>> make(const RdmaPort& port, std::uint16_t number, std::uint32_t entries,
                                                   std::uint32_t in_capsule_bytes);
    HostQueue(const HostQueue&) = delete;
    HostQueue& operator=(const HostQueue&) = delete;

    /// What the controller must know to connect.
    ConnectionRequest request(std::uint16_t controller) const;
    /// What it answered. ECONNREFUSED: it rejects, with its reason.
    Result<void> connect(const ConnectionReply& reply);

    /// Sends a command; its identifier and data pointer are written into it. Returns the identifier. EAGAIN: as many
    /// are under way as may be; ENOTCONN: the connection has ended; EINVAL: more data than a command can point to.
    Result<std::uint16_t> submit(Command& command, const HostData& data = {});
    /// Commands that have ended; how many.
    std::size_t poll(std::span<Response> into);
    /// submit, and wait for it alone: nothing else is under way. Without an answer in time the connection ends.
    Result<Response> execute(Command& command, const HostData& data = {},
                             std::chrono::nanoseconds timeout = std::chrono::seconds{10});
    /// Every command under way ends with a pathing error: poll() has them.
    void end(const std::string& why);

    bool is_connected() const { return is_connected_; }
    const std::string& why() const { return why_; } ///< it has ended
    std::uint16_t number() const { return number_; }
    std::uint32_t entries() const { return entries_; }
    std::size_t under_way() const { return under_way_; }
    std::size_t room() const { return is_connected_ ? free_.size() : 0; }
    /// What the controller knows it by, also when it has ended.
    const mlx::Peer& self() const { return self_; }
    /// Responses that belonged to no command: the controller's mistake.
    std::uint64_t strays() const { return strays_; }
    std::uint64_t responses() const { return responses_; }
    /// Of commands that were sent with data behind them, the command's own bytes.
    std::uint64_t sent_from_memory() const { return sent_from_memory_; }
    transport::Transport& transport() { return port_.context->transport(); }
    /// For tests of what a controller makes of a host that misbehaves.
    Channel& channel() { return *channel_; }

private:
    HostQueue(const RdmaPort& port, std::uint16_t number, std::uint32_t entries, std::uint32_t in_capsule_bytes);
    bool take(const Channel::Ended& ended, Response& into);

    RdmaPort port_;
    std::uint16_t number_;
    std::uint32_t entries_, in_capsule_bytes_;
    std::unique_ptr<Channel> channel_;
    mlx::Peer self_{};
    bool is_connected_ = false;
    std::vector<std::uint16_t> free_; ///< identifiers
    std::vector<bool> is_under_way_;  ///< by identifier
    std::size_t under_way_ = 0;
    std::deque<std::uint16_t> lost_; ///< whose connection has ended
    std::uint64_t strays_ = 0, responses_ = 0, sent_from_memory_ = 0;
    std::string why_;
};

} // namespace sw::nvmf
