// How objects begin, change and end (PRM "Object management"). A new object gets references to the objects that its
// attributes name, where these exist (model/hca/counted.h); before one is destroyed, every room forgets it. Receives
// attributes that the firmware has checked. No object is destroyed before those that refer to it.
#pragma once

#include "model/hca/completion/cqe_writer.h"
#include "model/hca/completion/failure.h"
#include "model/hca/event/event_queue.h"
#include "model/hca/objects.h"
#include "model/hca/tpt/translate.h"

#include <cstdint>
#include <vector>

namespace model::hca::lifecycle {

class Lifecycle {
public:
    Lifecycle(Objects& objects, const event::EventQueues& event_queues, tpt::Translator& translator,
              completion::CqeWriter& cqe_writer, completion::Failure& failure)
        : objects_(objects), event_queues_(event_queues), translator_(translator), cqe_writer_(cqe_writer),
          failure_(failure) {}

    tpt::Mkey& create_mkey(std::uint32_t index, tpt::MkeyAttributes attributes, std::vector<std::uint64_t> mtt);
    void destroy_mkey(std::uint32_t index);
    queue::CompletionQueue& create_cq(abi::Cqn cqn, queue::CompletionQueueAttributes attributes);
    void destroy_cq(abi::Cqn cqn);
    queue::SharedReceiveQueue& create_srq(std::uint32_t number, queue::SharedReceiveQueueAttributes attributes);
    void destroy_srq(std::uint32_t number, port::Time at);

private:
    Objects& objects_;
    const event::EventQueues& event_queues_;
    tpt::Translator& translator_;
    completion::CqeWriter& cqe_writer_;
    completion::Failure& failure_;
};

} // namespace model::hca::lifecycle
