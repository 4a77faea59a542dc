// Traps (IBA 13.4.9, 14.2.5.1): the port reports to its subnet manager, and repeats a report until the manager
// represses it. Receives what went wrong; sends datagrams from QP0 to the LID of the manager. One trap of each kind is
// under way at a time and reports the first offence; later ones are only counted until the manager has answered.
#pragma once

#include "abi/wire/mad.h"
#include "model/hca/hca.h"
#include "model/management/agent.h"
#include "model/management/port_info.h"
#include "model/port/clock.h"

#include <array>
#include <cstdint>
#include <span>

namespace firmware::management {

class Traps {
public:
    using Mad = std::span<const std::byte, abi::wire::mad_bytes>;

    /// `port` and `hca` outlive the traps; `has_manager`: somebody manages the subnet.
    Traps(model::hca::Hca& hca, const model::management::ManagedPort& port, bool has_manager)
        : hca_(hca), port_(port), has_manager_(has_manager) {}

    /// Who wakes; nullptr: nobody, and nothing is sent twice.
    void set_clock(model::port::Clock* clock) { clock_ = clock; }
    /// A subnet management packet without the port's M_Key.
    void bad_m_key(Mad request, model::port::Time at);
    void bad_key(model::management::Agent::BadKey what, const model::port::Packet& packet, model::port::Time at);
    /// Whether this is a TrapRepress; the trap it names ends.
    bool repress(Mad mad);
    /// Time asked for by Clock::wake_at has come.
    void wake(model::port::Time now);
    void reset();

private:
    static constexpr std::uint16_t first_number = abi::wire::bad_m_key_trap;
    /// After so many traps without an answer the port gives up.
    static constexpr unsigned most_sendings = 16;
    struct Trap {
        abi::Block<abi::wire::Notice> notice;
        std::uint64_t transaction = 0;
        unsigned sendings_left = 0; ///< 0: none is under way
        model::port::Time due{};    ///< the next one, also of the next trap of this kind
    };
    Trap* begin(std::uint16_t number, model::port::Time at);
    void send(Trap& trap, model::port::Time at);

    model::hca::Hca& hca_;
    const model::management::ManagedPort& port_;
    bool has_manager_;
    model::port::Clock* clock_ = nullptr;
    std::uint64_t transactions_ = 0;
    std::array<Trap, 3> traps_; ///< by number, from first_number on
};

} // namespace firmware::management
