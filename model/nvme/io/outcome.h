// How an I/O command ended: what its completion says, when, and what the error log says of it.
#pragma once

#include "model/nvme/data/refusal.h"
#include "model/port/time.h"

namespace model::nvme {

struct Outcome {
    Status status = Status::success;
    bool dnr = false;
    std::uint32_t dw0 = 0;
    port::Time done{};                      ///< port::never: the medium does not answer, and the command stays
    std::uint16_t parameter = no_parameter; ///< where in the command the error is
    std::uint64_t lba = 0;                  ///< of an error of the medium or of protection: the first such block
    bool is_ok() const { return status == Status::success; }
};

} // namespace model::nvme
