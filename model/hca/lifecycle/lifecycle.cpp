#include "model/hca/lifecycle/lifecycle.h"

#include "model/hca/paging/page_faults.h"

#include <cassert>
#include <utility>

namespace model::hca::lifecycle {

using queue::QueuePair;

tpt::Mkey& Lifecycle::create_mkey(std::uint32_t index, tpt::MkeyAttributes attributes, std::vector<std::uint64_t> mtt) {
    auto& mkey = objects_.mkeys.create(index, std::move(attributes), std::move(mtt));
    translator_.created(index, mkey.mtt.size() + mkey.ranges.size() * 2);
    mkey.domain = Ref(objects_.protection_domains.find(mkey.attributes.pd.value));
    return mkey;
}

void Lifecycle::destroy_mkey(std::uint32_t index) {
    translator_.forget(index);
    objects_.mkeys.destroy(index);
}

queue::CompletionQueue& Lifecycle::create_cq(abi::Cqn cqn, queue::CompletionQueueAttributes attributes) {
    auto& cq = objects_.completion_queues.create(cqn.value, cqn, std::move(attributes));
    cq.eq = Ref(event_queues_.table().find(cq.attributes.eqn.value));
    return cq;
}

void Lifecycle::destroy_cq(abi::Cqn cqn) {
    auto* cq = objects_.completion_queues.find(cqn.value);
    assert(cq != nullptr);
    cqe_writer_.forget(*cq);
    objects_.completion_queues.destroy(cqn.value);
}

queue::SharedReceiveQueue& Lifecycle::create_srq(std::uint32_t number, queue::SharedReceiveQueueAttributes attributes) {
    auto& srq = objects_.shared_receive_queues.create(number, number, std::move(attributes));
    srq.domain = Ref(objects_.protection_domains.find(srq.attributes.pd.value));
    if (srq.attributes.is_xrc) {
        srq.xrc_domain = Ref(objects_.xrc_domains.find(srq.attributes.xrcd));
        srq.cq = Ref(objects_.completion_queues.find(srq.attributes.cqn.value));
    }
    return srq;
}

void Lifecycle::destroy_srq(std::uint32_t number, port::Time at) {
    auto* srq = objects_.shared_receive_queues.find(number);
    assert(srq != nullptr);
    // Requests of the XRC service may have named it without being attached to it.
    srq->takers.for_each([&](QueuePair& qp) {
        if (qp.paging.shared_queue == number)
            paging::PageFaults::answer(qp, abi::prm::PageFaultType::shared_receive);
        if (qp.responder.order.message != queue::OrderState::Message::none || qp.responder.receives.has_wqe)
            failure_.enter_error(qp, at);
        queue::take_from(qp, nullptr);
    });
    objects_.shared_receive_queues.destroy(number);
}

} // namespace model::hca::lifecycle
