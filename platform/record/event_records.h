// What the rooms of the model say, as records among those of the boundaries. An event's cause is the record of the
// event that its stamp names, or the call of a device in whose course it happened.
#pragma once

#include "platform/record/journal.h"
#include "traces/events.h"

#include <array>
#include <memory>
#include <vector>

namespace platform::record {

class EventRecords final : public traces::Sink {
public:
    EventRecords(Journal& journal, std::uint32_t interface)
        : journal_(journal), interface_(interface), known_(std::make_unique<Known>()) {}
    void on(const traces::Stamp& stamp, const traces::Event& event) override;

private:
    /// The newest events by their numbers. Of a cause that is further back the call is known, and the stamp itself.
    struct Place {
        std::uint64_t event = 0;
        RecordNumber record = 0;
    };
    using Known = std::array<Place, 1 << 16>;

    Journal& journal_;
    std::uint32_t interface_;
    std::unique_ptr<Known> known_;
    std::vector<std::byte> bytes_;
};

} // namespace platform::record
