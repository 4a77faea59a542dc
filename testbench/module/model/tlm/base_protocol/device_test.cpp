// How a target of the base protocol is asked when it stands behind a BAR.
#include "testbench/module/model/tlm/base_protocol/bench.h"

#include "model/tlm/time.h"

#include <algorithm>
#include <bit>

using namespace testbench;
using abi::BusAddress;
using model::port::DmaStatus;
using Call = RecordingTarget::Call;

namespace {
constexpr std::array<std::byte, 4> pattern{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
constexpr std::uint32_t signaled_target_abort = 0x0800;

void run() { sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS)); }
std::uint32_t device_status(ForeignMachine& machine) {
    return machine.host.root_complex()
        .config_read(machine.found(2).bdf, model::pcie::pci_express_offset + 0xa, 2, {})
        .value;
}
} // namespace

TEST_CASE("a write to a BAR is a call from a thread, at the address the target knows", "[module][tlm]") {
    DeviceConfig config;
    config.addresses[0] = 0x400;
    ForeignMachine machine(config);

    // From outside of the kernel: it is posted, and goes on without the call.
    REQUIRE(machine.host.root_complex().processor().write(BusAddress{machine.bar() + 8}, pattern, {}).is_ok());
    CHECK(machine.target.calls.empty());
    run();

    CHECK(machine.target.calls == std::vector<Call>{{true, 0x408, 4}});
    CHECK(machine.target.calls_outside_of_threads == 0);
    CHECK(machine.target.calls_with_attributes == 0);
    CHECK(std::memcmp(&machine.target.bytes[0x408], pattern.data(), 4) == 0);
}

TEST_CASE("a read by whoever cannot wait is aborted, and the target is not called", "[module][tlm]") {
    ForeignMachine machine;
    std::array<std::byte, 4> bytes{};
    auto& processor = machine.host.root_complex().processor();

    CHECK(processor.read(BusAddress{machine.bar()}, bytes, {}).status == DmaStatus::completer_abort);

    CHECK(machine.target.calls.empty());
    CHECK((machine.status(2) & signaled_target_abort) != 0);
    run_in_thread([&] { CHECK(processor.read(BusAddress{machine.bar()}, bytes, {}).is_ok()); });
    CHECK(machine.target.calls == std::vector<Call>{{false, 0, 4}});
    CHECK(machine.target.calls_outside_of_threads == 0);
}

TEST_CASE("a read does not pass the writes that were posted before it", "[module][tlm]") {
    ForeignMachine machine;
    machine.target.takes = sc_core::sc_time(1, sc_core::SC_US);
    auto& processor = machine.host.root_complex().processor();
    std::array<std::byte, 4> bytes{};
    run_in_thread([&] {
        processor.write(BusAddress{machine.bar()}, std::array<std::byte, 4>{}, {});
        processor.write(BusAddress{machine.bar()}, pattern, {});
        CHECK(machine.target.calls.empty());
        processor.read(BusAddress{machine.bar()}, bytes, {});
    });

    CHECK(bytes == pattern);
    CHECK(machine.target.calls == std::vector<Call>{{true, 0, 4}, {true, 0, 4}, {false, 0, 4}});
}

TEST_CASE("whoever writes faster than a target takes it waits when the device can hold no more", "[module][tlm]") {
    ForeignMachine machine;
    machine.target.takes = sc_core::sc_time(1, sc_core::SC_US);
    auto& processor = machine.host.root_complex().processor();
    constexpr auto limit = model::tlm::base_protocol::Device::posted_limit;
    sc_core::sc_time at_limit, behind;
    run_in_thread([&] {
        const auto start = sc_core::sc_time_stamp();
        for (std::size_t i = 0; i < limit; ++i)
            processor.write(BusAddress{machine.bar()}, pattern, {});
        at_limit = sc_core::sc_time_stamp() - start;
        for (std::size_t i = 0; i < 3; ++i)
            processor.write(BusAddress{machine.bar()}, pattern, {});
        behind = sc_core::sc_time_stamp() - start;
    });

    CHECK(at_limit == sc_core::SC_ZERO_TIME);
    CHECK(behind == 3 * machine.target.takes);
    CHECK(machine.target.calls.size() == limit + 3);
}

TEST_CASE("a posted write that the target refuses shows in its device's registers only", "[module][tlm]") {
    ForeignMachine machine;
    machine.target.answer = tlm::TLM_COMMAND_ERROR_RESPONSE;
    std::array<unsigned char, 4> data{};
    constexpr std::uint32_t non_fatal = 2;
    REQUIRE((machine.status(2) & signaled_target_abort) == 0);
    REQUIRE((device_status(machine) & non_fatal) == 0);

    CHECK(machine.send(tlm::TLM_WRITE_COMMAND, machine.bar(), data) == tlm::TLM_OK_RESPONSE);

    CHECK(machine.target.calls.size() == 1);
    CHECK((machine.status(2) & signaled_target_abort) != 0);
    CHECK((device_status(machine) & non_fatal) != 0);
}

TEST_CASE("a write of no bytes is not told to a target", "[module][tlm]") {
    ForeignMachine machine;

    CHECK(machine.host.root_complex().processor().write(BusAddress{machine.bar()}, {}, {}).is_ok());
    run();

    CHECK(machine.target.calls.empty());
}

TEST_CASE("a device with nobody behind its BAR does not support requests to it", "[module][tlm]") {
    platform::host::Host host("host", {.timed = false});
    DeviceModule<> device("device", {.function = foreign_function(2, 0x1000)});
    host.plug(0, device.endpoint);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    const auto bar = host.enumeration().find(0x1234, 2)->bars[0].address;
    auto& processor = host.root_complex().processor();
    std::array<std::byte, 4> bytes{};

    run_in_thread([&] {
        CHECK(processor.read(BusAddress{bar}, bytes, {}).status == DmaStatus::unsupported_request);
        processor.write(BusAddress{bar}, pattern, {});
        CHECK(processor.peek(bar, bytes) == 0);
        CHECK(processor.poke(bar, pattern) == 0);
    });

    constexpr std::uint32_t unsupported_request_detected = 8;
    const auto bdf = host.enumeration().find(0x1234, 2)->bdf;
    const auto status = host.root_complex().config_read(bdf, model::pcie::pci_express_offset + 0xa, 2, {}).value;
    CHECK((status & unsupported_request_detected) != 0);
}

TEST_CASE("memory that a target would give for direct use is not asked for unless that is wanted", "[module][tlm]") {
    ForeignMachine machine;
    machine.target.last_granted = ForeignMachine::bar_bytes - 1;
    auto& processor = machine.host.root_complex().processor();

    processor.write(BusAddress{machine.bar()}, pattern, {});
    run();

    CHECK(machine.target.dmi_questions == 0);
    CHECK(machine.target.calls.size() == 1);
}

TEST_CASE("memory that a target gives for direct use is used without it, up to its end", "[module][tlm]") {
    ForeignMachine machine(DeviceConfig{.is_dmi_honoured = true});
    machine.target.last_granted = 0x1fff;
    auto& processor = machine.host.root_complex().processor();
    std::array<std::byte, 4> bytes{};

    CHECK(processor.write(BusAddress{machine.bar() + 0x1ffc}, pattern, {}).is_ok());
    CHECK(processor.read(BusAddress{machine.bar() + 0x1ffc}, bytes, {}).is_ok()); // outside of a thread
    CHECK(processor.lend(BusAddress{machine.bar() + 0x10}, 16, {}).data ==
          reinterpret_cast<std::byte*>(&machine.target.bytes[0x10]));
    CHECK(machine.target.calls.empty());
    CHECK(bytes == pattern);
    CHECK(std::memcmp(&machine.target.bytes[0x1ffc], pattern.data(), 4) == 0);

    CHECK(processor.write(BusAddress{machine.bar() + 0x2000}, pattern, {}).is_ok());
    run();
    CHECK(machine.target.calls == std::vector<Call>{{true, 0x2000, 4}});
}

TEST_CASE("a target that lets its memory be read only is called for every access", "[module][tlm]") {
    ForeignMachine machine(DeviceConfig{.is_dmi_honoured = true});
    machine.target.last_granted = ForeignMachine::bar_bytes - 1;
    machine.target.is_grant_read_only = true;
    auto& processor = machine.host.root_complex().processor();
    std::array<std::byte, 4> bytes{};

    run_in_thread([&] {
        processor.write(BusAddress{machine.bar()}, pattern, {});
        processor.read(BusAddress{machine.bar()}, bytes, {});
    });

    CHECK(machine.target.calls.size() == 2);
    CHECK(bytes == pattern);
}

TEST_CASE("memory that a target has taken back is asked for again", "[module][tlm]") {
    ForeignMachine machine(DeviceConfig{.is_dmi_honoured = true});
    machine.target.last_granted = ForeignMachine::bar_bytes - 1;
    auto& processor = machine.host.root_complex().processor();
    REQUIRE(processor.write(BusAddress{machine.bar()}, pattern, {}).is_ok());
    const auto asked = machine.target.dmi_questions;
    REQUIRE(processor.write(BusAddress{machine.bar() + 8}, pattern, {}).is_ok());
    REQUIRE(machine.target.dmi_questions == asked); // a known path
    REQUIRE(machine.target.calls.empty());

    machine.target.last_granted.reset();
    machine.target.socket->invalidate_direct_mem_ptr(0, ~sc_dt::uint64{0});
    processor.write(BusAddress{machine.bar() + 16}, pattern, {});
    run();

    CHECK(machine.target.dmi_questions > asked);
    CHECK(machine.target.calls == std::vector<Call>{{true, 16, 4}});
}

TEST_CASE("a grant that runs over the end of a BAR is used up to there", "[module][tlm]") {
    ForeignMachine machine(DeviceConfig{.is_dmi_honoured = true});
    machine.target.last_granted = ~std::uint64_t{0};
    auto& processor = machine.host.root_complex().processor();
    const auto end = machine.bar() + ForeignMachine::bar_bytes;

    CHECK(processor.lend(BusAddress{end - 4}, 4, {}).data ==
          reinterpret_cast<std::byte*>(&machine.target.bytes[ForeignMachine::bar_bytes - 4]));
    CHECK(processor.lend(BusAddress{end - 4}, 8, {}).data == nullptr);
}

TEST_CASE("a grant is for what stands at the address that the target knows", "[module][tlm]") {
    DeviceConfig config{.is_dmi_honoured = true};
    config.addresses[0] = 0x100;
    ForeignMachine machine(config);
    machine.target.last_granted = 0xffff;

    CHECK(machine.host.root_complex().processor().lend(BusAddress{machine.bar() + 8}, 4, {}).data ==
          reinterpret_cast<std::byte*>(&machine.target.bytes[0x108]));
}

TEST_CASE("sockets of buses of another width are bound to a device of that width", "[module][tlm]") {
    struct Wide final : sc_core::sc_module, tlm::tlm_bw_transport_if<> {
        tlm::tlm_initiator_socket<64> socket{"socket"};
        explicit Wide(sc_core::sc_module_name name) : sc_module(name) { socket.bind(*this); }
        tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) override {
            return tlm::TLM_COMPLETED;
        }
        void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
    } wide("wide");
    platform::host::Host host("host", {.timed = false});
    DeviceModule<64> device("device", {.function = foreign_function(1, 0)});
    wide.socket.bind(device.dma());
    host.plug(0, device.endpoint);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    host.root_complex().config_write(host.enumeration().find(0x1234, 1)->bdf, 4, 2, 6, {});
    const auto block = *host.memory().allocate(4096);
    std::array<unsigned char, 3> data{7, 8, 9};
    Transaction write(tlm::TLM_WRITE_COMMAND, block.bus, data);
    sc_core::sc_time delay;

    run_in_thread([&] { wide.socket->b_transport(write.payload, delay); });

    CHECK(write.payload.is_response_ok());
    CHECK(std::memcmp(block.data, data.data(), 3) == 0);
}
