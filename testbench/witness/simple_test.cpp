// Layouts of abi/simple against the tables of its document, model/simple/README.md, written down once more: the offset
// and the bits of each field as the manual prints them.
#include "abi/simple/command.h"
#include "abi/simple/queue.h"
#include "abi/simple/registers.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

using namespace abi::simple;

namespace {

struct Row {
    std::string_view name;
    std::size_t offset;
    unsigned high, low; ///< of bits from the offset's dword on; 8 * bytes - 1 and 0 of what is whole
};

/// The layout has these rows, at these places, and no others.
template <class L, std::size_t n> void is_as_printed(std::size_t size, const std::array<Row, n>& rows) {
    CHECK(L::size == size);
    REQUIRE(L::fields.size() == n);
    CHECK(L::endian == abi::Endian::little);
    for (std::size_t i = 0; i < n; ++i) {
        CAPTURE(std::string(rows[i].name));
        const auto& field = L::fields[i];
        const bool is_bits = field.kind == abi::FieldKind::bits;
        CHECK(field.name == rows[i].name);
        CHECK(field.offset == rows[i].offset);
        CHECK((is_bits ? field.high : static_cast<unsigned>(field.bytes * 8 - 1)) == rows[i].high);
        CHECK((is_bits ? field.low : 0) == rows[i].low);
    }
}

} // namespace

TEST_CASE("registers are where the manual has them", "[witness][simple]") {
    is_as_printed<Registers>(0x80, std::to_array<Row>({{"identity", 0x00, 31, 0},
                                                       {"version", 0x04, 31, 0},
                                                       {"log_qps", 0x08, 7, 0},
                                                       {"log_cqs", 0x08, 15, 8},
                                                       {"log_regions", 0x08, 23, 16},
                                                       {"log_entries", 0x08, 31, 24},
                                                       {"log_message", 0x0c, 7, 0},
                                                       {"reads", 0x0c, 15, 8},
                                                       {"is_infiniband", 0x0c, 16, 16},
                                                       {"lid", 0x10, 15, 0},
                                                       {"memory_bytes", 0x18, 63, 0},
                                                       {"memory_free", 0x20, 63, 0},
                                                       {"mac", 0x28, 47, 0},
                                                       {"gid", 0x30, 127, 0},
                                                       {"command", 0x40, 31, 0},
                                                       {"is_busy", 0x44, 0, 0},
                                                       {"status", 0x44, 15, 8},
                                                       {"result", 0x48, 31, 0}}));
    CHECK(identity == 0x41434853);
    CHECK(interface_version == 1);
    CHECK(arguments_offset == 0x80);
    CHECK(arguments_bytes == 128);
    CHECK(doorbells_offset == 0x1000);
    CHECK(vendor_id == 0x1234);
    CHECK(device_id == 0x51a1);
    is_as_printed<Doorbell>(8, std::to_array<Row>({{"send", 0, 31, 0}, {"receive", 4, 31, 0}}));
}

TEST_CASE("commands, statuses and states have the numbers of the manual", "[witness][simple]") {
    unsigned number = 0;
    for (const auto command :
         {Command::nop, Command::create_region, Command::destroy_region, Command::create_cq, Command::destroy_cq,
          Command::create_qp, Command::destroy_qp, Command::connect_qp, Command::fail_qp, Command::query_qp})
        CHECK(static_cast<unsigned>(command) == number++);
    number = 0;
    for (const auto status :
         {Status::ok, Status::bad_command, Status::bad_argument, Status::no_number, Status::no_memory,
          Status::no_object, Status::busy, Status::bad_state, Status::unreadable})
        CHECK(static_cast<unsigned>(status) == number++);
    CHECK(static_cast<unsigned>(QpState::reset) == 0);
    CHECK(static_cast<unsigned>(QpState::ready) == 1);
    CHECK(static_cast<unsigned>(QpState::error) == 2);
}

TEST_CASE("arguments of commands are where the manual has them", "[witness][simple]") {
    is_as_printed<CreateRegion>(0x28, std::to_array<Row>({{"iova", 0x00, 63, 0},
                                                          {"length", 0x08, 63, 0},
                                                          {"page_list", 0x10, 63, 0},
                                                          {"pd", 0x18, 31, 0},
                                                          {"local_write", 0x1c, 0, 0},
                                                          {"remote_write", 0x1c, 1, 1},
                                                          {"remote_read", 0x1c, 2, 2},
                                                          {"log_page_size", 0x20, 7, 0}}));
    is_as_printed<CreateCq>(0x10, std::to_array<Row>({{"ring", 0x00, 63, 0}, {"log_entries", 0x08, 7, 0}}));
    is_as_printed<CreateQp>(0x20, std::to_array<Row>({{"send_ring", 0x00, 63, 0},
                                                      {"receive_ring", 0x08, 63, 0},
                                                      {"pd", 0x10, 31, 0},
                                                      {"log_sends", 0x14, 7, 0},
                                                      {"log_receives", 0x14, 15, 8},
                                                      {"send_cqn", 0x18, 31, 0},
                                                      {"receive_cqn", 0x1c, 31, 0}}));
    is_as_printed<ConnectQp>(0x40, std::to_array<Row>({{"qpn", 0x00, 31, 0},         {"remote_qpn", 0x04, 23, 0},
                                                       {"send_psn", 0x08, 23, 0},    {"receive_psn", 0x0c, 23, 0},
                                                       {"mtu", 0x10, 2, 0},          {"service_level", 0x10, 11, 8},
                                                       {"hop_limit", 0x10, 23, 16},  {"traffic_class", 0x10, 31, 24},
                                                       {"remote_write", 0x14, 0, 0}, {"remote_read", 0x14, 1, 1},
                                                       {"reads_sent", 0x14, 15, 8},  {"reads_taken", 0x14, 23, 16},
                                                       {"ack_timeout", 0x18, 4, 0},  {"retry_count", 0x18, 10, 8},
                                                       {"rnr_retry", 0x18, 14, 12},  {"rnr_timer", 0x18, 20, 16},
                                                       {"remote_lid", 0x1c, 15, 0},  {"udp_source_port", 0x1c, 31, 16},
                                                       {"remote_mac", 0x20, 47, 0},  {"remote_gid", 0x28, 127, 0}}));
    is_as_printed<OneNumber>(0x4, std::to_array<Row>({{"number", 0x00, 31, 0}}));
}

TEST_CASE("descriptors and completions are as the manual prints them", "[witness][simple]") {
    is_as_printed<Descriptor>(64, std::to_array<Row>({{"cookie", 0x00, 63, 0},
                                                      {"operation", 0x08, 7, 0},
                                                      {"is_signaled", 0x08, 8, 8},
                                                      {"is_solicited", 0x08, 9, 9},
                                                      {"is_fenced", 0x08, 10, 10},
                                                      {"immediate", 0x0c, 31, 0},
                                                      {"address", 0x10, 63, 0},
                                                      {"key", 0x18, 31, 0},
                                                      {"length", 0x1c, 31, 0},
                                                      {"remote_address", 0x20, 63, 0},
                                                      {"remote_key", 0x28, 31, 0}}));
    is_as_printed<Completion>(32, std::to_array<Row>({{"cookie", 0x00, 63, 0},
                                                      {"index", 0x08, 31, 0},
                                                      {"byte_count", 0x0c, 31, 0},
                                                      {"immediate", 0x10, 31, 0},
                                                      {"qpn", 0x14, 23, 0},
                                                      {"source_qpn", 0x18, 23, 0},
                                                      {"outcome", 0x1c, 7, 0},
                                                      {"operation", 0x1c, 15, 8},
                                                      {"is_receive", 0x1c, 16, 16},
                                                      {"has_immediate", 0x1c, 17, 17},
                                                      {"is_solicited", 0x1c, 18, 18},
                                                      {"phase", 0x1c, 31, 31}}));
    unsigned number = 0;
    for (const auto operation : {Operation::nop, Operation::write, Operation::write_imm, Operation::read,
                                 Operation::send, Operation::send_imm})
        CHECK(static_cast<unsigned>(operation) == number++);
    number = 0;
    for (const auto outcome : {Outcome::success, Outcome::local_length_error, Outcome::local_operation_error,
                               Outcome::local_protection_error, Outcome::flushed, Outcome::bad_response,
                               Outcome::remote_invalid_request, Outcome::remote_access_error,
                               Outcome::remote_operation_error, Outcome::retry_exceeded, Outcome::rnr_retry_exceeded})
        CHECK(static_cast<unsigned>(outcome) == number++);
}
