// The command interface: arguments that software has written become objects, or a refusal. Reads page lists by DMA;
// nothing here is on the way of packets.
#pragma once

#include "abi/simple/command.h"
#include "abi/simple/registers.h"
#include "model/simple/config.h"
#include "model/simple/host_memory.h"
#include "model/simple/objects.h"
#include "model/simple/ready_list.h"
#include "model/simple/requester.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace model::simple {

/// What a command has ended with.
struct Answered {
    abi::simple::Status status = abi::simple::Status::ok;
    std::uint32_t result = 0;
    port::Time done{};
};

class Commands {
public:
    Commands(const SimpleConfig& config, Objects& objects, HostMemory& memory, ReadyList& ready, Requester& requester)
        : config_(config), objects_(objects), memory_(memory), ready_(ready), requester_(requester) {}

    /// `gid`: of the port, as software has set it.
    Answered execute(abi::simple::Command command, std::span<const std::byte, abi::simple::arguments_bytes> arguments,
                     const port::Gid& gid, port::Time at);

private:
    using Arguments = std::span<const std::byte, abi::simple::arguments_bytes>;
    Answered create_region(Arguments arguments, port::Time at);
    Answered destroy_region(abi::Key key, port::Time at);
    Answered create_cq(Arguments arguments);
    Answered destroy_cq(std::uint32_t number);
    Answered create_qp(Arguments arguments);
    Answered destroy_qp(std::uint32_t number);
    Answered connect_qp(Arguments arguments, const port::Gid& gid);
    port::Path path_of(abi::ConstView<abi::simple::ConnectQp> arguments, const port::Gid& gid) const;

    const SimpleConfig& config_;
    Objects& objects_;
    HostMemory& memory_;
    ReadyList& ready_;
    Requester& requester_;
    std::uint64_t serial_ = 0;
};

} // namespace model::simple
