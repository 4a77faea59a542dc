// Interrupts as a core raises them: a vector number. Masking, pending bits and the message belong to MSI-X of the
// function.
#pragma once

#include "model/port/time.h"

#include <cstdint>

namespace model::port {

class Interrupts {
public:
    virtual ~Interrupts() = default;
    /// Raises MSI-X vector `vector`; an index beyond the table is dropped.
    virtual void raise(std::uint16_t vector, Time at) = 0;
};

} // namespace model::port
