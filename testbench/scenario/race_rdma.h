// Races of RDMA: transfers between the HCAs of two hosts, one of which has registered memory that goes away. The rows
// of its tables, as far as race_run.cpp asks for one by itself.
#pragma once

#include "model/port/payload.h"
#include "sw/mlx/verbs.h"
#include "testbench/scenario/race.h"

#include <optional>

namespace scenario::race {

class Race;
struct Transfer;

struct RdmaOperation final : Operation {
    struct Facts {
        sw::mlx::SendOperation opcode{};
        bool to_responder = false, to_requester = false; ///< where it brings bytes
        bool needs_receive = false, is_atomic = false;
        /// Of the request, when the responder may not access its memory.
        sw::mlx::CompletionStatus refused{};
    };
    RdmaOperation(std::string_view name, const Facts& what) : Operation(name), facts(what) {}
    const Facts facts;
};

class RdmaAction : public Action {
public:
    using Action::Action;
    virtual ~RdmaAction() = default;
    virtual void perform(Race& race) const = 0;
    /// Whether the transfer has the end that this action may give it.
    virtual bool is_right(const Race& race, const Transfer& transfer) const = 0;
};

namespace rdma_rows {
// What a race asks of a setup by name.
extern const RdmaAction &revoke, &unmap, &flr, &release, &migrate, &death;
extern const Victim responder;
extern const Plant stale_key, missing_invalidation;
} // namespace rdma_rows

/// Which book a plant keeps from being drained; nothing: none.
std::optional<model::port::Giver> undrained(const Plant* plant);

/// As many transfers by the same key, each on a connection of its own, as the configuration has queue pairs, and no
/// fewer than there are importers.
const Subject& rdma();

} // namespace scenario::race
