// Says what went wrong in the terms of somebody who writes a driver: a paragraph for each refused command, error
// completion, NAK, queue pair in error, refused key, ignored doorbell, dropped packet, failed DMA, remapping fault,
// request that a port blocks, access by a stale mapping, and each command and doorbell that an NVMe controller refuses
// or fails of, with the object, the decoded input, the rule, its chapter and the likely cause (explanations.h). Reads
// events only. What belongs together is one paragraph; what repeats is counted, of each driver that
// begins with the device anew.
#pragma once

#include "platform/observe/diagnostics/paragraphs.h"
#include "platform/observe/event.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace platform::observe::diagnostics {

class Explain final : public traces::Sink {
public:
    Explain(files::Output output, const Sources& sources) : sources_(sources), out_(std::move(output), sources) {}
    /// Writes to `file`, which stays the caller's.
    Explain(std::FILE* file, const Sources& sources) : Explain(files::Output::borrow(file), sources) {}
    ~Explain() override;
    Explain(const Explain&) = delete;
    Explain& operator=(const Explain&) = delete;

    void on(const traces::Stamp& stamp, const traces::Event& event) override;
    /// Prints what still waits for something that belongs to it: nothing of the kind is under way.
    void print_waiting();
    /// After the last event: prints the same, and how often what repeated was left out.
    files::Output::Outcome finish();

private:
    struct Refusal { ///< a key refused: the work request that it fails may come later
        traces::Stamp stamp;
        traces::Refused event;
        bool is_fresh = true; ///< nothing else was begun since
    };
    struct Incident {          ///< one failure of a queue pair, as far as it is known
        traces::Stamp stamp{}; ///< of its first event
        std::uint32_t qpn = 0;
        std::optional<traces::Refused> refused;
        std::optional<traces::KeyChangeRefused> key_change;
        std::optional<traces::Naked> naked;
        std::optional<traces::CompletionFailed> failed;
        std::optional<traces::QueueStateChanged> state;
        std::optional<std::uint8_t> asynchronous;   ///< type of its event queue entry
        std::optional<traces::RetryReason> retried; ///< why the requester went back before
        std::string dma;                            ///< the access that the bus refused
        std::uint64_t flushed = 0;
    };
    struct Device { ///< what is known of one component
        std::vector<Refusal> refusals;
        traces::Stamp dma_stamp{};
        std::string dma; ///< the last access that the bus refused, if nothing has explained it yet
        model::port::DmaStatus dma_status{};
        std::optional<traces::Retried> retried;
        traces::EventWritten asynchronous{};
        traces::DoorbellRung rung{};         ///< the last one
        std::array<std::byte, 1024> input{}; ///< of the command that is refused next
        std::size_t input_bytes = 0;
    };

    template <class E> void take(const traces::Stamp&, Device&, const E&) {}
    void take(const traces::Stamp& stamp, Device& device, const traces::Refused& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::KeyChangeRefused& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::Naked& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::CompletionFailed& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::CompletionWritten& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::CompletionOverrun& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::EventLost& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::QueueStateChanged& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::Retried& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::EventWritten& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::DoorbellIgnored& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::PacketDropped& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::FrameDropped& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::DmaRead& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::DmaWritten& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::CommandInput& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::CommandExecuted& event);

    void take(const traces::Stamp& stamp, Device& device, const traces::RemappingFault& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::InvalidationStopped& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::RequestBlocked& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::StaleAccess& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::WriteLost& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::NvmeCommandRefused& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::NvmeDoorbellIgnored& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::NvmeStateChanged& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::NvmeFailed& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::DoorbellRung& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::WqeFetched& event);
    void take(const traces::Stamp& stamp, Device& device, const traces::PacketReceived& event);

    Device& device(std::uint16_t source);
    void print_rest();
    std::string take_dma(Device& device);
    void go_on(const traces::Stamp& stamp, Device& device);
    void begin_anew(const traces::Stamp& stamp, Device& device);
    Incident* find(std::uint16_t source, std::uint32_t qpn);
    Incident& open(const traces::Stamp& stamp, const Device& device, std::uint32_t qpn);
    void fail_dma(const traces::Stamp& stamp, Device& device, std::string_view what, std::uint64_t address,
                  std::uint64_t length, std::uint8_t status);
    void close(std::size_t count);
    void print(const Incident& incident);
    void print(const Refusal& refusal);
    void print_dma(Device& device);

    const Sources& sources_;
    Paragraphs out_;
    std::map<std::string, Device, std::less<>> devices_;
    std::vector<Device*> by_source_;                                            ///< into devices_
    std::vector<Incident> incidents_;                                           ///< open ones, the oldest first
    std::map<std::pair<std::uint16_t, std::uint32_t>, std::uint64_t> in_error_; ///< flushed later, by queue pair
};

} // namespace platform::observe::diagnostics
