// A host of NVMe over Fabrics: it connects to a controller over RDMA, enables it, learns what it is, and has I/O queues
// (NVMe base 2.0 "Fabrics Controller Initialization"). Commands of namespaces are those of sw/nvme/namespace.h. Not for
// several threads at once.
#pragma once

#include "abi/nvme/identify.h"
#include "abi/nvme/registers.h"
#include "sw/nvme/namespace.h"
#include "sw/nvmf/host_queue.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sw::nvmf {

struct HostOptions {
    std::string subsystem = "nqn.2014-08.org.nvmexpress:hcasim";
    std::string name = "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-000000000001";
    std::array<std::byte, 16> identifier{};
    unsigned queues = 1;         ///< for I/O, asked for; fewer may be granted
    std::uint32_t entries = 128; ///< of each of them
    std::uint32_t keep_alive_ms = 0;
    std::chrono::nanoseconds timeout = std::chrono::seconds{10}; ///< for one command
};

/// What the controller says of itself, as far as a host uses it.
struct HostFacts {
    std::uint16_t controller = 0;
    std::uint64_t largest_transfer = 0; ///< bytes; 0: no limit
    std::uint32_t largest_queue = 0;    ///< entries
    std::uint32_t in_capsule_bytes = 0;
};

class Host {
public:
    using Command = HostQueue::Command;
    /// What brings word to the target beside RDMA: requests, whose replies it brings back, and which end goes.
    struct Carrier {
        std::function<Result<ConnectionReply>(const ConnectionRequest&)> connect;
        std::function<void(const mlx::Peer& self)> disconnect;
    };

    static Result<std::unique_ptr<Host>> connect(const RdmaPort& port, Carrier carrier,
                                                 const HostOptions& options = {});
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    /// As disconnect().
    ~Host();

    /// The controller ends what it does; what was written is durable when this returns.
    Result<void> shut_down();
    /// All connections end, the admin queue's last, and the target is told of each.
    void disconnect();

    Result<std::uint64_t> property(abi::nvme::Register which, bool is_wide = false);
    Result<void> set_property(abi::nvme::Register which, std::uint32_t value);
    /// An admin command, with up to a page of data from the controller. A status that is no success is no failure.
    Result<Response> execute(Command& command, std::uint32_t bytes = 0);
    Result<std::vector<std::byte>> identify(abi::nvme::Cns cns, std::uint32_t nsid = 0);
    Result<void> keep_alive();
    /// Numbers of the namespaces, ascending; the first 1024.
    Result<std::vector<std::uint32_t>> active_namespaces();
    Result<nvme::Namespace> open_namespace(std::uint32_t number);

    const HostFacts& facts() const { return facts_; }
    unsigned queues() const { return static_cast<unsigned>(queues_.size()); }
    HostQueue& queue(unsigned i) { return *queues_[i]; }
    HostQueue& admin() { return *admin_; }

private:
    Host(const RdmaPort& port, Carrier carrier, const HostOptions& options)
        : port_(port), carrier_(std::move(carrier)), options_(options) {}
    Result<void> start();
    Result<std::unique_ptr<HostQueue>> connect_queue(std::uint16_t number, std::uint32_t entries,
                                                     std::uint32_t in_capsule_bytes);
    Result<void> introduce(HostQueue& queue);
    void end(HostQueue& queue);
    Result<void> enable();
    Result<void> learn();
    Result<unsigned> ask_for_queues();
    Result<Response> succeed(HostQueue& queue, Command& command, const HostData& data, const char* what);

    RdmaPort port_;
    Carrier carrier_;
    HostOptions options_;
    HostFacts facts_;
    memory::Buffer page_; ///< for data of admin commands
    std::optional<mlx::MemoryRegion> page_region_;
    std::unique_ptr<HostQueue> admin_;
    std::vector<std::unique_ptr<HostQueue>> queues_;
    bool has_left_ = false;
};

} // namespace sw::nvmf
