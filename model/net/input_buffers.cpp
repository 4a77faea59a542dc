#include "model/net/input_buffers.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace model::net {

namespace {
/// Makes another block of slots and chains them by `link`.
template <class T> T* make_slots(std::vector<std::unique_ptr<T[]>>& blocks, std::size_t count, T* T::* link) {
    auto& block = blocks.emplace_back(std::make_unique<T[]>(count));
    for (std::size_t i = 0; i + 1 < count; ++i)
        block[i].*link = &block[i + 1];
    return &block[0];
}
} // namespace

void InputBuffers::keep(Stay*& stay, const Stay& what, unsigned output, const port::Packet& packet, port::Time at) {
    if (stay == nullptr) {
        if (free_stays_ == nullptr)
            free_stays_ = make_slots(stays_, at_once, &Stay::next_free);
        stay = std::exchange(free_stays_, free_stays_->next_free);
        *stay = what;
        inputs_[what.ingress].taken += what.blocks;
    }
    if (free_packets_ == nullptr)
        free_packets_ = make_slots(packets_, at_once, &Waiting::next);
    auto& slot = *std::exchange(free_packets_, free_packets_->next);
    slot.packet = packet;
    slot.at = at;
    slot.stay = stay;
    slot.next = nullptr;
    ++stay->copies;
    auto& waiting = queue(what.ingress, output);
    (waiting.first == nullptr ? waiting.first : waiting.last->next) = &slot;
    waiting.last = &slot;
    ++outputs_[output].waiting;
    ++count_;
}

InputBuffers::Waiting& InputBuffers::take(unsigned output) {
    auto& from = outputs_[output];
    assert(from.waiting != 0 && "a packet waits for this output");
    do
        from.last = from.last + 1 < inputs_.size() ? from.last + 1 : 0;
    while (queue(from.last, output).first == nullptr);
    auto& waiting = queue(from.last, output);
    --from.waiting;
    --count_;
    return *std::exchange(waiting.first, waiting.first->next);
}

const Stay* InputBuffers::done(Waiting& packet, port::Time gone) {
    auto& stay = *packet.stay;
    packet.packet.payload.clear(); // what it was lent goes back now, and not only when the slot is used again
    packet.next = std::exchange(free_packets_, &packet);
    stay.gone = std::max(stay.gone, gone);
    if (--stay.copies != 0)
        return nullptr;
    inputs_[stay.ingress].taken -= stay.blocks;
    stay.next_free = std::exchange(free_stays_, &stay);
    return &stay;
}

} // namespace model::net
