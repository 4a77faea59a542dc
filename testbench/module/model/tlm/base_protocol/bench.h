// A host with two devices whose insides are modules of TLM-2.0: an initiator (device 1) and a target (device 2, whose
// BAR 0 it is) in the slots of one switch.
#pragma once

#include "model/tlm/base_protocol/device.h"
#include "platform/host/host.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <systemc>
#include <tlm>
#include <vector>

namespace testbench {

using model::tlm::base_protocol::DeviceConfig;
using model::tlm::base_protocol::DeviceModule;

/// A memory that remembers how it was asked.
struct RecordingTarget final : sc_core::sc_module, tlm::tlm_fw_transport_if<> {
    struct Call {
        bool is_write = false;
        std::uint64_t address = 0;
        unsigned length = 0;
        bool operator==(const Call&) const = default;
    };
    tlm::tlm_target_socket<32> socket{"socket"};
    std::vector<unsigned char> bytes = std::vector<unsigned char>(0x10000);
    std::vector<Call> calls;
    unsigned calls_outside_of_threads = 0, calls_with_attributes = 0, dmi_questions = 0;
    tlm::tlm_response_status answer = tlm::TLM_OK_RESPONSE;
    sc_core::sc_time takes;                    ///< it waits as long
    std::optional<std::uint64_t> last_granted; ///< up to this address its bytes may be used directly
    bool is_grant_read_only = false;

    explicit RecordingTarget(sc_core::sc_module_name name) : sc_module(name) { socket.bind(*this); }

private:
    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time&) override {
        calls.push_back({payload.is_write(), payload.get_address(), payload.get_data_length()});
        calls_outside_of_threads += model::tlm::is_in_thread() ? 0 : 1;
        const bool is_streaming = payload.get_streaming_width() != payload.get_data_length();
        calls_with_attributes += is_streaming || payload.get_byte_enable_ptr() != nullptr ? 1 : 0;
        if (takes != sc_core::SC_ZERO_TIME)
            wait(takes);
        if (answer == tlm::TLM_OK_RESPONSE)
            transport_dbg(payload);
        payload.set_response_status(answer);
    }
    unsigned transport_dbg(tlm::tlm_generic_payload& payload) override {
        auto* const at = &bytes.at(payload.get_address());
        if (payload.is_write())
            std::memcpy(at, payload.get_data_ptr(), payload.get_data_length());
        else
            std::memcpy(payload.get_data_ptr(), at, payload.get_data_length());
        return payload.get_data_length();
    }
    bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) override {
        ++dmi_questions;
        dmi.set_start_address(0);
        dmi.set_end_address(last_granted.value_or(~sc_dt::uint64{0}));
        dmi.set_dmi_ptr(bytes.data());
        if (is_grant_read_only)
            dmi.allow_read();
        else
            dmi.allow_read_write();
        return last_granted && payload.get_address() <= *last_granted;
    }
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) override {
        return tlm::TLM_COMPLETED;
    }
};

struct PlainInitiator final : sc_core::sc_module, tlm::tlm_bw_transport_if<> {
    tlm::tlm_initiator_socket<32> socket{"socket"};
    explicit PlainInitiator(sc_core::sc_module_name name) : sc_module(name) { socket.bind(*this); }

private:
    tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) override {
        return tlm::TLM_COMPLETED;
    }
    void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
};

inline model::pcie::FunctionConfig foreign_function(std::uint16_t device_id, std::uint64_t bar_bytes) {
    model::pcie::FunctionConfig function;
    function.identity = {.vendor_id = 0x1234, .device_id = device_id, .class_code = 0x088000};
    function.bars[0] = {.size = bar_bytes};
    return function;
}

/// A transaction as an initiator sets it up.
struct Transaction {
    tlm::tlm_generic_payload payload;
    Transaction(tlm::tlm_command command, std::uint64_t address, std::span<unsigned char> data) {
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(data.size()));
        payload.set_streaming_width(static_cast<unsigned>(data.size()));
    }
    void enable(std::span<unsigned char> bytes) {
        payload.set_byte_enable_ptr(bytes.data());
        payload.set_byte_enable_length(static_cast<unsigned>(bytes.size()));
    }
};

/// Runs `body` as a thread, and the simulation on until it has returned and nothing is left to do.
inline void run_in_thread(std::function<void()> body) {
    bool is_finished = false;
    sc_core::sc_spawn_options options;
    options.set_stack_size(model::tlm::process_stack_bytes);
    sc_core::sc_spawn(
        [&] {
            body();
            is_finished = true;
        },
        sc_core::sc_gen_unique_name("body"), &options);
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
    REQUIRE(is_finished);
}

struct ForeignMachine {
    static constexpr std::uint64_t bar_bytes = 0x10000;
    platform::host::Host host;
    DeviceModule<> source, sink;
    PlainInitiator initiator{"initiator"};
    RecordingTarget target{"target"};

    explicit ForeignMachine(DeviceConfig config = {}, platform::host::HostConfig host_config = {.timed = false})
        : host("host", host_config), source("source", {.function = foreign_function(1, 0)}),
          sink("sink", (config.function = foreign_function(2, bar_bytes), config)) {
        host.plug(0, source.endpoint);
        host.plug(1, sink.endpoint);
        initiator.socket.bind(source.dma());
        sink.bar.bind(target.socket);
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        host.root_complex().config_write(found(1).bdf, 4, 2, 6, {}); // bus master enable
    }
    const platform::host::FunctionFound& found(std::uint16_t device_id) const {
        return *host.enumeration().find(0x1234, device_id);
    }
    std::uint64_t bar() const { return found(2).bars[0].address; }
    std::uint32_t status(std::uint16_t device_id) {
        return host.root_complex().config_read(found(device_id).bdf, 6, 2, {}).value;
    }
    /// Packets that the initiator's device has sent.
    std::uint64_t sent() { return host.slot_link(0)->traffic(model::pcie::Direction::upstream).tlps; }

    tlm::tlm_response_status send(Transaction& transaction) {
        run_in_thread([&] {
            sc_core::sc_time delay;
            initiator.socket->b_transport(transaction.payload, delay);
        });
        return transaction.payload.get_response_status();
    }
    tlm::tlm_response_status send(tlm::tlm_command command, std::uint64_t address, std::span<unsigned char> data) {
        Transaction transaction(command, address, data);
        return send(transaction);
    }
};

} // namespace testbench
