// The UAR pages (PRM "User access region"): decodes stores into doorbells. Receives page, offset and bytes; tells the
// send queues, completion queues and event queues. Does not read doorbell records: that is doorbell_record.
//
// Real drivers ring with one 8-byte store, two 4-byte stores, or a BlueFlame burst of a whole WQE. A burst is taken for
// its first 8 bytes: the same WQE stands in the send queue, and is read from there.
#pragma once

#include "abi/types.h"
#include "model/port/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace model::hca {
class Hca;
}

namespace model::hca::doorbell {

class Uar {
public:
    Uar(Hca& hca, std::uint32_t pages) : hca_(hca), halves_(pages) {}

    /// A store of any length and alignment at `offset` of UAR page `page`. What is not a doorbell is ignored.
    void write(std::uint32_t page, std::uint32_t offset, std::span<const std::byte> bytes, port::Time at);
    /// Forgets half doorbells.
    void reset();

private:
    /// The CQ register and both halves of the four BlueFlame registers.
    static constexpr std::size_t registers = 9;
    /// First half of a doorbell that comes as two 4-byte stores.
    struct Half {
        bool is_set = false;
        std::array<std::byte, 4> bytes{};
    };
    void ring(std::uint32_t page, std::uint32_t offset, std::span<const std::byte, 8> value, port::Time at);

    Hca& hca_;
    /// One a register: software locks a register, not the page.
    std::vector<std::array<Half, registers>> halves_;
};

} // namespace model::hca::doorbell
