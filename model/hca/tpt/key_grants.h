// Memory keys as grants (model/port/grant.h): which pages were entered into which key, and by which key a translation
// lets the accesses behind it pass. For a watch; it is told by the table of keys and by the events of translations.
#pragma once

#include "model/hca/tpt/mkey_table.h"
#include "model/port/grant.h"
#include "traces/events.h"

#include <vector>

namespace model::hca::tpt {

class KeyGrants final : public MkeyWatch, public traces::Sink {
public:
    /// source  of the events of the translations
    KeyGrants(MkeyTable& keys, port::GrantWatch& watch, std::uint16_t source)
        : keys_(keys), watch_(watch), source_(source) {
        keys_.set_watch(this);
    }
    KeyGrants(const KeyGrants&) = delete;
    KeyGrants& operator=(const KeyGrants&) = delete;

    // MkeyWatch
    void key_mapped(const Mkey& mkey, std::uint64_t first, std::uint64_t count) override;
    // Sink
    void on(const traces::Stamp& stamp, const traces::Event& event) override;

private:
    void add(std::uint32_t index, std::uint64_t address, std::uint64_t length, unsigned depth);

    MkeyTable& keys_;
    port::GrantWatch& watch_;
    std::uint16_t source_;
    port::Grant grant_; ///< that of the request, whatever keys are behind it
    std::vector<port::Allowance> allowances_;
};

} // namespace model::hca::tpt
