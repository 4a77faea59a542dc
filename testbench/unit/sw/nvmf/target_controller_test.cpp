// A controller as its host has it: properties, and admin commands that are about it.
#include "testbench/unit/sw/nvmf/fabric_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace sw::nvmf;
using abi::nvme::FabricsType;
using abi::nvme::Register;
using abi::nvme::Status;
using testbench::Connected;
using testbench::must;

namespace {

HostQueue::Command fabrics(FabricsType type) {
    HostQueue::Command command;
    abi::View<abi::nvme::FabricsCommand>(command.bytes)
        .set<"opcode">(static_cast<std::uint8_t>(abi::nvme::AdminOpcode::fabrics))
        .set<"fctype">(static_cast<std::uint8_t>(type));
    return command;
}

} // namespace

TEST_CASE("a controller has few properties, each of its size", "[unit][nvmf]") {
    Connected fabric;
    auto& admin = fabric.host->admin();
    for (const auto& [offset, size] : {std::pair{0x00u, 0u},
                                       {0x04u, 0u},
                                       {0x08u, 1u},
                                       {0x14u, 1u},
                                       {0x14u, 2u},
                                       {0x24u, 0u},
                                       {0x1000u, 0u},
                                       {0xffff'fff8u, 1u}}) {
        CAPTURE(offset, size);
        auto get = fabrics(FabricsType::property_get);
        abi::View<abi::nvme::PropertyGet>(get.bytes).set<"ofst">(offset).set<"size">(size);
        CHECK(must(admin.execute(get)).status == Status::invalid_field);
    }
    for (const auto& [offset, size] : {std::pair{0x00u, 1u}, {0x14u, 1u}, {0x1cu, 0u}, {0x24u, 0u}}) {
        CAPTURE(offset, size);
        auto set = fabrics(FabricsType::property_set);
        abi::View<abi::nvme::PropertySet>(set.bytes).set<"ofst">(offset).set<"size">(size);
        CHECK(must(admin.execute(set)).status == Status::invalid_field);
    }
    CHECK((must(fabric.host->property(Register::csts)) & 1) == 1);
}

TEST_CASE("a controller that is enabled with what it has not fails, and can be reset", "[unit][nvmf]") {
    Connected fabric;
    for (const std::uint32_t configuration : {0x460011u, 0x460081u}) { // another command set, larger pages
        CAPTURE(configuration);
        must(fabric.host->set_property(Register::cc, 0));
        must(fabric.host->set_property(Register::cc, configuration));
        CHECK((must(fabric.host->property(Register::csts)) & 3) == 2);
    }
    must(fabric.host->set_property(Register::cc, 0));
    must(fabric.host->set_property(Register::cc, 0x460001));
    CHECK((must(fabric.host->property(Register::csts)) & 3) == 1);
}

TEST_CASE("Identify wants memory for a whole page", "[unit][nvmf]") {
    Connected fabric;
    for (const auto cns : {abi::nvme::Cns::controller, abi::nvme::Cns::active_namespaces})
        for (const std::uint32_t bytes : {0u, 512u, 4092u}) {
            CAPTURE(bytes);
            HostQueue::Command command;
            command.view().set<"opcode">(static_cast<std::uint8_t>(abi::nvme::AdminOpcode::identify));
            abi::View<abi::nvme::Identify>(command.bytes).set<"cns">(static_cast<std::uint8_t>(cns));
            CHECK(must(fabric.host->execute(command, bytes)).status == Status::invalid_data_sgl_length);
        }
    CHECK(fabric.host->keep_alive().has_value());
}
