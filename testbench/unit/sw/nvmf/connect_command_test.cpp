// What a target makes of the Connect command: who comes, to which controller, with which queue.
#include "testbench/unit/sw/nvmf/fabric_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cstring>

using namespace sw::nvmf;
using abi::nvme::Connect;
using abi::nvme::ConnectData;
using abi::nvme::FabricsStatus;
using abi::nvme::Status;
using testbench::Fabric;
using testbench::has;
using testbench::must;

namespace {

constexpr std::uint16_t entries = 8;
constexpr unsigned invalid_parameters = static_cast<unsigned>(FabricsStatus::invalid_parameters);

std::array<std::byte, 256> field_of(const std::string& text) {
    std::array<std::byte, 256> field{};
    std::memcpy(field.data(), text.data(), text.size());
    return field;
}

/// A Connect command with its data, as it is right for the queue of that number.
struct Introduction {
    std::uint16_t number;
    HostQueue::Command command{};
    abi::Block<ConnectData> data{};
    std::uint32_t bytes = ConnectData::size;

    Introduction(std::uint16_t queue, std::uint16_t controller) : number(queue) {
        const HostOptions options;
        fields().set<"qid">(number).set<"sqsize">(entries - 1);
        data.view()
            .set<"cntlid">(controller)
            .set<"subnqn">(field_of(options.subsystem))
            .set<"hostnqn">(field_of(options.name));
    }
    abi::View<Connect> fields() { return abi::View<Connect>(command.bytes); }
    /// Status and result; by a connection that goes again.
    std::pair<unsigned, std::uint32_t> to(Fabric& fabric) {
        abi::View<abi::nvme::FabricsCommand>(command.bytes)
            .set<"opcode">(static_cast<std::uint8_t>(abi::nvme::AdminOpcode::fabrics))
            .set<"fctype">(static_cast<std::uint8_t>(abi::nvme::FabricsType::connect));
        const auto queue = must(HostQueue::make(fabric.host_end.port, number, entries, 4096));
        must(queue->connect(must(fabric.dial(queue->request(0)))));
        std::ranges::copy(data.bytes, fabric.buffer.bytes().begin());
        const auto done = must(queue->execute(command, fabric.data(0, bytes)));
        fabric.target->disconnect(queue->self());
        return {static_cast<unsigned>(done.status), done.result};
    }
};

} // namespace

TEST_CASE("a Connect command for something else is refused, and says which parameter", "[unit][nvmf]") {
    Fabric fabric;
    const auto why = [&](const HostOptions& options) {
        const auto host = fabric.connect(options);
        return host ? std::string() : host.error().what;
    };
    CHECK(has(why({.subsystem = "nqn.2014-08.org.example:other"}), "Connect Invalid Parameters, parameter 0x10100"));
    CHECK(has(why({.name = ""}), "Connect Invalid Parameters, parameter 0x10200"));
    CHECK(why({}).empty());
}

TEST_CASE("each parameter of the Connect command of an admin queue is looked at", "[unit][nvmf]") {
    Fabric fabric;
    const auto with = [&](auto&& change) {
        Introduction introduction(0, abi::nvme::any_controller);
        change(introduction);
        return introduction.to(fabric);
    };
    const auto place_of_data = [](std::size_t offset) {
        return std::pair(invalid_parameters, static_cast<std::uint32_t>(0x10000 + offset));
    };
    CHECK(with([](auto&) {}).first == 0);
    CHECK(with([](auto& one) { one.fields().template set<"recfmt">(1); }).first ==
          static_cast<unsigned>(FabricsStatus::incompatible_format));
    CHECK(with([](auto& one) { one.fields().template set<"qid">(1); }) == std::pair(invalid_parameters, 0x2au));
    CHECK(with([](auto& one) { one.fields().template set<"sqsize">(entries); }) ==
          std::pair(invalid_parameters, 0x2cu));
    CHECK(with([](auto& one) { one.data.view().template set<"cntlid">(1); }) == place_of_data(16));
    CHECK(with([](auto& one) { one.data.view().template set<"subnqn">(field_of("nqn.other")); }) == place_of_data(256));
    CHECK(with([](auto& one) { one.data.view().template set<"hostnqn">(field_of("")); }) == place_of_data(512));
    for (const std::uint32_t bytes : {0u, 1008u})
        CHECK(with([&](auto& one) { one.bytes = bytes; }).first ==
              static_cast<unsigned>(Status::invalid_data_sgl_length));
    CHECK(fabric.is_idle());
}

TEST_CASE("an I/O queue is its controller's host's, and there is one of a number", "[unit][nvmf]") {
    Fabric fabric;
    const auto host = must(fabric.connect({.queues = 2}));
    fabric.target->disconnect(host->queue(1).self()); // its number is free
    const auto with = [&](std::uint16_t number, std::uint16_t controller, auto&& change) {
        Introduction introduction(number, controller);
        change(introduction);
        return introduction.to(fabric);
    };
    const auto as_it_is = [](auto&) {};
    CHECK(with(2, 7, as_it_is) == std::pair(invalid_parameters, 0x10010u)); // no such controller
    CHECK(with(2, 1, [](auto& one) { one.data.bytes[0] = std::byte{9}; }) ==
          std::pair(invalid_parameters, 0x10000u)); // another host's
    CHECK(with(2, 1, [](auto& one) { one.data.view().template set<"hostnqn">(field_of("nqn.other")); }) ==
          std::pair(invalid_parameters, 0x10000u));
    CHECK(with(2, 1, [](auto& one) { one.fields().template set<"qid">(3); }) ==
          std::pair(invalid_parameters, 0x2au));                         // not the number of its connection
    CHECK(with(1, 1, as_it_is) == std::pair(invalid_parameters, 0x2au)); // there is one
    CHECK(with(3, 1, as_it_is) == std::pair(invalid_parameters, 0x2au)); // more than the host has asked for
    CHECK(with(2, 1, as_it_is) == std::pair(0x0u, 1u));
    must(host->set_property(abi::nvme::Register::cc, 0));
    CHECK(with(1, 1, as_it_is).first == static_cast<unsigned>(Status::command_sequence_error));
}
