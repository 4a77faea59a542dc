// A machine with simple cards, for module tests of the PCIe neighbourhood: a card's BAR 0 is registers that keep what
// is written, BAR 2 (64 bits, prefetchable) is plain memory, and the vendor-specific capability leads to the registers
// again.
#pragma once

#include "model/pcie/endpoint_module.h"
#include "platform/host/host.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <systemc>
#include <vector>

namespace testbench {

struct ScratchFunction final : model::pcie::Function, model::port::RegisterSpaces {
    static constexpr unsigned register_bar = 0, memory_bar = 2;
    static constexpr std::uint64_t aborting_register = 0x8000; ///< reads of it end with Completer Abort

    std::vector<std::byte> registers = std::vector<std::byte>(0x10000);
    std::vector<std::byte> memory = std::vector<std::byte>(1 << 20);
    model::port::Time last_write{}, last_read{};
    unsigned writes = 0, resets = 0;
    std::function<void(unsigned bar, std::uint64_t offset)> on_write; ///< what the card does because of it

    model::port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into,
                                    model::port::Time at) override {
        last_read = at;
        if (bar == register_bar && offset == aborting_register)
            return {model::port::DmaStatus::completer_abort, at};
        const auto& from = bar == register_bar ? registers : memory;
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return {model::port::DmaStatus::ok, at};
    }
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, model::port::Time at) override {
        auto& to = bar == register_bar ? registers : memory;
        std::ranges::copy(from, to.begin() + static_cast<std::ptrdiff_t>(offset));
        last_write = at;
        ++writes;
        if (on_write)
            on_write(bar, offset);
    }
    std::span<std::byte> direct(unsigned bar, std::uint64_t offset) override {
        return bar == memory_bar ? std::span(memory).subspan(offset) : std::span<std::byte>{};
    }
    void reset(model::port::Time) override { ++resets; }

    model::port::RegisterSpaces* spaces() override { return this; }
    std::uint32_t size(Space space) const override {
        return space == Space::cr || space == Space::scan_cr ? static_cast<std::uint32_t>(registers.size()) : 0;
    }
    std::optional<std::uint32_t> read(Space, std::uint32_t address, model::port::Time) override {
        if (address % 4 != 0)
            return {};
        return abi::load<std::uint32_t, abi::Endian::little>(&registers.at(address));
    }
    bool write(Space, std::uint32_t address, std::uint32_t value) override {
        if (address % 4 == 0)
            abi::store<std::uint32_t, abi::Endian::little>(&registers.at(address), value);
        return address % 4 == 0;
    }
    std::optional<std::uint32_t> next(Space space, std::uint32_t address) const override {
        return space == Space::scan_cr ? std::optional(address + 4) : std::nullopt;
    }

    struct PageAnswer {
        std::uint16_t group;
        std::uint8_t code;
        bool operator==(const PageAnswer&) const = default;
    };
    std::vector<PageAnswer> page_answers;
    void page_answered(std::uint16_t group, std::uint8_t code, model::port::Time) override {
        page_answers.push_back({group, code});
    }

    static model::pcie::FunctionConfig config(std::uint16_t device_id, const model::pcie::AtsConfig& ats = {}) {
        model::pcie::FunctionConfig function;
        function.identity = {.vendor_id = 0x1234, .device_id = device_id, .class_code = 0x088000};
        function.bars[register_bar] = {.size = 0x10000};
        function.bars[memory_bar] = {.size = 1 << 20, .is_64bit = true, .is_prefetchable = true};
        function.msix_vectors = 8;
        function.has_gateway = true;
        function.ats = ats;
        return function;
    }
};

struct ScratchCard final : private traces::Sink {
    ScratchFunction function;
    model::pcie::EndpointModule endpoint;
    std::vector<traces::WriteLost> lost; ///< writes that were silently dropped, as the function sees it
    ScratchCard(const char* name, std::uint16_t device_id, const model::pcie::AtsConfig& ats = {})
        : endpoint(name, ScratchFunction::config(device_id, ats), function) {
        endpoint.set_events({this, 0});
    }
    /// What has become of a write with this result: what the function refused itself, or how it was lost.
    model::port::DmaStatus fate(const model::port::DmaResult& result) {
        const auto fate =
            result.is_ok() && !lost.empty() ? static_cast<model::port::DmaStatus>(lost.front().status) : result.status;
        lost.clear();
        return fate;
    }

private:
    void on(const traces::Stamp&, const traces::Event& event) override {
        if (const auto* write = std::get_if<traces::WriteLost>(&event))
            lost.push_back(*write);
    }
};

/// Two cards (devices 1 and 2) in the switch's slots of one host.
struct PcieMachine {
    platform::host::Host host;
    ScratchCard first, second;

    explicit PcieMachine(bool timed = false, platform::host::HostConfig config = {},
                         const model::pcie::AtsConfig& ats = {})
        : host("host", (config.timed = timed, config)), first("first", 1, ats), second("second", 2, ats) {
        host.plug(0, first.endpoint);
        host.plug(1, second.endpoint);
    }
    const platform::host::FunctionFound& found(std::uint16_t device_id) const {
        return *host.enumeration().find(0x1234, device_id);
    }
    std::uint64_t bar(std::uint16_t device_id, unsigned number) const { return found(device_id).bars[number].address; }
    /// What a driver does first.
    void enable_master(std::uint16_t device_id, bool is_enabled = true) {
        host.root_complex().config_write(found(device_id).bdf, 4, 2, is_enabled ? 0x6 : 0x2, {});
    }
};

/// Runs `body` as a thread of the simulated host until it returns.
class Thread final : public sc_core::sc_module {
public:
    Thread(sc_core::sc_module_name name, std::function<void()> body) : sc_module(name), body_(std::move(body)) {
        SC_HAS_PROCESS(Thread);
        SC_THREAD(run);
    }
    bool is_finished() const { return is_finished_; }

private:
    void run() {
        body_();
        is_finished_ = true;
    }
    std::function<void()> body_;
    bool is_finished_ = false;
};

} // namespace testbench
