// As much of an HCA as a send queue needs: a doorbell makes it look at the record some time later, it takes requests as
// far as the record says, and completes each, in memory that both sides see. Counts what no correct owner of a queue
// makes it do.
#pragma once

#include "abi/prm/cqe.h"
#include "abi/prm/wqe.h"
#include "model/port/time.h"
#include "sw/gpu/rdma_queue.h"

#include <span>
#include <vector>

namespace testbench {

class SmallHca {
public:
    SmallHca(std::span<std::byte> memory, const sw::gpu::RdmaRings& rings, model::port::Time looks_after)
        : memory_(memory), rings_(rings), looks_after_(looks_after) {}

    void ring(model::port::Time now) { due_ = std::min(due_, now + looks_after_); }
    model::port::Time next_due() const { return due_; }
    /// Looks at the record and does what is new.
    void run() {
        due_ = model::port::never;
        const auto producer =
            static_cast<std::uint16_t>(abi::load<std::uint32_t, abi::Endian::big>(&memory_[rings_.send_record + 4]));
        for (; consumer_ != producer && mistakes == 0; ++consumer_)
            execute(memory_.subspan(rings_.sends + (consumer_ & (rings_.blocks - 1)) * abi::prm::wqe_bb_bytes));
    }

    unsigned mistakes = 0;             ///< requests that were not written yet
    std::vector<std::uint64_t> places; ///< that requests wrote to, in their order
    bool fails = false;                ///< requests end with an error, of another kind in each lap
    abi::prm::CqeSyndrome syndrome_of(std::uint16_t counter) const {
        return (counter / rings_.entries & 1) != 0 ? abi::prm::CqeSyndrome::rnr_retry_exc_err
                                                   : abi::prm::CqeSyndrome::transport_retry_exc_err;
    }

private:
    void execute(std::span<const std::byte> wqe) {
        const abi::ConstView<abi::prm::WqeCtrl> control(wqe);
        if (control.get<"wqe_index">() != consumer_ || control.get<"opcode">() != abi::prm::WqeOpcode::rdma_write) {
            ++mistakes;
            return;
        }
        places.push_back(abi::ConstView<abi::prm::WqeRaddr>(wqe.subspan(abi::prm::wqe_ds_bytes)).get<"raddr">());
        const auto entry = memory_.subspan(
            rings_.completions + (consumer_ & (rings_.entries - 1)) * abi::prm::Cqe64::size, abi::prm::Cqe64::size);
        const abi::View<abi::prm::Cqe64> cqe(entry);
        cqe.set<"wqe_counter">(consumer_)
            .set<"opcode">(fails ? abi::prm::CqeOpcode::req_err : abi::prm::CqeOpcode::req)
            .set<"owner">(consumer_ / rings_.entries & 1);
        if (fails)
            abi::View<abi::prm::ErrCqe>(entry).set<"syndrome">(syndrome_of(consumer_));
    }

    std::span<std::byte> memory_;
    sw::gpu::RdmaRings rings_;
    model::port::Time looks_after_, due_ = model::port::never;
    std::uint16_t consumer_ = 0;
};

} // namespace testbench
