// The HCA's core: its objects, and the rooms of the data path around them. Doorbells, packets and time come in here;
// the firmware (the command interface) creates and changes objects here. Plain C++: platform/card makes a device of it.
#pragma once

#include "model/hca/queue/completion_queue.h"
#include "model/hca/completion/cqe_writer.h"
#include "model/hca/config.h"
#include "model/hca/counted.h"
#include "model/hca/counters.h"
#include "model/hca/domains.h"
#include "model/hca/dispatch/doorbells.h"
#include "model/hca/dispatch/polled_records.h"
#include "model/hca/dispatch/turns.h"
#include "model/hca/doorbell/bursts.h"
#include "model/hca/doorbell/uar.h"
#include "model/hca/event/event_queue.h"
#include "model/hca/lifecycle/lifecycle.h"
#include "model/hca/lifecycle/queue_pairs.h"
#include "model/hca/memory/application_memory.h"
#include "model/hca/ingress/ingress.h"
#include "model/hca/objects.h"
#include "model/hca/paging/page_faults.h"
#include "model/hca/icm/context_memory.h"
#include "model/hca/pipe.h"
#include "model/hca/completion/failure.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/queue/scheduler.h"
#include "model/hca/queue/shared_receive_queue.h"
#include "model/hca/requester/requester.h"
#include "model/hca/responder/datagram.h"
#include "model/hca/responder/responder.h"
#include "model/hca/queue/timers.h"
#include "model/hca/tpt/mkey_table.h"
#include "model/hca/tpt/translate.h"
#include "model/hca/umr/umr.h"
#include "model/hca/address/identity.h"
#include "model/hca/egress/outlets.h"
#include "model/hca/subnet/management_port.h"
#include "model/management/agent.h"
#include "model/port/clock.h"
#include "model/port/dma.h"
#include "model/port/interrupt.h"
#include "model/port/wire.h"
#include "traces/events.h"

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace model::hca {

/// What the HCA needs from outside; all outlive it.
struct Ports {
    port::Dma& dma;
    port::Clock& clock;
    port::Wire& wire;
    port::Interrupts& interrupts;
    /// The way by which the port sends to itself. Without one such packets go by the cable.
    port::Wire* inside = nullptr;
};

class Hca final : public port::Receiver {
public:
    Hca(const HcaConfig& config, const Ports& ports, traces::Events events);

    const HcaConfig& config() const { return config_; }
    const Counters& counters() const { return counters_; }

    /// Resources that its times are made of, appended to `rows`.
    void accounts(std::vector<time::Account>& rows) const;

    // --- entries from outside; the device around the HCA flushes its wires after each ---
    /// A store into the UAR area: `page` is the UAR index, `offset` within its 4 KiB.
    void write_uar(std::uint32_t page, std::uint32_t offset, std::span<const std::byte> bytes, port::Time at);
    void receive(port::Packet& packet, port::Time at) override;
    /// The same of a packet that the port has sent to itself (Ports::inside).
    void receive_turned(port::Packet& packet, port::Time at);
    void received_all(port::Time at) override;
    bool takes_trains() const override { return config_.packet_trains && !config_.timed && !events_.is_on(); }
    void ready(port::Time at) override;
    void link_changed(bool is_up, port::Time at) override {
        if (on_link_changed)
            on_link_changed(is_up, at);
    }
    /// Time asked for by Clock::wake_at has come.
    void wake(port::Time now);

    // --- objects, for the firmware; numbers come from its pools ---
    tpt::MkeyTable& mkeys() { return objects_.mkeys; }
    ObjectTable<ProtectionDomain>& protection_domains() { return objects_.protection_domains; }
    ObjectTable<XrcDomain>& xrc_domains() { return objects_.xrc_domains; }
    tpt::Translator& translator() { return translator_; }
    icm::ContextMemory& contexts() { return contexts_; }
    event::EventQueues& event_queues() { return event_queues_; }
    ObjectTable<queue::CompletionQueue>& completion_queues() { return objects_.completion_queues; }
    /// RMPs and XRC SRQs share one space of numbers.
    ObjectTable<queue::SharedReceiveQueue>& shared_receive_queues() { return objects_.shared_receive_queues; }
    ObjectTable<queue::QueuePair>& queue_pairs() { return objects_.queue_pairs; }
    /// QP0 or QP1, or nullptr.
    queue::QueuePair* special_queue_pair(abi::Qpn number) const { return objects_.special[number.value]; }
    multicast::Groups& groups() { return objects_.groups; }
    /// The agent answers management datagrams that no QP0 or QP1 takes. With nullptr nobody answers them.
    void set_agent(management::Agent* agent) { management_.set_agent(agent); }
    /// Called when the port's link has come up or gone; set by the firmware.
    std::function<void(bool is_up, port::Time at)> on_link_changed;
    /// Takes the port's link down, or trains it. Returns whether the link is up then.
    bool set_link_on(bool is_on, port::Time at) { return ports_.wire.set_on(is_on, at); }
    /// Sends a datagram from QP0 to that of `lid` (IBA 13.5.1). False: there is no room, and management waits for none.
    bool send_management(const management::Datagram& mad, std::uint16_t lid, port::Time at) {
        return management_.send(mad, lid, at);
    }
    /// What has left by the cable.
    port::Traffic sent() const { return ports_.wire.sent(); }
    /// What should have left and has not, or not yet.
    port::Hindered hindered() const { return ports_.wire.hindered(); }
    address::Identity& identity() { return identity_; }
    /// The port has new LIDs: what leaves from now on comes from them, on connections, too (PRM: a path holds path
    /// bits, the base LID is the port's).
    void set_lids(std::uint16_t base, std::uint8_t lmc);
    /// Q counter sets by number; set 0 always exists and counts queue pairs without a set of their own.
    ObjectTable<CounterSet>& q_counters() { return objects_.q_counters; }

    // The life of objects: see hca/lifecycle. What an object's attributes name must exist, as the firmware has checked.
    tpt::Mkey& create_mkey(std::uint32_t index, tpt::MkeyAttributes attributes, std::vector<std::uint64_t> mtt) {
        return lifecycle_.create_mkey(index, std::move(attributes), std::move(mtt));
    }
    void destroy_mkey(std::uint32_t index) { lifecycle_.destroy_mkey(index); }
    queue::CompletionQueue& create_cq(abi::Cqn cqn, queue::CompletionQueueAttributes attributes) {
        contexts_.created(cqn);
        auto& cq = lifecycle_.create_cq(cqn, std::move(attributes));
        polled_records_.created(cq);
        return cq;
    }
    completion::CqeWriter& cqe_writer() { return cqe_writer_; }
    void destroy_cq(abi::Cqn cqn) {
        contexts_.forget(cqn);
        polled_records_.destroyed(cqn);
        lifecycle_.destroy_cq(cqn);
    }
    queue::SharedReceiveQueue& create_srq(std::uint32_t number, queue::SharedReceiveQueueAttributes attributes) {
        contexts_.created_receive_queue(number);
        return lifecycle_.create_srq(number, std::move(attributes));
    }
    void destroy_srq(std::uint32_t number, port::Time at) {
        contexts_.forget_receive_queue(number);
        lifecycle_.destroy_srq(number, at);
    }
    queue::QueuePair& create_qp(abi::Qpn qpn, queue::QueuePairAttributes attributes) {
        contexts_.created(qpn);
        return lives_.create(qpn, std::move(attributes));
    }
    void destroy_qp(abi::Qpn qpn) {
        contexts_.forget(qpn);
        polled_records_.destroyed(qpn);
        lives_.destroy(qpn);
    }
    void modify_qp(queue::QueuePair& qp, const queue::QueuePairAttributes& attributes, queue::QpState to, port::Time at,
                   bool brings_path = false);
    /// To be called when a command names the queue pair. In the error state the device then looks for receive WQEs,
    /// since no doorbell announces them.
    void look_for_receives(queue::QueuePair& qp, port::Time at) { failure_.look_again(qp, at); }
    /// Software has answered a page fault event of this queue pair: the access that waited goes on, or fails. Has no
    /// effect when nothing waits any more, as after an error.
    void resume(queue::QueuePair& qp, abi::prm::PageFaultType type, bool is_error, port::Time at);
    /// To be called when an event queue has gone. When no queue takes page faults any more, nobody will answer the
    /// accesses that wait, so they fail.
    void stop_paging(port::Time at);
    /// Remote atomics act on 8-byte values in host (little endian) order instead of big endian
    /// (atomic capability, atomic_req_8B_endianness_mode).
    void set_atomic_host_order(bool host_order) {
        responder_.set_host_order(host_order);
        requester_.set_host_order(host_order);
    }

    /// Who looks at doorbell records in the place of doorbells; nullptr: nobody does.
    void set_doorbell_watch(port::DoorbellWatch* watch) { polled_records_.set_watch(watch); }

    /// Forgets every object: TEARDOWN_HCA, function-level reset.
    void reset();

private:
    void ring(const doorbell::Doorbell& rung, std::uint32_t uar, port::Time at);
    void ring(const std::optional<doorbell::Bursts::Rung>& rung, port::Time at) {
        if (rung) [[unlikely]]
            send_doorbells_.ring(rung->ring, rung->page, at);
    }
    void on_deadline(queue::QueuePair& qp, port::Time now);

    HcaConfig config_;
    Ports ports_;
    traces::Events events_;
    Counters counters_;
    Report report_{counters_, events_};
    event::EventQueues event_queues_;
    Objects objects_; ///< completion queues refer to event queues
    icm::ContextMemory contexts_;
    tpt::Translator translator_;
    memory::ApplicationMemory memory_;
    address::Identity identity_;
    egress::Outlets outlets_;
    queue::Timers timers_;
    queue::Scheduler scheduler_;
    completion::CqeWriter cqe_writer_;
    completion::WorkCompletions completions_;
    egress::Outbox outbox_;
    completion::Failure failure_;
    umr::Umr umr_;
    paging::PageFaults page_faults_;
    requester::Requester requester_;
    responder::Responder responder_;
    responder::DatagramResponder datagram_;
    subnet::ManagementPort management_;
    ingress::Ingress ingress_;
    Pipe receive_pipe_;
    dispatch::Turns turns_;
    lifecycle::Lifecycle lifecycle_;
    lifecycle::QueuePairs lives_;
    doorbell::Uar uar_;
    doorbell::Bursts bursts_;
    dispatch::PolledRecords polled_records_;
    dispatch::SendDoorbells send_doorbells_;
    dispatch::CqDoorbells cq_doorbells_;
};

} // namespace model::hca
