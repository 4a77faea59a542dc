#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <set>

using namespace harness;
using prm::DeliveryStatus;
using prm::Opcode;

namespace {

constexpr std::uint64_t entry = CommandBench::queue;

Input<prm::SetHcaCapIn> long_input() { // nine mailboxes
    return Input<prm::SetHcaCapIn>(Opcode::set_hca_cap);
}
/// The delivery status of a command in slot 0 after `spoil` changed its bytes in memory.
template <class Spoil> DeliveryStatus delivery_after(CommandBench& bench, Spoil&& spoil, std::size_t out_length = 16) {
    bench.fill(long_input().bytes, out_length);
    spoil(bench);
    bench.ring(1);
    const auto out = bench.collect<prm::SetHcaCapOut>();
    CHECK(out.is_back);
    return out.delivery;
}
void poke(CommandBench& bench, std::uint64_t address, std::initializer_list<int> bytes) {
    std::vector<std::byte> raw;
    for (const auto b : bytes)
        raw.push_back(static_cast<std::byte>(b));
    bench.memory.poke(address, raw);
}

struct Booted : CommandBench {
    Booted() { REQUIRE(boot()); }
    explicit Booted(const model::hca::HcaConfig& config) : CommandBench(config) { REQUIRE(boot()); }
};

} // namespace

TEST_CASE("input and output longer than sixteen bytes travel in mailbox chains", "[unit][firmware][command_queue]") {
    Booted bench;
    const auto cap = bench.run<prm::QueryHcaCapOut>(Input<prm::QueryHcaCapIn>(Opcode::query_hca_cap, 1));
    REQUIRE(cap.is_ok());

    auto in = long_input();
    std::ranges::copy(std::span(cap.bytes).subspan(16), in.bytes.begin() + 16);
    CHECK(bench.run<prm::SetHcaCapOut>(in).is_ok());
}

TEST_CASE("a chain that breaks a rule is answered with the delivery status of that rule",
          "[unit][firmware][command_queue]") {
    Booted bench;
    const auto box = [](std::size_t n) { return CommandBench::in_box(0, n); };
    CHECK(delivery_after(bench, [](CommandBench&) {}) == DeliveryStatus::ok);

    CHECK(delivery_after(bench, [](CommandBench& b) { poke(b, entry, {6}); }) == DeliveryStatus::bad_descriptor_type);
    CHECK(delivery_after(bench, [](CommandBench& b) { poke(b, entry + 2, {1}); }) == DeliveryStatus::reserved_not_zero);
    CHECK(delivery_after(bench, [](CommandBench& b) { poke(b, entry + 0x3e, {1}); }) ==
          DeliveryStatus::reserved_not_zero);
    CHECK(delivery_after(bench, [](CommandBench& b) { poke(b, entry + 4, {0, 0, 0, 7}); }) ==
          DeliveryStatus::bad_input_length);
    CHECK(delivery_after(bench, [](CommandBench& b) { poke(b, entry + 0x38, {0, 0, 0, 7}); }) ==
          DeliveryStatus::bad_output_length);
    CHECK(delivery_after(bench, [](CommandBench& b) { poke(b, entry + 0x0f, {1}); }) ==
          DeliveryStatus::bad_input_pointer);
    CHECK(delivery_after(bench, [&](CommandBench& b) { b.set_token_of(box(3), 0x77); }) == DeliveryStatus::token_error);
    CHECK(delivery_after(bench, [&](CommandBench& b) { poke(b, box(4) + 0x238, {0, 0, 0, 9}); }) ==
          DeliveryStatus::bad_block_number);
    CHECK(delivery_after(bench, [&](CommandBench& b) { poke(b, box(1) + 0x237, {8}); }) ==
          DeliveryStatus::bad_input_pointer);
    CHECK(delivery_after(bench, [&](CommandBench& b) { poke(b, box(1) + 0x210, {1}); }) ==
          DeliveryStatus::reserved_not_zero);
}

TEST_CASE("a chain that ends too early is a wrong length, of its own direction", "[unit][firmware][command_queue]") {
    Booted bench;
    const auto nothing = {0, 0, 0, 0, 0, 0, 0, 0};
    CHECK(delivery_after(bench, [&](CommandBench& b) { poke(b, CommandBench::in_box(0, 2) + 0x230, nothing); }) ==
          DeliveryStatus::bad_input_length);
    CHECK(delivery_after(bench, [&](CommandBench& b) { poke(b, entry + 8, nothing); }) ==
          DeliveryStatus::bad_input_length);
    CHECK(delivery_after(
              bench, [&](CommandBench& b) { poke(b, entry + 0x30, nothing); }, 32) ==
          DeliveryStatus::bad_output_length);
}

TEST_CASE("a chain that bites its tail ends with a wrong block number", "[unit][firmware][command_queue]") {
    Booted bench;
    CHECK(delivery_after(bench, [](CommandBench& b) {
              std::array<std::byte, 8> first;
              abi::store<std::uint64_t, std::endian::big>(first.data(), CommandBench::in_box(0, 0));
              b.memory.poke(CommandBench::in_box(0, 0) + 0x230, first);
          }) == DeliveryStatus::bad_block_number);
}

TEST_CASE("mailboxes in memory that does not answer are an internal error", "[unit][firmware][command_queue]") {
    Booted bench;
    bench.memory.fail(CommandBench::in_box(0, 5), CommandBench::in_box(0, 6),
                      model::port::DmaStatus::unsupported_request);
    CHECK(delivery_after(bench, [](CommandBench&) {}) == DeliveryStatus::internal_error);
}

TEST_CASE("an output chain is checked before the command has an effect", "[unit][firmware][command_queue]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    bench.fill(Input<prm::AllocPdIn>(Opcode::alloc_pd).bytes, 600);
    bench.set_token_of(CommandBench::out_box(0, 1), 0);
    bench.ring(1);
    CHECK(bench.collect<prm::AllocPdOut>().delivery == DeliveryStatus::token_error);

    CHECK(bench.hca.protection_domains().count() == 0);
}

TEST_CASE("lengths beyond what a command can need are refused before a mailbox is read",
          "[unit][firmware][command_queue]") {
    CommandBench bench;
    REQUIRE(bench.enable());
    bench.fill(Input<prm::QueryIssiIn>(Opcode::query_issi).bytes, 0x70);
    poke(bench, entry + 4, {0xff, 0xff, 0xff, 0xff});
    bench.memory.clear_log();
    bench.ring(1);

    const auto out = bench.collect<prm::QueryIssiOut>(16);
    CHECK(out.delivery == DeliveryStatus::ok);
    CHECK(out.status() == prm::Status::bad_input_length);
    CHECK(bench.memory.log().size() <= 3); // entry in, answer out, ownership out
}

TEST_CASE("a claimed output of four gigabytes is written as far as the command goes",
          "[unit][firmware][command_queue]") {
    CommandBench bench;
    REQUIRE(bench.enable());
    bench.fill(Input<prm::QueryIssiIn>(Opcode::query_issi).bytes, 8192);
    poke(bench, entry + 0x38, {0xff, 0xff, 0xff, 0xff});
    bench.ring(1);

    CHECK(bench.collect<prm::QueryIssiOut>(0x70).is_ok());
    CHECK(bench.collect<prm::QueryIssiOut>(0x70).get<"supported_issi_dw0">() == 2);
}

TEST_CASE("the byte that gives the slot back is written last and alone", "[unit][firmware][command_queue]") {
    CommandBench bench;
    bench.memory.clear_log();
    REQUIRE(bench.enable());

    const auto& last = bench.memory.log().back();
    CHECK(last.kind == model::port::MemoryDma::Kind::write);
    CHECK(last.address == entry + 0x3f);
    CHECK(last.length == 1);
}

TEST_CASE("one doorbell may name many slots, the last of all included", "[unit][firmware][command_queue]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    for (unsigned slot = 0; slot < 32; ++slot)
        bench.fill(Input<prm::AllocPdIn>(Opcode::alloc_pd).bytes, 16, slot);
    bench.ring(0xffffffff);

    std::set<std::uint32_t> numbers;
    for (unsigned slot = 0; slot < 32; ++slot) {
        const auto out = bench.collect<prm::AllocPdOut>(16, slot);
        REQUIRE(out.is_ok());
        numbers.insert(out.get<"pd">());
    }
    CHECK(numbers.size() == 32);
}

TEST_CASE("a doorbell for an entry that software owns is ignored, and so is one before the address",
          "[unit][firmware][command_queue]") {
    CommandBench bench;
    REQUIRE(bench.enable());
    bench.ring(1 << 3 | 1 << 0);
    bench.device.reset();
    bench.ring(1);

    const auto ignored = bench.log.all<traces::DoorbellIgnored>();
    REQUIRE(ignored.size() == 3);
    CHECK(ignored[0].number == 0);
    CHECK(ignored[1].number == 3);
    CHECK(ignored[2].number == 0);
}

TEST_CASE("an unreadable command queue is survived", "[unit][firmware][command_queue]") {
    CommandBench bench;
    bench.memory.fail(entry, entry + 4096, model::port::DmaStatus::completer_abort);
    bench.fill(Input<prm::EnableHcaIn>(Opcode::enable_hca).bytes, 12);
    bench.ring(1);

    CHECK(!bench.collect<prm::EnableHcaOut>().is_back);
    bench.memory.clear_faults();
    bench.ring(1);
    CHECK(bench.collect<prm::EnableHcaOut>().is_ok());
}

TEST_CASE("with cmdif_checksum on, signatures are demanded and made", "[unit][firmware][command_queue]") {
    Booted bench;
    auto in = long_input();
    const auto cap = bench.run<prm::QueryHcaCapOut>(Input<prm::QueryHcaCapIn>(Opcode::query_hca_cap, 1));
    std::ranges::copy(std::span(cap.bytes).subspan(16), in.bytes.begin() + 16);
    abi::View<prm::CmdHcaCap>(in.view().sub<"capability">().bytes()).set<"cmdif_checksum">(3);
    REQUIRE(bench.run<prm::SetHcaCapOut>(in).is_ok());

    const auto query = Input<prm::QueryHcaCapIn>(Opcode::query_hca_cap, 1);
    SECTION("a signed command passes, and its answer is signed") {
        bench.fill(query.bytes, prm::QueryHcaCapOut::size, 0, true);
        bench.ring(1);
        CHECK(bench.collect<prm::QueryHcaCapOut>().is_ok());
        CHECK(prm::xor_of(bench.memory.peek(entry, 64)) == 0xff);
        for (std::size_t n = 0; n < 8; ++n)
            CHECK(prm::xor_of(bench.memory.peek(CommandBench::out_box(0, n), 576)) == 0xff);
    }
    SECTION("DISABLE_HCA forgets it and still signs its answer") {
        bench.fill(Input<prm::DisableHcaIn>(Opcode::disable_hca).bytes, prm::DisableHcaOut::size, 0, true);
        bench.ring(1);
        CHECK(bench.collect<prm::DisableHcaOut>().is_ok());
        CHECK(prm::xor_of(bench.memory.peek(entry, 64)) == 0xff);
    }
    SECTION("an entry without its signature does not") {
        bench.fill(query.bytes, prm::QueryHcaCapOut::size, 0, false);
        bench.ring(1);
        CHECK(bench.collect<prm::QueryHcaCapOut>().delivery == DeliveryStatus::signature_error);
    }
    SECTION("a mailbox whose data changed does not") {
        bench.fill(in.bytes, 16, 0, true);
        poke(bench, CommandBench::in_box(0, 3) + 17, {0x5a});
        bench.ring(1);
        CHECK(bench.collect<prm::SetHcaCapOut>().delivery == DeliveryStatus::signature_error);
    }
    SECTION("an output mailbox whose control bytes changed does not") {
        bench.fill(query.bytes, prm::QueryHcaCapOut::size, 0, true);
        poke(bench, CommandBench::out_box(0, 2) + 0x23e, {0x5a});
        bench.ring(1);
        CHECK(bench.collect<prm::QueryHcaCapOut>().delivery == DeliveryStatus::signature_error);
    }
}

TEST_CASE("commands are reported to the event queue for commands, except those that create and destroy it",
          "[unit][firmware][command_queue]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    const auto uar = bench.alloc_uar();
    for (std::uint64_t i = 0; i < 64; ++i)
        poke(bench, CommandBench::rings + i * 64 + 63, {1}); // software starts with owner 1
    const auto eqe = [&](std::uint64_t i) { return bench.memory.peek(CommandBench::rings + i * 64, 64); };
    const auto is_written = [&](std::uint64_t i) { return (eqe(i)[63] & std::byte{1}) == std::byte{0}; };

    const auto eqn = bench.run<prm::CreateEqOut>(CommandBench::eq_input(uar, 1 << 0x0a)).get<"eq_number">();
    CHECK(!is_written(0));

    bench.fill(Input<prm::AllocPdIn>(Opcode::alloc_pd).bytes, 16, 4);
    bench.fill(Input<prm::AllocPdIn>(Opcode::alloc_pd).bytes, 16, 9);
    bench.ring(1 << 4 | 1 << 9);
    REQUIRE(is_written(0));
    REQUIRE(is_written(1));
    CHECK(eqe(0)[1] == std::byte{0x0a});
    CHECK(abi::load<std::uint32_t, std::endian::big>(eqe(0).data() + 0x20) == 1 << 4);
    CHECK(abi::load<std::uint32_t, std::endian::big>(eqe(1).data() + 0x20) == 1 << 9);

    CHECK(bench.run<prm::DestroyEqOut>(Input<prm::DestroyEqIn>(Opcode::destroy_eq).set<"eq_number">(eqn)).is_ok());
    bench.alloc_pd();
    CHECK(!is_written(2));
}

TEST_CASE("a command that cannot be delivered is reported by an event as well", "[unit][firmware][command_queue]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    const auto uar = bench.alloc_uar();
    REQUIRE(bench.run<prm::CreateEqOut>(CommandBench::eq_input(uar, 1 << 0x0a)).is_ok());
    bench.fill(Input<prm::AllocPdIn>(Opcode::alloc_pd).bytes, 16);
    poke(bench, entry, {3});
    bench.ring(1);

    CHECK(bench.log.all<traces::EventWritten>().size() == 1);
    const auto executed = bench.log.all<traces::CommandExecuted>().back();
    CHECK(executed.why == "bad descriptor type");
    CHECK(executed.delivery == static_cast<unsigned>(prm::DeliveryStatus::bad_descriptor_type));
}

TEST_CASE("with the timing model on a command takes its latency, and slots wait for one another",
          "[unit][firmware][command_queue]") {
    model::hca::HcaConfig config;
    config.command_latency = 2us;
    CommandBench bench(config);
    bench.fill(Input<prm::EnableHcaIn>(Opcode::enable_hca).bytes, 12, 0);
    bench.fill(Input<prm::QueryIssiIn>(Opcode::query_issi).bytes, 0x70, 1);
    bench.ring(3);
    CHECK(!bench.collect<prm::EnableHcaOut>().is_back);
    REQUIRE(bench.clock.next() == 2us);

    bench.clock.set(2us);
    bench.device.wake(2us);
    CHECK(bench.collect<prm::EnableHcaOut>().is_ok());
    CHECK(!bench.collect<prm::QueryIssiOut>(0x70, 1).is_back);
    REQUIRE(bench.clock.next() == 4us);

    bench.clock.set(4us);
    bench.device.wake(4us);
    CHECK(bench.collect<prm::QueryIssiOut>(0x70, 1).is_ok());
}

TEST_CASE("a slot rung twice before it was served is served once", "[unit][firmware][command_queue]") {
    CommandBench bench(model::hca::HcaConfig{});
    bench.fill(Input<prm::EnableHcaIn>(Opcode::enable_hca).bytes, 12);
    bench.ring(1);
    bench.ring(1);
    bench.wait_for_answer(0);

    CHECK(bench.log.all<traces::CommandExecuted>().size() == 1);
    CHECK(bench.log.all<traces::DoorbellIgnored>().empty());
}

TEST_CASE("a command is answered behind everything that the device had written", "[unit][firmware][command_queue]") {
    Booted bench;
    const auto later = bench.clock.now() + 17us;
    REQUIRE(bench.memory.write(abi::BusAddress{0x9000000}, std::array{std::byte{1}}, later).is_ok());
    bench.memory.clear_log();

    REQUIRE(bench.run<prm::QueryHcaCapOut>(Input<prm::QueryHcaCapIn>(Opcode::query_hca_cap, 1)).is_ok());

    std::size_t writes = 0;
    for (const auto& access : bench.memory.log())
        if (access.kind == model::port::MemoryDma::Kind::write) {
            CHECK(access.at >= later);
            ++writes;
        }
    CHECK(writes > 2); // mailboxes, the entry, the byte that hands it back
}
