// A controller as one host has it over a fabric: its properties, and what its admin queue is asked (NVMe base 2.0
// "Fabrics Command Set", "Admin Command Set"). What is about the drive is answered by the drive; what is about the way
// to it is answered here. Knows no capsules and no queues.
#pragma once

#include "abi/nvme/fabrics.h"
#include "abi/nvme/registers.h"
#include "sw/nvme/controller.h"
#include "sw/nvme/namespace.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace sw::nvmf {

struct TargetOptions {
    std::string subsystem = "nqn.2014-08.org.nvmexpress:hcasim";
    std::uint32_t entries = 128;                ///< of a queue, at most; one less can be under way
    std::uint64_t largest_transfer = 128 << 10; ///< a power of two, and whole pages
    std::uint32_t in_capsule_bytes = 4096;      ///< data that may come with an I/O command; 0: none
    /// From a connection to its Connect command.
    std::chrono::nanoseconds patience = std::chrono::seconds{10};
};

/// What a command is answered with.
struct Answer {
    abi::nvme::Status status{};
    bool do_not_retry = false;
    std::uint32_t dw0 = 0, dw1 = 0;
    std::uint32_t bytes = 0; ///< of data for the host
    bool is_parked = false;  ///< not yet

    static Answer refuse(abi::nvme::Status status) { return {.status = status, .do_not_retry = true}; }
    static Answer refuse(abi::nvme::FabricsStatus status, std::uint32_t dw0 = 0) {
        return {.status = static_cast<abi::nvme::Status>(status), .do_not_retry = true, .dw0 = dw0};
    }
};

/// Data of an admin command, in memory that the drive reaches, too.
struct AdminData {
    std::span<std::byte> bytes{};
    nvme::Segment drive{};
};

class TargetController {
public:
    using Command = abi::ConstView<abi::nvme::Command>;
    static constexpr unsigned most_event_requests = 4;

    TargetController(nvme::Controller& drive, std::span<const nvme::Namespace> spaces, const TargetOptions& options,
                     unsigned queues, std::uint16_t id, const abi::Block<abi::nvme::ConnectData>& host,
                     std::uint32_t keep_alive_ms, std::chrono::nanoseconds now);

    /// Any command of the admin queue but Connect.
    Answer execute(Command command, const AdminData& data);

    std::uint16_t id() const { return id_; }
    /// Whether a Connect comes from the host that this controller is of.
    bool is_of(const abi::Block<abi::nvme::ConnectData>& host) const;
    bool is_ready() { return registers_.view().get<"rdy">(); }
    unsigned queues() const { return granted_; }
    /// The host has disabled it since the last call: its I/O queues are to go.
    bool take_reset() { return std::exchange(is_reset_, false); }
    /// The host has asked for a shutdown: when what it wrote is durable, has_shut_down() follows.
    bool take_shutdown() { return std::exchange(is_shutting_down_, false); }
    void has_shut_down();
    void hear(std::chrono::nanoseconds now) { heard_ = now; }
    /// Nothing was heard for longer than the host has promised ("Keep Alive").
    bool is_silent(std::chrono::nanoseconds now) const {
        return keep_alive_.count() != 0 && now - heard_ > keep_alive_;
    }

private:
    Answer execute_fabrics(Command command);
    Answer get_property(Command command);
    Answer set_property(Command command);
    void configure(std::uint32_t value);
    Answer identify(Command command, const AdminData& data);
    void describe_controller(std::span<std::byte> page) const;
    Answer set_features(Command command);
    Answer get_features(Command command);
    Answer forward(Command command, const AdminData& data, std::uint64_t bytes);

    nvme::Controller& drive_;
    std::span<const nvme::Namespace> spaces_;
    const TargetOptions& options_;
    unsigned queues_, granted_;
    std::uint16_t id_;
    abi::Block<abi::nvme::ConnectData> host_;
    abi::Block<abi::nvme::Registers> registers_{};
    std::chrono::nanoseconds keep_alive_, heard_;
    std::uint32_t events_ = 0; ///< that the host wants to hear of
    unsigned event_requests_ = 0;
    bool is_reset_ = false, is_shutting_down_ = false;
};

} // namespace sw::nvmf
