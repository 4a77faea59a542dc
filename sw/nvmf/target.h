// A target: namespaces of a drive, offered to hosts over RDMA (NVMe over Fabrics). One HCA, one drive, as many hosts as
// ask; each has a controller of its own, and each of its I/O queues has a queue pair of the drive. Data go by way of
// memory that the caller has chosen. Works when it is polled. Not for several threads at once.
#pragma once

#include "sw/nvmf/target_queue.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace sw::nvmf {

class Target final : private TargetQueueOwner {
public:
    /// `payload` is for data of I/O commands, in whole pieces of options.largest_transfer. Drive, HCA and memory
    /// outlive the target. EINVAL: options that cannot be, or that the drive cannot have.
    static Result<std::unique_ptr<Target>> open(nvme::Controller& drive, const RdmaPort& port,
                                                const PayloadMemory& payload, const TargetOptions& options = {});
    ~Target() override;

    /// A host wants to connect a queue. What it says is checked; a rejection has its reason.
    ConnectionReply accept(const ConnectionRequest& request);
    /// Takes what has come on all queues. Whether there was anything.
    bool poll();
    /// The host of that queue pair has said by the way it came that it goes; its queue ends. Nothing: it had ended.
    void disconnect(const mlx::Peer& peer);

    const TargetCounters& counters() const { return counters_; }
    std::size_t queues() const { return queues_.size(); }
    std::size_t controllers() const { return controllers_.size(); }
    std::size_t under_way() const;
    const PayloadPool& payload() const { return payload_; }
    const PayloadPool& admin_memory() const { return *admin_; }
    /// Why the last connection ended that did not end by disconnect(); empty: none did.
    const std::string& last_end() const { return last_end_; }

private:
    struct Connection {
        mlx::Peer peer{};
        std::unique_ptr<TargetQueue> queue;
        std::chrono::nanoseconds begin{};
    };

    Target(nvme::Controller& drive, const RdmaPort& port, const PayloadMemory& payload, const TargetOptions& options)
        : drive_(drive), port_(port), options_(options), payload_(payload, options.largest_transfer) {}
    Result<void> start();
    Answer connect(TargetQueue& queue, abi::ConstView<abi::nvme::Connect> command,
                   std::span<const std::byte> data) override;
    Answer connect_admin(TargetQueue& queue, abi::ConstView<abi::nvme::Connect> command,
                         const abi::Block<abi::nvme::ConnectData>& host);
    Answer connect_io(TargetQueue& queue, const abi::Block<abi::nvme::ConnectData>& host);
    Answer administer(TargetQueue& queue, TargetController::Command command, const AdminData& data) override;
    const nvme::Namespace* find(std::uint32_t nsid) const override;
    void release(std::unique_ptr<nvme::QueuePair> queue) override;
    std::optional<abi::nvme::RdmaRejection> check(abi::ConstView<abi::nvme::RdmaRequest> request) const;
    std::uint16_t free_id() const;
    void end_queues(std::uint16_t controller, bool with_admin, const std::string& why);
    void abort_parked(std::uint16_t controller);
    void end_strangers(std::chrono::nanoseconds now);
    void flush();
    void clean_up();

    nvme::Controller& drive_;
    RdmaPort port_;
    TargetOptions options_;
    PayloadPool payload_;
    TargetCounters counters_;
    std::vector<nvme::Namespace> spaces_;
    std::optional<HostPayload> admin_pages_;
    std::optional<PayloadPool> admin_;
    std::unique_ptr<nvme::QueuePair> flushes_; ///< of our own, for shutdowns
    std::map<std::uint16_t, TargetController> controllers_;
    std::vector<Connection> queues_;
    std::string last_end_;
    bool is_polling_ = false;
};

} // namespace sw::nvmf
