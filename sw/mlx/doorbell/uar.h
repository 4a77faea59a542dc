// One UAR page as the processor rings it: send doorbells, completion queue arm, event queue consumer index. Takes
// values ready for the register and stores them in one transaction; the caller has ordered its memory (PRM "UAR").
#pragma once

#include "abi/layout.h"
#include "abi/prm/doorbell.h"
#include "abi/types.h"
#include "sw/transport/transport.h"
#include "sw/verbs/verbs.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sw::mlx {

/// How a send doorbell is rung. All say the same to the device.
enum class DoorbellStyle : std::uint8_t {
    one_store,  ///< 8 bytes at once
    two_stores, ///< two times 4 bytes, as a 32-bit processor does
    blueflame,  ///< the whole WQE, a line at a time where the processor combines stores
};

class Uar final : public verbs::DoorbellPage {
public:
    Uar(transport::Transport& transport, unsigned bar, std::uint32_t index, std::uint32_t blueflame_register_bytes)
        : transport_(&transport), bar_(bar), index_(index), base_(std::uint64_t{index} * abi::prm::uar_page_bytes),
          half_(blueflame_register_bytes >= 16 ? blueflame_register_bytes / 2 : 0) {}

    /// Number of the page, as contexts want it.
    std::uint32_t index() const { return index_; }

    /// `wqe` is the last work request posted, in whole blocks; its first 8 bytes are the doorbell. One that a buffer of
    /// the register does not hold goes without its WQE. The buffers alternate, so that the write-combining buffers of
    /// two rings in a row do not meet.
    void ring_send(std::span<const std::byte> wqe, DoorbellStyle style) {
        const auto at = base_ + abi::prm::uar_bfreg + toggle_;
        toggle_ ^= half_;
        if (style == DoorbellStyle::two_stores) [[unlikely]] {
            transport_->mmio_write(bar_, at, wqe.first<4>());
            transport_->mmio_write(bar_, at + 4, wqe.subspan<4, 4>());
        } else if (style == DoorbellStyle::one_store || wqe.size() > half_) {
            transport_->mmio_write(bar_, at, wqe.first<8>());
        } else {
            transport_->bar_write(bar_, at, wqe);
        }
    }

    void arm_cq(const abi::Block<abi::prm::CqDoorbell>& doorbell) const {
        transport_->mmio_write(bar_, base_ + abi::prm::uar_cq_doorbell, doorbell.bytes);
    }

    /// Tells the device what was consumed of event queue `eqn`, and with `arm` asks for an interrupt at the next event.
    void update_eq(abi::Eqn eqn, std::uint32_t consumer_index, bool arm) const {
        abi::Block<abi::prm::EqDoorbell> doorbell;
        doorbell.view().set<"eqn">(eqn.value).set<"ci">(consumer_index);
        transport_->mmio_write(bar_, base_ + (arm ? abi::prm::uar_eq_arm : abi::prm::uar_eq_update), doorbell.bytes);
    }

private:
    transport::Transport* transport_;
    unsigned bar_;
    std::uint32_t index_;
    std::uint64_t base_;
    std::uint64_t half_;
    std::uint64_t toggle_ = 0;
};

} // namespace sw::mlx
