// The UAR pages (PRM "User access region"): decodes stores into doorbells. Receives page, offset and bytes; gives the
// doorbell that they complete, if any. Does not read doorbell records: doorbell_record does.
//
// Real drivers ring with one 8-byte store, two 4-byte stores, or a BlueFlame burst of a whole WQE. A store of whole
// lines brings them along, and `Bursts` puts together what takes several; of a line that a bridge has cut, the first 8
// bytes count, and the WQE is read from the send queue, where it stands as well.
#pragma once

#include "abi/prm/doorbell.h"
#include "model/hca/doorbell/doorbell.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace model::hca::doorbell {

class Uar {
public:
    explicit Uar(std::uint32_t pages) : halves_(pages) {}

    /// A store of any length and alignment at `offset` of UAR page `page`.
    std::optional<Doorbell> write(std::uint32_t page, std::uint32_t offset, std::span<const std::byte> bytes);
    /// Forgets doorbells of which only the first half has come.
    void reset();

private:
    /// The CQ register, and the two buffers of each BlueFlame register.
    static constexpr std::size_t registers = 1 + 2 * abi::prm::bfregs_per_uar;
    /// First half of a doorbell that comes as two 4-byte stores.
    struct Half {
        bool is_set = false;
        std::array<std::byte, 4> bytes{};
    };

    /// Of each page one for each register: two threads may ring by two registers of a page at the same time, since
    /// drivers lock a register and not the page.
    std::vector<std::array<Half, registers>> halves_;
};

} // namespace model::hca::doorbell
