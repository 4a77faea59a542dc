// Where the packets of a switch wait for the port by which they leave: in the buffer of the port by which they came in.
// Each buffer has a queue for every output, as switch chips do (virtual output queueing), so that a packet waits for
// its own output alone, until those that wait for another one have filled the buffer. An output takes from the inputs
// in turn. Knows no cables and no credits.
#pragma once

#include "model/port/packet.h"
#include "model/port/time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace model::net {

/// What a packet takes of the buffer of its input until the last copy of it has left.
struct Stay {
    unsigned ingress = 0;
    std::uint64_t bytes = 0;  ///< of which the sender has to be told when they are free; 0: it was not asked to wait
    std::uint32_t blocks = 0; ///< of the buffer
    unsigned copies = 0;      ///< that wait
    port::Time gone{};        ///< when the last of the others is out
    Stay* next_free = nullptr;
};

class InputBuffers {
public:
    struct Waiting {
        port::Packet packet;
        port::Time at{}; ///< it can leave from then on
        Stay* stay = nullptr;
        Waiting* next = nullptr;
    };

    /// `inputs`: also the number of outputs; both are counted from 0.
    explicit InputBuffers(unsigned inputs) : inputs_(inputs), outputs_(inputs), queues_(std::size_t{inputs} * inputs) {}

    void set_size(unsigned input, std::uint32_t blocks) { inputs_[input].size = blocks; }
    bool has_room(unsigned input, std::uint32_t blocks) const {
        return inputs_[input].taken + blocks <= inputs_[input].size;
    }
    std::size_t waiting_for(unsigned output) const { return outputs_[output].waiting; }
    bool is_waiting_for(unsigned output) const { return outputs_[output].waiting != 0; }
    std::size_t count() const { return count_; }

    /// Has a copy of `packet` wait for `output`. `stay` becomes that of the buffer with the first copy.
    void keep(Stay*& stay, const Stay& what, unsigned output, const port::Packet& packet, port::Time at);
    /// The next packet for `output`, for which one waits: from the inputs in turn. To be given back by done().
    Waiting& take(unsigned output);
    /// The packet has left, its last bit at `gone`. Returns its stay if it was the last copy: the room is free again,
    /// and what is returned is valid until the next keep().
    const Stay* done(Waiting& packet, port::Time gone);

private:
    struct Input {
        std::uint32_t size = 0, taken = 0; ///< blocks
    };
    struct Output {
        std::size_t waiting = 0;
        unsigned last = 0; ///< input
    };
    struct Queue {
        Waiting *first = nullptr, *last = nullptr;
    };
    static constexpr std::size_t at_once = 64; ///< slots that are made

    Queue& queue(unsigned input, unsigned output) { return queues_[std::size_t{output} * inputs_.size() + input]; }

    std::vector<Input> inputs_;
    std::vector<Output> outputs_;
    std::vector<Queue> queues_;
    std::size_t count_ = 0;
    Waiting* free_packets_ = nullptr;
    Stay* free_stays_ = nullptr;
    std::vector<std::unique_ptr<Waiting[]>> packets_;
    std::vector<std::unique_ptr<Stay[]>> stays_;
};

} // namespace model::net
