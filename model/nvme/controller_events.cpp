// What a controller says of itself: at its door, in its error log, and by events to a host that asked for them.
#include "model/nvme/controller.h"

namespace model::nvme {

using port::Time;

std::uint64_t Controller::emit_fetched(std::uint16_t sqid, abi::ConstView<abi::nvme::Command> command, Time at) const {
    if (!events_.is_on()) [[likely]]
        return 0;
    return events_.emit(
        at, traces::NvmeCommandFetched{sqid, command.get<"cid">(), command.get<"opcode">(), command.get<"nsid">()});
}

/// The whole command goes with the event: nobody else has it any more.
void Controller::explain(std::uint16_t sqid, abi::ConstView<abi::nvme::Command> command, const Outcome& outcome,
                         Time at) const {
    if (!events_.is_on())
        return;
    const auto bytes = command.bytes();
    const auto qword = [&](std::size_t offset) {
        return abi::load<std::uint64_t, abi::Endian::little>(bytes.data() + offset);
    };
    events_.emit(at, traces::NvmeCommandRefused{.sqid = sqid,
                                                .cid = command.get<"cid">(),
                                                .opcode = command.get<"opcode">(),
                                                .flags = std::to_integer<std::uint8_t>(bytes[1]),
                                                .nsid = command.get<"nsid">(),
                                                .metadata = command.get<"mptr">(),
                                                .prp1 = command.get<"prp1">(),
                                                .prp2 = command.get<"prp2">(),
                                                .dwords_2_3 = qword(8),
                                                .dwords_10_11 = qword(40),
                                                .dwords_12_13 = qword(48),
                                                .dwords_14_15 = qword(56),
                                                .status = static_cast<std::uint16_t>(outcome.status),
                                                .parameter = outcome.parameter,
                                                .lba = outcome.lba});
}

/// Nothing goes on until a reset. If the admin queue still takes it, a host that waits for events is told first.
void Controller::fatal(traces::ControllerFailure why, std::uint64_t address, Time at) {
    if (state_ == State::failed)
        return;
    const bool was_running = state_ == State::running;
    state_ = State::failed;
    registers().set<"cfs">(true);
    const traces::Cause cause(events_, events_.emit(at, traces::NvmeFailed{why, address}));
    events_.emit(at, traces::NvmeStateChanged{"failed"});
    if (!was_running)
        return;
    admin_.events().note(abi::nvme::EventType::error, abi::nvme::ErrorEvent::persistent_internal,
                         abi::nvme::LogPage::error);
    if (const auto event = admin_.events().next()) {
        queues_.post({.sqid = 0, .cid = event->first, .dw0 = event->second}, at);
        queues_.raise(at);
    }
}

/// The controller goes on. A host that has asked for events is told, and the error log says more.
void Controller::bad_doorbell(const Doorbell& doorbell, traces::DoorbellMistake why, Time at) {
    events_.emit(at, traces::NvmeDoorbellIgnored{static_cast<std::uint16_t>(doorbell.queue), doorbell.is_completion,
                                                 doorbell.value, why});
    constexpr traces::DoorbellMistake no_queue = "no such queue";
    health_.note_no_command();
    admin_.events().note(abi::nvme::EventType::error,
                         why == no_queue ? abi::nvme::ErrorEvent::invalid_doorbell_register
                                         : abi::nvme::ErrorEvent::invalid_doorbell_value,
                         abi::nvme::LogPage::error);
}

} // namespace model::nvme
