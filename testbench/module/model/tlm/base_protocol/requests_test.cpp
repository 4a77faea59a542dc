// What an initiator of the base protocol may ask for, and what it is answered.
#include "testbench/module/model/tlm/base_protocol/bench.h"

#include "model/tlm/time.h"

#include <algorithm>
#include <chrono>
#include <numeric>

using namespace testbench;
using namespace std::chrono_literals;
using Call = RecordingTarget::Call;

namespace {
constexpr auto read_command = tlm::TLM_READ_COMMAND, write_command = tlm::TLM_WRITE_COMMAND;
constexpr std::uint64_t nowhere = 0xd000'0000;

std::array<unsigned char, 8> one_to_eight() { return {1, 2, 3, 4, 5, 6, 7, 8}; }

std::vector<unsigned char> part(const std::vector<unsigned char>& bytes, std::size_t begin, std::size_t length) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(begin);
    return {first, first + static_cast<std::ptrdiff_t>(length)};
}
} // namespace

TEST_CASE("a write of enabled bytes leaves the others as they are", "[module][tlm]") {
    ForeignMachine machine;
    auto data = one_to_eight();
    std::array<unsigned char, 4> enables{0xff, 0, 0, 0xff}; // repeated over the data
    Transaction write(write_command, machine.bar() + 0x10, data);
    write.enable(enables);

    CHECK(machine.send(write) == tlm::TLM_OK_RESPONSE);

    CHECK(part(machine.target.bytes, 0x10, 8) == std::vector<unsigned char>{1, 0, 0, 4, 5, 0, 0, 8});
    CHECK(machine.target.calls == std::vector<Call>{{true, 0x10, 1}, {true, 0x13, 2}, {true, 0x17, 1}});
    CHECK(machine.target.calls_with_attributes == 0);
}

TEST_CASE("a read of enabled bytes leaves the others of the initiator's array as they are", "[module][tlm]") {
    ForeignMachine machine;
    std::iota(machine.target.bytes.begin(), machine.target.bytes.begin() + 8, static_cast<unsigned char>(1));
    std::array<unsigned char, 8> data;
    data.fill(0xee);
    std::array<unsigned char, 8> enables{0, 0xff, 0xff, 0xff, 0, 0, 0, 0xff};
    Transaction read(read_command, machine.bar(), data);
    read.enable(enables);

    CHECK(machine.send(read) == tlm::TLM_OK_RESPONSE);

    CHECK(data == std::array<unsigned char, 8>{0xee, 2, 3, 4, 0xee, 0xee, 0xee, 8});
    CHECK(machine.target.calls == std::vector<Call>{{false, 1, 3}, {false, 7, 1}});
}

TEST_CASE("a streaming transfer begins at its address again and again", "[module][tlm]") {
    ForeignMachine machine;
    auto data = one_to_eight();
    Transaction write(write_command, machine.bar() + 0x20, data);
    write.payload.set_streaming_width(3);

    CHECK(machine.send(write) == tlm::TLM_OK_RESPONSE);

    CHECK(machine.target.calls == std::vector<Call>{{true, 0x20, 3}, {true, 0x20, 3}, {true, 0x20, 2}});
    CHECK(part(machine.target.bytes, 0x20, 4) == std::vector<unsigned char>{7, 8, 6, 0});
    CHECK(machine.target.calls_with_attributes == 0);

    Transaction read(read_command, machine.bar() + 0x20, data);
    read.payload.set_streaming_width(4);
    CHECK(machine.send(read) == tlm::TLM_OK_RESPONSE);
    CHECK(data == std::array<unsigned char, 8>{7, 8, 6, 0, 7, 8, 6, 0});
}

TEST_CASE("byte enables of a streaming transfer count in its data, not in its addresses", "[module][tlm]") {
    ForeignMachine machine;
    auto data = one_to_eight();
    std::array<unsigned char, 8> enables{0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0};
    Transaction write(write_command, machine.bar() + 0x20, data);
    write.payload.set_streaming_width(4);
    write.enable(enables);

    CHECK(machine.send(write) == tlm::TLM_OK_RESPONSE);

    CHECK(part(machine.target.bytes, 0x20, 4) == std::vector<unsigned char>{1, 6, 7, 4});
}

TEST_CASE("a streaming width above the data length is no streaming", "[module][tlm]") {
    ForeignMachine machine;
    auto data = one_to_eight();
    Transaction write(write_command, machine.bar(), data);
    write.payload.set_streaming_width(64);

    CHECK(machine.send(write) == tlm::TLM_OK_RESPONSE);

    CHECK(machine.target.calls == std::vector<Call>{{true, 0, 8}});
}

TEST_CASE("a transaction that is neither read nor write is answered and goes nowhere", "[module][tlm]") {
    ForeignMachine machine;
    auto data = one_to_eight();
    const auto before = machine.sent();

    CHECK(machine.send(tlm::TLM_IGNORE_COMMAND, machine.bar(), data) == tlm::TLM_OK_RESPONSE);
    CHECK(machine.send(tlm::TLM_IGNORE_COMMAND, machine.bar(), {}) == tlm::TLM_OK_RESPONSE);

    CHECK(machine.sent() == before);
    CHECK(machine.target.calls.empty());
    CHECK(data == one_to_eight());
}

TEST_CASE("attributes that nobody could act upon are refused before anything is sent", "[module][tlm]") {
    ForeignMachine machine;
    auto data = one_to_eight();
    std::array<unsigned char, 2> enables{0xff, 0x0f};
    const auto before = machine.sent();

    Transaction no_width(write_command, machine.bar(), data);
    no_width.payload.set_streaming_width(0);
    CHECK(machine.send(no_width) == tlm::TLM_BURST_ERROR_RESPONSE);

    Transaction no_data(write_command, machine.bar(), data);
    no_data.payload.set_data_length(0);
    CHECK(machine.send(no_data) == tlm::TLM_BURST_ERROR_RESPONSE);

    Transaction no_array(write_command, machine.bar(), data);
    no_array.payload.set_data_ptr(nullptr);
    CHECK(machine.send(no_array) == tlm::TLM_GENERIC_ERROR_RESPONSE);

    Transaction half_enabled(write_command, machine.bar(), data);
    half_enabled.enable(enables);
    CHECK(machine.send(half_enabled) == tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);

    Transaction no_enables(write_command, machine.bar(), data);
    no_enables.enable(std::span(enables).first(0));
    CHECK(machine.send(no_enables) == tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);

    Transaction unknown(static_cast<tlm::tlm_command>(tlm::TLM_IGNORE_COMMAND + 1), machine.bar(), data);
    CHECK(machine.send(unknown) == tlm::TLM_COMMAND_ERROR_RESPONSE);

    // Over the end of all addresses, whose other side is host memory.
    CHECK(machine.send(write_command, ~std::uint64_t{0} - 3, data) == tlm::TLM_ADDRESS_ERROR_RESPONSE);

    CHECK(machine.sent() == before);
    CHECK(machine.target.calls.empty());
}

TEST_CASE("an access needs no alignment, and may cross what one request may not", "[module][tlm]") {
    ForeignMachine machine;
    const auto block = *machine.host.memory().allocate(8192);
    auto data = one_to_eight();
    std::array<unsigned char, 8> back{};

    CHECK(machine.send(write_command, block.bus + 4093, data) == tlm::TLM_OK_RESPONSE);
    CHECK(machine.send(read_command, block.bus + 4093, back) == tlm::TLM_OK_RESPONSE);
    CHECK(std::memcmp(block.data + 4093, data.data(), data.size()) == 0);
    CHECK(block.data[4092] == std::byte{});
    CHECK(block.data[4101] == std::byte{});
    CHECK(back == data);

    CHECK(machine.send(write_command, machine.bar() + 0xffd, data) == tlm::TLM_OK_RESPONSE);
    CHECK(part(machine.target.bytes, 0xffd, 8) == std::vector<unsigned char>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("an access that runs over the end of a BAR is an address error", "[module][tlm]") {
    ForeignMachine machine;
    auto data = one_to_eight();
    const auto end = machine.bar() + ForeignMachine::bar_bytes;

    CHECK(machine.send(write_command, end - 4, data) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    CHECK(machine.send(read_command, end - 4, data) == tlm::TLM_ADDRESS_ERROR_RESPONSE);

    CHECK(part(machine.target.bytes, ForeignMachine::bar_bytes - 5, 5) == std::vector<unsigned char>{0, 1, 2, 3, 4});
}

TEST_CASE("an access to an address nobody claims is an address error", "[module][tlm]") {
    ForeignMachine machine;
    auto data = one_to_eight();

    CHECK(machine.send(read_command, nowhere, data) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    CHECK(machine.send(write_command, nowhere, data) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    // An earlier loss is none of the next write.
    CHECK(machine.send(write_command, machine.bar(), data) == tlm::TLM_OK_RESPONSE);
}

TEST_CASE("nothing is sent while software has not made the device a bus master", "[module][tlm]") {
    ForeignMachine machine;
    const auto block = *machine.host.memory().allocate(4096);
    auto data = one_to_eight();
    machine.host.root_complex().config_write(machine.found(1).bdf, 4, 2, 2, {});

    CHECK(machine.send(write_command, block.bus, data) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    CHECK(machine.send(read_command, block.bus, data) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    Transaction look(read_command, block.bus, data);
    CHECK(machine.initiator.socket->transport_dbg(look.payload) == 0);

    CHECK(block.data[0] == std::byte{});
    CHECK(data == one_to_eight());
}

TEST_CASE("what a target answers to a read comes back as address error or generic error", "[module][tlm]") {
    ForeignMachine machine;
    auto data = one_to_eight();
    const auto answered = [&](tlm::tlm_response_status answer) {
        machine.target.answer = answer;
        return machine.send(read_command, machine.bar(), data);
    };

    CHECK(answered(tlm::TLM_OK_RESPONSE) == tlm::TLM_OK_RESPONSE);
    CHECK(answered(tlm::TLM_ADDRESS_ERROR_RESPONSE) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    CHECK(answered(tlm::TLM_COMMAND_ERROR_RESPONSE) == tlm::TLM_GENERIC_ERROR_RESPONSE);
    CHECK(answered(tlm::TLM_BURST_ERROR_RESPONSE) == tlm::TLM_GENERIC_ERROR_RESPONSE);
    CHECK(answered(tlm::TLM_GENERIC_ERROR_RESPONSE) == tlm::TLM_GENERIC_ERROR_RESPONSE);
    CHECK(answered(tlm::TLM_INCOMPLETE_RESPONSE) == tlm::TLM_GENERIC_ERROR_RESPONSE); // it has not answered at all
}

TEST_CASE("an initiator gets no direct memory pointer, and no hint that it might", "[module][tlm]") {
    ForeignMachine machine;
    const auto block = *machine.host.memory().allocate(4096);
    auto data = one_to_eight();
    Transaction read(read_command, block.bus, data);
    read.payload.set_dmi_allowed(true); // left over from somewhere
    tlm::tlm_dmi dmi;

    CHECK(machine.send(read) == tlm::TLM_OK_RESPONSE);

    CHECK_FALSE(read.payload.is_dmi_allowed());
    CHECK_FALSE(machine.initiator.socket->get_direct_mem_ptr(read.payload, dmi));
}

TEST_CASE("debug transport sees host memory and targets, and nobody notices", "[module][tlm]") {
    ForeignMachine machine;
    const auto block = *machine.host.memory().allocate(4096);
    auto data = one_to_eight();
    std::array<unsigned char, 8> back{};
    const auto debug = [&](tlm::tlm_command command, std::uint64_t address, std::span<unsigned char> bytes) {
        Transaction transaction(command, address, bytes);
        return machine.initiator.socket->transport_dbg(transaction.payload);
    };
    const auto before = machine.sent();

    CHECK(debug(write_command, block.bus + 1, data) == 8);
    CHECK(debug(read_command, block.bus + 1, back) == 8);
    CHECK(std::memcmp(block.data + 1, data.data(), 8) == 0);
    CHECK(back == data);

    back = {};
    CHECK(debug(write_command, machine.bar() + 9, data) == 8);
    CHECK(debug(read_command, machine.bar() + 9, back) == 8);
    CHECK(part(machine.target.bytes, 9, 8) == std::vector<unsigned char>{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(back == data);

    CHECK(debug(read_command, machine.bar() + ForeignMachine::bar_bytes - 3, back) == 3);
    CHECK(debug(write_command, machine.bar() + ForeignMachine::bar_bytes - 3, data) == 3);
    CHECK(debug(read_command, nowhere, back) == 0);
    CHECK(debug(write_command, nowhere, back) == 0);
    CHECK(debug(tlm::TLM_IGNORE_COMMAND, block.bus, back) == 0);

    CHECK(machine.sent() == before);
    CHECK(machine.target.calls.empty());
    CHECK(machine.source.endpoint.known_windows() == 0);
}

TEST_CASE("debug transport looks at neither byte enables nor streaming width, and needs an array", "[module][tlm]") {
    ForeignMachine machine;
    const auto block = *machine.host.memory().allocate(4096);
    auto data = one_to_eight();
    std::array<unsigned char, 1> disabled{0};
    Transaction write(write_command, block.bus, data);
    write.enable(disabled);
    write.payload.set_streaming_width(1);

    CHECK(machine.initiator.socket->transport_dbg(write.payload) == 8);
    CHECK(std::memcmp(block.data, data.data(), 8) == 0);

    write.payload.set_data_ptr(nullptr);
    CHECK(machine.initiator.socket->transport_dbg(write.payload) == 0);
}

TEST_CASE("a transaction without an enabled byte is carried out and moves nothing", "[module][tlm]") {
    ForeignMachine machine;
    auto data = one_to_eight();
    std::array<unsigned char, 1> disabled{0};
    const auto before = machine.sent();

    for (const auto command : {read_command, write_command}) {
        Transaction nothing(command, machine.bar(), data);
        nothing.enable(disabled);
        CHECK(machine.send(nothing) == tlm::TLM_OK_RESPONSE);
    }

    CHECK(data == one_to_eight());
    CHECK(machine.sent() == before);
    CHECK(machine.target.calls.empty());
}

TEST_CASE("a read takes the time of links and memory, in its delay and not by waiting", "[module][tlm][timed]") {
    platform::host::HostConfig config;
    config.timed = true;
    config.device_link.latency = config.upstream_link.latency = 100ns;
    config.dram_read_latency = 90ns;
    ForeignMachine machine({}, config);
    const auto block = *machine.host.memory().allocate(4096);
    auto data = one_to_eight();
    Transaction read(read_command, block.bus, data);
    sc_core::sc_time delay(1, sc_core::SC_US), passed;

    run_in_thread([&] {
        const auto before = sc_core::sc_time_stamp();
        machine.initiator.socket->b_transport(read.payload, delay);
        passed = sc_core::sc_time_stamp() - before;
    });

    CHECK(read.payload.get_response_status() == tlm::TLM_OK_RESPONSE);
    CHECK(passed == sc_core::SC_ZERO_TIME);
    CHECK(model::tlm::from_sc(delay) > 1us + 490ns);
    CHECK(model::tlm::from_sc(delay) < 1us + 500ns);
}

TEST_CASE("the time that a target waits is not in the delay as well", "[module][tlm]") {
    ForeignMachine machine;
    machine.target.takes = sc_core::sc_time(300, sc_core::SC_NS);
    auto data = one_to_eight();
    Transaction read(read_command, machine.bar(), data);
    sc_core::sc_time delay, passed;

    run_in_thread([&] {
        const auto before = sc_core::sc_time_stamp();
        machine.initiator.socket->b_transport(read.payload, delay);
        passed = sc_core::sc_time_stamp() - before;
    });

    CHECK(passed == machine.target.takes);
    CHECK(delay == sc_core::SC_ZERO_TIME);
}
