// User-mode memory registration (PRM "UMR work request"): work requests that change a memory key while the data path
// runs. Drivers register memory with it, bind memory windows and invalidate keys (IBA 10.6.7, 11.4.4). Receives a UMR
// work request, or the key that a peer's SEND invalidates; changes the key, its translations and nothing else. All or
// nothing: a request that breaks a rule leaves the key as it was.
#pragma once

#include "model/hca/completion/local_error.h"
#include "model/hca/domains.h"
#include "model/hca/memory/application_memory.h"
#include "model/hca/object_table.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/tpt/mkey_table.h"
#include "model/hca/tpt/translate.h"
#include "traces/events.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>
#include <vector>

namespace model::hca::umr {

/// The rule that a request breaks, in the order in which the rules are checked.
enum class Fault : std::uint8_t {
    no_such_key,
    not_enabled,      ///< the key was made without umr_en
    wrong_pd,         ///< key and queue pair belong to different protection domains
    is_free,          ///< check_free
    is_not_free,      ///< check_not_free
    wrong_queue_pair, ///< check_qpn, or the key is bound to another queue pair
    not_privileged,   ///< without fast registration (fre) only keys that refer to other keys may be changed
    bad_mask,         ///< mkey_mask names a field that no UMR may change
    no_such_pd,       ///< the new protection domain does not exist
    bad_page_size,
    range_wraps,     ///< start_addr + len leaves the address space
    table_too_small, ///< translations go beyond translations_octword_size
    list_too_short,  ///< xlt_octowords is more than the list holds
};
traces::KeyChangeReason reason_of(Fault fault);
inline std::string_view to_string(Fault fault) { return reason_of(fault).text(); }

/// What a change of a key touches.
struct Keys {
    tpt::MkeyTable& table;
    const ObjectTable<ProtectionDomain>& domains; ///< that it may belong to
    tpt::Translator& translator;                  ///< whose caches forget it
};

class Umr {
public:
    Umr(const Keys& keys, memory::ApplicationMemory& memory, const traces::Events& events)
        : keys_(keys), memory_(memory), events_(events) {}

    /// Carries out `request`, whose opcode is umr; returns when the change is in force.
    std::expected<port::Time, completion::LocalError> execute(const queue::QueuePair& qp,
                                                              const queue::WorkRequest& request, port::Time at);
    /// A peer's SEND with invalidate (IBA 9.4.1.1.3): the key is free afterwards. False when the peer may not do that.
    bool invalidate(const queue::QueuePair& qp, abi::Key key, abi::Pd pd, port::Time at);

private:
    std::expected<port::Time, completion::LocalError>
    fetch_list(const queue::QueuePair& qp, const queue::WorkRequest& request, std::size_t bytes, port::Time at);
    void put(tpt::Mkey& mkey, tpt::MkeyAttributes attributes);
    void write_translations(tpt::Mkey& mkey, std::uint64_t first, std::span<const std::byte> list);

    Keys keys_;
    memory::ApplicationMemory& memory_;
    const traces::Events& events_;
    std::vector<std::byte> list_; ///< translations of the request at hand, at most 1 MiB
};

} // namespace model::hca::umr
