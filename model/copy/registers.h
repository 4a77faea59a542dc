// Registers of the copy engine, at the begin of BAR 0. There is no specification: this is it.
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

namespace model::copy {

// clang-format off
#define MODEL_COPY_STATES(X)                                        \
    X(idle,   0, "nothing has been asked for since the reset")      \
    X(busy,   1, "a copy is under way")                             \
    X(done,   2, "the last copy has ended well")                    \
    X(failed, 3, "the last copy ended early, see copied")
ABI_NAMED_ENUM(State, std::uint32_t, MODEL_COPY_STATES)
#undef MODEL_COPY_STATES

using Registers = abi::LittleLayout<"copy_engine", 0x28,
    abi::U64 <"source",      0x00>,              // bus address
    abi::U64 <"destination", 0x08>,              // bus address
    abi::U32 <"length",      0x10>,              // bytes
    abi::U32 <"doorbell",    0x14>,              // any write starts a copy, unless one is under way; reads as zero
    abi::Bits<"state",       0x18, 1, 0, State>, // read only, as everything below
    abi::U32 <"copied",      0x1c>,              // bytes of the last copy that were read and sent
    abi::U64 <"copies",      0x20>>;             // that have ended since the reset
// clang-format on

/// Its only vector: a copy has ended.
inline constexpr std::uint16_t copy_ended = 0;

} // namespace model::copy
