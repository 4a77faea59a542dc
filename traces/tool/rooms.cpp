#include "traces/tool/rooms.h"

#include <algorithm>
#include <array>
#include <variant>

namespace traces::tool {

namespace {

struct Room {
    std::string_view name;
    bool (*says)(const Event&);
};
template <class... Es> bool is_any(const Event& event) { return (std::holds_alternative<Es>(event) || ...); }

constexpr std::array rooms{
    Room{"doorbells", is_any<DoorbellRung, DoorbellIgnored, CompletionArmed>},
    Room{"scheduler and queues", is_any<QueueScheduled, WqeFetched, QueueStateChanged>},
    Room{"translation and keys", is_any<Translated, Refused, KeyChanged, KeyChangeRefused, KeyInvalidated>},
    Room{"DMA", is_any<DmaRead, DmaWritten, WriteLost, StaleAccess>},
    Room{"packets", is_any<PacketSent, PacketReceived, PacketDropped, FrameDropped>},
    Room{"requester and responder", is_any<Accepted, Duplicate, Naked, Acknowledged, Retried>},
    Room{"completions", is_any<CompletionWritten, CompletionOverrun, CompletionFailed>},
    Room{"events and interrupts", is_any<EventWritten, EventLost, InterruptRaised>},
    Room{"commands", is_any<CommandExecuted, CommandInput>},
    Room{"remapping and paging",
         is_any<RemappingFault, InvalidationStopped, RequestBlocked, PageFaulted, PageFaultAnswered>},
    Room{"network", is_any<LinkFault, PacketForwarded>},
    Room{"NVMe", is_any<NvmeDoorbellRung, NvmeDoorbellIgnored, NvmeCommandFetched, NvmeCommandRefused,
                        NvmeCommandCompleted, NvmeStateChanged, NvmeFailed, NvmeNamespaceChanged, NvmeEventReported>},
    Room{"others", [](const Event&) { return true; }},
};

} // namespace

std::size_t room_of(const Event& event) {
    return static_cast<std::size_t>(std::ranges::find_if(rooms, [&](const Room& room) { return room.says(event); }) -
                                    rooms.begin());
}
std::string_view room_name(std::size_t room) { return rooms.at(room).name; }

} // namespace traces::tool
