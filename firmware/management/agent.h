// The management agents of the device (IBA chapters 14 and 16): take a datagram that software hands over with MAD_IFC, answer
// it, and carry out what a subnet manager sets. Datagrams on the wire come to software first, by QP0 and QP1.
#pragma once

#include "abi/wire/mad.h"
#include "firmware/state.h"

#include <cstddef>
#include <span>

namespace firmware::management {

using Mad = std::span<const std::byte, abi::wire::mad_bytes>;
using Answer = std::span<std::byte, abi::wire::mad_bytes>;

struct Keys {
    bool ignore_m_key = false;
};

/// Answers `request`; `answer` starts as a copy of it. What is not known gets the status of IBA 13.4.7.
/// False: the request is thrown away without an answer (a wrong M_Key, IBA 14.2.4.3).
bool process(State& state, Mad request, Answer answer, const Keys& keys, model::port::Time at);

/// The attributes of the subnet management agent, one row each, in agents of their own.
abi::wire::MadStatus subnet(State& state, Mad request, Answer answer, model::port::Time at);
abi::wire::MadStatus performance(State& state, Mad request, Answer answer);

} // namespace firmware::management
