// How long packets that ask for an answer wait for it, by the card's own clock: from when the last bit has left until
// the answer is there. Of a packet that was sent twice nobody knows which copy was answered, so that one is not
// measured (Karn, Partridge, "Improving Round-Trip Time Estimates in Reliable Transport Protocols", SIGCOMM 1987). The
// time that the peer takes is part of it: an AETH says nothing of that.
#pragma once

#include "abi/types.h"
#include "model/port/time.h"

#include <array>
#include <cstddef>
#include <optional>

namespace model::hca::congestion {

class RoundTrips {
public:
    /// A packet that asks for an answer has left. `psn`: the first number that an answer to it has; `last`: the last
    /// one, which is another for a READ.
    void asked(abi::Psn psn, abi::Psn last, bool is_repeated, port::Time gone) {
        if (!has_asked_ || last.is_after(last_asked_))
            last_asked_ = last;
        has_asked_ = true;
        if (is_repeated || end_ - begin_ == under_way_.size())
            return; // one that finds no room is answered as well as the others, and not measured
        under_way_[end_++ % under_way_.size()] = {psn, gone};
    }
    /// An answer of this number, after repeat_from() where it is a refusal. Returns the round trip of the packet that
    /// it answers.
    std::optional<port::Time> answered(abi::Psn psn, port::Time at) {
        while (begin_ != end_) {
            const auto& oldest = under_way_[begin_ % under_way_.size()];
            if (oldest.psn.is_after(psn))
                break;
            const bool is_it = oldest.psn == psn;
            const auto span = at - oldest.gone;
            ++begin_;
            if (is_it)
                return span;
        }
        return std::nullopt;
    }
    /// From packet `psn` on everything is sent again.
    void repeat_from(abi::Psn psn) {
        while (begin_ != end_ && !under_way_[(end_ - 1) % under_way_.size()].psn.is_before(psn))
            --end_;
        has_asked_ = false;
    }
    /// Whether an answer is still to come, when everything before `oldest` is answered.
    bool is_waiting(abi::Psn oldest) const { return has_asked_ && !last_asked_.is_before(oldest); }

private:
    struct Asked {
        abi::Psn psn{};
        port::Time gone{};
    };
    std::array<Asked, 32> under_way_{}; ///< a ring, in the order of their numbers
    std::size_t begin_ = 0, end_ = 0;
    abi::Psn last_asked_{};
    bool has_asked_ = false; ///< since everything was sent again last
};

} // namespace model::hca::congestion
