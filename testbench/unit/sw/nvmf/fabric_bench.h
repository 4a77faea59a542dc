// A host and a target with its drive: both drivers, both HCAs and the drive as they are, without a bus and without
// SystemC. The target goes on whenever somebody waits.
#pragma once

#include "model/nvme/config.h"
#include "model/nvme/media/faulty_medium.h"
#include "model/nvme/media/memory_medium.h"
#include "sw/nvmf/host.h"
#include "sw/nvmf/target.h"
#include "testbench/harness/direct_function.h"
#include "testbench/harness/direct_hosts.h"
#include "testbench/harness/must.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace testbench {

using harness::must;

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// One end's HCA.
struct FabricEnd {
    FabricEnd(harness::DirectHost& host, std::uint32_t ipv4) : context(must(sw::mlx::Context::open(host))) {
        port.context = context.get();
        port.pd = must(context->alloc_pd());
        port.path = must(context->open_port(sw::mlx::gid_of_ipv4(ipv4)));
        port.options = {.ack_timeout = 8, .retry_count = 1}; // a peer that is gone is known soon: 1 ms
    }
    std::unique_ptr<sw::mlx::Context> context;
    sw::nvmf::RdmaPort port;
};

struct FabricOptions {
    model::nvme::NvmeConfig drive{}; ///< works at once, whatever it says
    sw::nvmf::TargetOptions target{};
    std::uint64_t payload_bytes = 4 << 20;
    unsigned drive_queues = 8;
};

/// A target, and hosts that a test connects to it.
struct Fabric {
    harness::DirectHosts machines;
    model::nvme::FaultyMedium* medium = nullptr;
    harness::DirectFunction drive;
    FabricEnd target_end{machines.a, 0x0a000001}, host_end{machines.b, 0x0a000002};
    std::unique_ptr<sw::nvme::Controller> controller;
    std::optional<sw::nvmf::HostPayload> payload;
    std::unique_ptr<sw::nvmf::Target> target;
    sw::memory::Buffer buffer;
    std::optional<sw::mlx::MemoryRegion> region;
    bool is_dialling = false, is_served = true;

    explicit Fabric(FabricOptions options = {})
        : drive(with_faults(options.drive), machines.a),
          controller(
              must(sw::nvme::Controller::open(drive, {.queue_pairs = options.drive_queues, .has_interrupts = false}))),
          payload(
              must(sw::nvmf::HostPayload::make(*target_end.context, target_end.port.pd, drive, options.payload_bytes))),
          target(must(sw::nvmf::Target::open(*controller, target_end.port, payload->memory(), options.target))),
          buffer(must(host_end.context->allocate(1 << 20))),
          region(must(host_end.context->reg_mr(host_end.port.pd, buffer, sw::mlx::all_access))) {
        machines.a.step = machines.b.step = [this, step = machines.a.step](harness::Time until) {
            step(until);
            drive.relax();
            if (is_served && !is_dialling)
                target->poll();
        };
    }
    sw::Result<std::unique_ptr<sw::nvmf::Host>> connect(const sw::nvmf::HostOptions& options = {}) {
        return sw::nvmf::Host::connect(host_end.port,
                                       {.connect = [this](const auto& request) { return dial(request); },
                                        .disconnect = [this](const sw::mlx::Peer& self) { target->disconnect(self); }},
                                       options);
    }
    sw::Result<sw::nvmf::ConnectionReply> dial(const sw::nvmf::ConnectionRequest& request) {
        is_dialling = true;
        auto reply = target->accept(request);
        is_dialling = false;
        return reply;
    }
    void let(unsigned steps = 200) {
        for (unsigned i = 0; i < steps; ++i)
            machines.b.relax();
    }
    sw::nvmf::HostData data(std::uint64_t offset, std::uint32_t bytes) const {
        return {region->iova().value + offset, bytes, region->lkey(), region->rkey()};
    }
    void fill(std::uint64_t offset, std::size_t bytes, unsigned seed) {
        for (std::size_t i = 0; i < bytes; ++i)
            buffer.bytes()[offset + i] = static_cast<std::byte>(i * 29 + i / 253 + seed);
    }
    bool is_filled(std::uint64_t offset, std::size_t bytes, unsigned seed) const {
        for (std::size_t i = 0; i < bytes; ++i)
            if (buffer.bytes()[offset + i] != static_cast<std::byte>(i * 29 + i / 253 + seed))
                return false;
        return true;
    }
    /// Nothing of any connection is left at the target.
    bool is_idle() const {
        return target->queues() == 0 && target->controllers() == 0 && target->under_way() == 0 &&
               target->payload().free() == target->payload().pieces() &&
               target->admin_memory().free() == target->admin_memory().pieces();
    }

private:
    model::nvme::NvmeConfig with_faults(model::nvme::NvmeConfig config) {
        config.timed = false;
        config.space.make_medium = [this](std::uint32_t, const model::nvme::NamespaceConfig& space) {
            auto made = std::make_unique<model::nvme::FaultyMedium>(
                std::make_unique<model::nvme::MemoryMedium>("medium", space.bytes), 512);
            medium = made.get();
            return made;
        };
        return config;
    }
};

/// A fabric with one host on it.
struct Connected : Fabric {
    std::unique_ptr<sw::nvmf::Host> host;
    std::optional<sw::nvme::Namespace> space;
    explicit Connected(const FabricOptions& options = {}, const sw::nvmf::HostOptions& host_options = {})
        : Fabric(options), host(must(connect(host_options))), space(must(host->open_namespace(1))) {}
    sw::nvmf::Response write(sw::nvme::Blocks blocks, const sw::nvmf::HostData& data) {
        return execute(space->write(blocks), data);
    }
    sw::nvmf::Response read(sw::nvme::Blocks blocks, const sw::nvmf::HostData& data) {
        return execute(space->read(blocks), data);
    }
    sw::nvmf::Response execute(sw::nvmf::HostQueue::Command command, const sw::nvmf::HostData& data = {}) {
        return must(host->queue(0).execute(command, data));
    }
};

} // namespace testbench
