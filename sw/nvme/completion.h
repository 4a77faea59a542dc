// What a controller says when a command has ended. Given by a queue pair, in the order in which the controller posted.
#pragma once

#include "abi/nvme/status.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace sw::nvme {

struct Completion {
    abi::nvme::Status status{};
    std::uint16_t id = 0;     ///< as submit() gave it
    std::uint32_t result = 0; ///< dword 0
    bool do_not_retry = false;
    bool is_ok() const { return status == abi::nvme::Status::success; }
};

/// "LBA Out of Range (0x080), do not retry"
inline std::string describe(const Completion& completion) {
    return fmt::format("{} ({:#05x}){}", abi::nvme::name(completion.status),
                       static_cast<std::uint16_t>(completion.status), completion.do_not_retry ? ", do not retry" : "");
}

} // namespace sw::nvme
