// One command being executed: what it brings beside its input and output structures, and which objects it may name. To
// a user context the objects of others do not exist (PRM "User context"): a number of theirs is refused as an unknown
// one.
#pragma once

#include "firmware/objects/owners.h"
#include "firmware/state.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace firmware {

using objects::Kind;

class Scope {
public:
    Scope(State& state, std::uint16_t uid) : state_(&state), uid_(uid) {}

    std::uint16_t uid() const { return uid_; }
    /// The object with this number if it exists and this command may name it, or nullptr.
    UarPage* uar(std::uint32_t number) const { return seen(Kind::uar, number, state_->uars.find(number)); }
    model::hca::tpt::ProtectionDomain* pd(std::uint32_t number) const {
        return seen(Kind::pd, number, state_->hca.protection_domains().find(number));
    }
    TransportDomain* transport_domain(std::uint32_t number) const {
        return seen(Kind::transport_domain, number, state_->transport_domains.find(number));
    }
    XrcDomain* xrcd(std::uint32_t number) const { return seen(Kind::xrcd, number, state_->xrcds.find(number)); }
    model::hca::completion::CompletionQueue* cq(std::uint32_t number) const {
        return seen(Kind::cq, number, state_->hca.completion_queues().find(number));
    }
    model::hca::tpt::Mkey* mkey(std::uint32_t index) const {
        return seen(Kind::mkey, index, state_->hca.mkeys().find(index));
    }
    model::hca::queue::QueuePair* qp(std::uint32_t number) const {
        return seen(Kind::qp, number, state_->hca.queue_pairs().find(number));
    }
    model::hca::queue::SharedReceiveQueue* srq(std::uint32_t number) const {
        return seen(Kind::srq, number, state_->hca.shared_receive_queues().find(number));
    }
    model::hca::QCounters* counter_set(std::uint32_t number) const {
        return seen(Kind::counter_set, number, state_->hca.q_counters().find(number));
    }
    UserMemory* umem(std::uint32_t number) const { return seen(Kind::umem, number, state_->umems.find(number)); }

    /// Enters an object that this command made; `umems` are those it stands on, whose users it becomes.
    void own(Kind kind, std::uint32_t number, std::array<std::uint32_t, 2> umems = {}) const {
        for (const auto id : umems)
            if (id != 0)
                ++state_->umems.find(id)->users;
        state_->owners.add(kind, number, {.uid = uid_, .umems = umems});
    }
    /// The object is gone.
    void disown(Kind kind, std::uint32_t number) const {
        for (const auto id : state_->owners.remove(kind, number).umems)
            if (id != 0)
                --state_->umems.find(id)->users;
    }

private:
    template <class Object> Object* seen(Kind kind, std::uint32_t number, Object* found) const {
        return state_->owners.may_name(uid_, kind, number) ? found : nullptr;
    }

    State* state_;
    std::uint16_t uid_;
};

struct Call {
    abi::prm::Opcode opcode{};
    std::uint16_t op_mod = 0;
    model::port::Time at{};
    Scope scope;                     ///< which objects it may name
    std::span<const std::byte> tail; ///< input behind the structure
    std::span<std::byte> out_tail;   ///< output behind the structure, zeroed
};

} // namespace firmware
