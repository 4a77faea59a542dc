// A queue pair: its rings in one buffer (receive first, as the device wants it), its doorbell record, its states, and
// posting. Posting stores WQEs straight into the ring and rings once a list; nothing on that way allocates or searches
// (PRM "Queue pair").
#pragma once

#include "abi/layout.h"
#include "abi/prm/qp.h"
#include "abi/types.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/mlx/completion/cq.h"
#include "sw/mlx/device/device.h"
#include "sw/mlx/doorbell/doorbell_record.h"
#include "sw/mlx/doorbell/uar.h"
#include "sw/mlx/memory/access.h"
#include "sw/mlx/port/address.h"
#include "sw/mlx/queue/queue_place.h"
#include "sw/mlx/queue/work_request.h"
#include "sw/mlx/queue/wqe.h"
#include "sw/verbs/verbs.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sw::mlx {

struct QpOptions {
    abi::prm::QpType type = abi::prm::QpType::rc;
    abi::Pd pd{};
    CompletionQueue* send_cq = nullptr;
    CompletionQueue* receive_cq = nullptr;
    std::uint32_t max_send = 128;    ///< work requests in flight
    std::uint32_t max_receive = 128; ///< 0: no receive queue
    std::uint32_t max_send_sge = 1;
    std::uint32_t max_receive_sge = 1;
    std::uint32_t max_inline = 0; ///< bytes
    bool signal_all = false;      ///< every send completes, whatever its flags say
    std::uint8_t counter_set = 0; ///< Q counter
    DoorbellStyle doorbell = DoorbellStyle::one_store;
    Uar* uar = nullptr; ///< by which it is rung; nullptr: the device's common one
    /// Receive queue first. Given: nothing is posted here (EINVAL), and completions are polled by the owner.
    QueuePlace place{};
};

/// What a transition changes; what is not set keeps its value (ibv_qp_attr).
struct QpAttributes {
    std::optional<Access> access{}; ///< remote rights
    std::optional<std::uint16_t> pkey_index{};
    std::optional<std::uint8_t> port{};
    std::optional<AddressPath> path{};
    std::optional<abi::prm::Mtu> path_mtu{};
    std::optional<abi::Qpn> remote_qpn{};
    std::optional<abi::Psn> receive_psn{};
    std::optional<abi::Psn> send_psn{};
    std::optional<std::uint8_t>
        max_responder_reads{}; ///< READs and atomics answered at a time; rounded up to a power of two
    std::optional<std::uint8_t> max_requester_reads{}; ///< and sent at a time
    std::optional<std::uint8_t> min_rnr_timer{};       ///< IBA 9.7.5.2.8, table 45
    std::optional<std::uint8_t> ack_timeout{};         ///< 4.096 us << n; 0: never
    std::optional<std::uint8_t> retry_count{};
    std::optional<std::uint8_t> rnr_retry{};       ///< 7: for ever
    std::optional<std::uint8_t> log_ack_request{}; ///< ask for an ACK at least every 2^n packets
};

class QueuePair final : public verbs::QueuePair {
public:
    static Result<std::unique_ptr<QueuePair>> create(Device& device, const QpOptions& options);
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;
    ~QueuePair() override;
    /// Takes the queue pair away from the device and drops its unpolled completions.
    Result<void> destroy();

    /// Moves to `to`. Refuses what no command exists for or what lacks a mandatory attribute; everything else is for
    /// the device to judge.
    Result<void> modify(abi::prm::QpState to, const QpAttributes& attributes = {});
    /// The context as the device has it now; state() follows it.
    Result<abi::Block<abi::prm::Qpc>> query();
    /// Any transition command with any context, whatever the state: to see what the device says.
    Result<void> modify_raw(abi::prm::Opcode opcode, const abi::Block<abi::prm::Qpc>& context,
                            std::uint32_t opt_param_mask = 0);

    /// Posts a list in order and rings once. On a refusal those before it are posted and `bad` names it.
    Result<void> post_send(const SendRequest* list, const SendRequest** bad = nullptr) override;
    using verbs::QueuePair::post_send;
    /// Posts one WQE whose segments behind the control segment the caller has written (a UMR), signalled, and rings.
    /// ENOMEM when it does not fit, EINVAL in a state that takes no sends.
    Result<void> post_segments(std::uint64_t wr_id, abi::prm::WqeOpcode opcode, std::uint32_t immediate,
                               std::span<const std::byte> segments);
    Result<void> post_receive(const ReceiveRequest* list, const ReceiveRequest** bad = nullptr) override;
    using verbs::QueuePair::post_receive;

    abi::Qpn number() const override { return number_; }
    /// As this driver moved it or last asked; the device may have gone on to SQER or ERR by itself.
    abi::prm::QpState state() const { return state_; }
    std::uint32_t send_blocks() const { return ring_.blocks; }
    std::uint32_t max_inline() const { return options_.max_inline; }
    const QpOptions& options() const { return options_; }

    /// The elements of the WQE at block `index`, or of receive WQE `index`, as they were posted; none of an inline WQE.
    std::vector<Sge> sent_elements(std::uint16_t index) const;
    std::vector<Sge> posted_elements(std::uint16_t index) const;

    /// The device completed the WQE at block `counter`, and with it all before it. Returns its wr_id.
    std::uint64_t complete_send(std::uint16_t counter) {
        const auto& slot = sent_[counter & (ring_.blocks - 1)];
        send_tail_ = slot.end;
        return slot.wr_id;
    }
    /// The device completed the oldest receive.
    std::uint64_t complete_receive() { return received_[receive_tail_++ & (receive_count_ - 1)]; }

private:
    struct Sent {
        std::uint64_t wr_id = 0;
        std::uint32_t end = 0; ///< counter behind the WQE's last block
    };
    struct Transition;

    QueuePair(Device& device, const QpOptions& options) : device_(device), options_(options) {}
    Result<void> choose_sizes();
    Result<void> allocate();
    Result<void> create_in_device();
    std::size_t receive_bytes() const;
    Result<std::vector<std::uint64_t>> ring_pages(unsigned& log_page) const;
    void write_attributes(const QpAttributes& attributes, abi::View<abi::prm::Qpc> context) const;
    void enter(abi::prm::QpState state);
    void reset();
    Result<void> refuse_send(const SendRequest& request, std::uint32_t units) const;
    void ring(std::uint32_t last, bool alone);
    Result<void> refuse_receive(const ReceiveRequest& request) const;

    // What posting touches comes first.
    SendRing ring_;
    std::uint32_t send_head_ = 0; ///< counts blocks posted; the device sees its lower 16 bits
    std::uint32_t send_tail_ = 0; ///< counts blocks known to be done
    abi::Qpn number_{};
    bool can_send_ = false;
    bool can_receive_ = false;
    std::unique_ptr<Sent[]> sent_; ///< by block of the WQE's start
    DoorbellRecord record_;
    Uar* uar_ = nullptr;
    std::unique_ptr<std::uint64_t[]> received_; ///< by receive WQE
    std::byte* receive_ring_ = nullptr;
    std::uint32_t receive_head_ = 0;
    std::uint32_t receive_tail_ = 0;
    std::uint32_t receive_count_ = 0;  ///< WQEs; a power of two, or 0
    std::uint32_t receive_stride_ = 0; ///< bytes

    Device& device_;
    QpOptions options_;
    memory::Buffer buffer_;
    abi::prm::QpState state_ = abi::prm::QpState::rst;
    bool exists_ = false;
};

} // namespace sw::mlx
