// Data pointers of command capsules, by their bytes.
#include "sw/nvmf/capsule.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace sw::nvmf;
using abi::nvme::Status;

namespace {

using Command = abi::Block<abi::nvme::Command>;

abi::ConstView<abi::nvme::Command> seen(const Command& command) {
    return abi::ConstView<abi::nvme::Command>(command.bytes);
}
/// A command whose descriptor is these 16 bytes.
Command with(std::array<unsigned char, 16> descriptor,
             abi::nvme::DataPointerType type = abi::nvme::DataPointerType::sgl_metadata_buffer) {
    Command command;
    command.view().set<"psdt">(type);
    for (std::size_t i = 0; i < descriptor.size(); ++i)
        command.bytes[24 + i] = static_cast<std::byte>(descriptor[i]);
    return command;
}

Status status_of(const Command& command, std::uint64_t room) {
    const auto data = data_of(seen(command), room);
    return data ? Status::success : data.error();
}

} // namespace

TEST_CASE("a keyed data block has address, three bytes of length, four of key, and its type", "[unit][nvmf]") {
    Command command;
    point_to_host(command.view(), {.address = 0x1122334455667788, .bytes = 0x123456, .key = 0xa1b2c3d4});

    const std::array<unsigned char, 16> expected{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
                                                 0x56, 0x34, 0x12, 0xd4, 0xc3, 0xb2, 0xa1, 0x40};
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(command.bytes[24 + i] == static_cast<std::byte>(expected[i]));
    CHECK(command.bytes[1] == std::byte{0x40});
    const auto data = data_of(seen(command), 0);
    REQUIRE(data.has_value());
    CHECK(!data->is_in_capsule);
    CHECK(data->bytes == 0x123456);
    CHECK(data->memory.address == 0x1122334455667788);
    CHECK(data->memory.key == 0xa1b2c3d4);
}

TEST_CASE("data in a capsule are an offset behind the command", "[unit][nvmf]") {
    Command command;
    point_into_capsule(command.view(), 0x1000);

    CHECK(command.bytes[24 + 15] == std::byte{0x01});
    const auto data = data_of(seen(command), 0x1000);
    REQUIRE(data.has_value());
    CHECK(data->is_in_capsule);
    CHECK(data->offset == 0);
    CHECK(data->bytes == 0x1000);
}

TEST_CASE("data that would leave the capsule are refused, wherever they begin", "[unit][nvmf]") {
    const auto status = [](std::array<unsigned char, 16> descriptor) { return status_of(with(descriptor), 512); };
    CHECK(status({0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0x01}) == Status::success);
    CHECK(status({0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0x01}) == Status::invalid_sgl_offset);
    CHECK(status({4, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0x01}) == Status::invalid_sgl_offset);
    CHECK(status({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0, 0, 0x01}) ==
          Status::invalid_sgl_offset);
}

TEST_CASE("what means nothing on a wire is refused", "[unit][nvmf]") {
    const std::array<unsigned char, 16> keyed{0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0x40};
    CHECK(data_of(seen(with(keyed)), 0).has_value());
    using abi::nvme::DataPointerType;
    CHECK(status_of(with(keyed, DataPointerType::prp), 0) == Status::invalid_field);
    CHECK(status_of(with(keyed, DataPointerType::sgl_metadata_sgl), 0) == Status::invalid_field);
    // Types and subtypes: a host that wants its key invalidated is served; an address without a key is none.
    for (const unsigned char type : {0x4f, 0x40})
        CHECK(data_of(seen(with({0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, type})), 512).has_value());
    for (const unsigned char type : {0x00, 0x10, 0x20, 0x30, 0x41, 0x5a})
        CHECK(status_of(with({0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, type}), 512) == Status::invalid_sgl_type);
}

TEST_CASE("the way of data is in the opcode, and for Fabrics commands in their type", "[unit][nvmf]") {
    const auto flow = [](unsigned opcode, unsigned type = 0) {
        Command command;
        command.view().set<"opcode">(static_cast<std::uint8_t>(opcode)).set<"nsid">(type);
        return flow_of(seen(command));
    };
    CHECK(flow(0x00) == Flow::none);
    CHECK(flow(0x01) == Flow::to_controller);
    CHECK(flow(0x02) == Flow::from_controller);
    CHECK(flow(0x7f, 0x00) == Flow::none);
    CHECK(flow(0x7f, 0x01) == Flow::to_controller);
    CHECK(flow(0x7f, 0x04) == Flow::none);
}
