// What the simple HCA owes its peer by the transport's rules (IBA 9.7.4, 9.7.5, 9.9.3): which NAK, with which number,
// and which READs count.
#include "testbench/unit/model/simple/bare.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

using namespace abi::simple;
using namespace harness;
using abi::wire::NakCode;
using WireOperation = abi::wire::Operation;

namespace {

constexpr std::uint32_t mtu = 1024;

/// A region that the peer may read and write, and one connection, whose peer is the test.
struct Bench : Bare {
    using Change = std::function<void(abi::View<ConnectQp>)>;
    explicit Bench(const Change& change = {}, model::simple::SimpleConfig config = {}) : Bare(config) {
        CHECK(run(Command::create_region, region_arguments()) == Status::ok);
        key = abi::Key{result()};
        qpn = make_qp(make_cq());
        auto arguments = connect_arguments(qpn);
        if (change)
            change(arguments.view());
        CHECK(run(Command::connect_qp, arguments) == Status::ok);
    }
    void request(WireOperation operation, std::uint32_t psn, std::uint32_t length, std::size_t payload = 0) {
        model::port::Path path;
        path.encapsulation = model::port::Encapsulation::roce_v2_ipv6;
        path.destination_mac = sw::verbs::mac_of(0x02'00'00'00'00'01u);
        request(path, operation, psn, length, payload);
    }
    void request(const model::port::Path& path, WireOperation operation, std::uint32_t psn, std::uint32_t length,
                 std::size_t payload) {
        auto& wire = link.end(1);
        auto& packet = wire.next();
        packet.path = path;
        auto& head = packet.rdma();
        head.operation = operation;
        head.destination = abi::Qpn{qpn};
        head.pkey = 0xffff;
        head.psn = abi::Psn{psn};
        head.ack_request = true;
        head.reth = {0x5000, key, length};
        head.aeth.syndrome = aeth_syndrome;
        packet.payload.append_copy(std::vector(payload, std::byte{1}));
        wire.send(clock.now());
    }
    void settle() { run(clock.now() + 100us); }
    using Bare::run;
    std::uint8_t aeth_syndrome = 0; ///< of packets that have one
    std::vector<model::port::RdmaHeaders> take() { return std::exchange(received, {}); }
    void check_refused(NakCode code, std::uint32_t psn) {
        settle();
        const auto answers = take();
        REQUIRE(answers.size() == 1);
        CHECK(answers[0].operation == WireOperation::acknowledge);
        CHECK(answers[0].aeth.syndrome == abi::wire::nak_syndrome(code));
        CHECK(answers[0].psn == abi::Psn{psn});
        CHECK(run_with(Command::query_qp, qpn) == Status::ok);
        CHECK(result() == 2);
    }

    abi::Key key{};
    std::uint32_t qpn = 0;
};

} // namespace

TEST_CASE("what a queue pair of the simple HCA does not take is an invalid request, not an access error",
          "[unit][simple][nak]") {
    SECTION("WRITE") {
        Bench bench([](auto in) { in.template set<"remote_write">(false); });
        bench.request(WireOperation::write_only, 0, 16, 16);
        bench.check_refused(NakCode::invalid_request, 0);
    }
    SECTION("READ") {
        Bench bench([](auto in) { in.template set<"remote_read">(false); });
        bench.request(WireOperation::read_request, 0, 16);
        bench.check_refused(NakCode::invalid_request, 0);
    }
    SECTION("what the key does not allow is an access error") {
        Bench bench;
        bench.request(WireOperation::write_only, 0, 2 * mtu, mtu);
        bench.check_refused(NakCode::invalid_request, 0); // one packet brings less than it announces
        Bench other;
        other.key = abi::Key{other.key.value + 1};
        other.request(WireOperation::write_only, 0, 16, 16);
        other.check_refused(NakCode::remote_access_error, 0);
    }
}

TEST_CASE("a repeated READ of a region that has gone is refused by the simple HCA under its own number",
          "[unit][simple][nak]") {
    Bench bench;
    bench.request(WireOperation::read_request, 0, 3 * mtu);
    bench.settle();
    REQUIRE(bench.take().size() == 3);
    CHECK(bench.run_with(Command::destroy_region, bench.key.value) == Status::ok);

    bench.request(WireOperation::read_request, 0, 3 * mtu);

    bench.check_refused(NakCode::remote_access_error, 0);
}

TEST_CASE("a READ that comes a second time is no reason for the simple HCA to refuse the next one",
          "[unit][simple][duplicate]") {
    Bench bench([](auto in) { in.template set<"reads_taken">(1u); });
    bench.request(WireOperation::read_request, 0, 16 * mtu);
    bench.settle();
    REQUIRE(bench.take().size() == 16);

    bench.request(WireOperation::read_request, 0, 16 * mtu); // the network has made two of it
    bench.request(WireOperation::read_request, 16, mtu);
    bench.settle();

    const auto answers = bench.take();
    REQUIRE(answers.size() == 17);
    for (std::uint32_t i = 0; i < 17; ++i) {
        CHECK(answers[i].psn == abi::Psn{i});
        CHECK(answers[i].operation != WireOperation::acknowledge);
    }
}

TEST_CASE("more READs than the simple HCA takes at a time are an invalid request", "[unit][simple][nak]") {
    Bench bench([](auto in) { in.template set<"reads_taken">(1u); });
    bench.request(WireOperation::read_request, 0, 16 * mtu);
    bench.request(WireOperation::read_request, 16, mtu);
    bench.settle();

    const auto answers = bench.take();
    REQUIRE(answers.size() == 17);
    CHECK(answers.back().psn == abi::Psn{16});
    CHECK(answers.back().aeth.syndrome == abi::wire::nak_syndrome(NakCode::invalid_request));
}

TEST_CASE("a READ or WRITE of no bytes needs no key at the simple HCA", "[unit][simple]") {
    Bench bench;
    bench.key = abi::Key{0xbad};
    bench.request(WireOperation::read_request, 0, 0);
    bench.request(WireOperation::write_only, 1, 0);
    bench.settle();

    const auto answers = bench.take();
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].operation == WireOperation::read_response_only);
    CHECK(answers[1].aeth.syndrome == abi::wire::ack_syndrome());
}

TEST_CASE("a packet with a global route for another port is dropped by the simple HCA", "[unit][simple]") {
    model::simple::SimpleConfig config;
    config.is_ethernet = false;
    Bench bench([](auto in) { in.template set<"remote_lid">(std::uint16_t{2}); }, config);
    model::port::Path path;
    path.encapsulation = model::port::Encapsulation::infiniband;
    path.source_lid = 2, path.destination_lid = 1;
    path.has_grh = true;
    path.destination_gid[15] = std::byte{9};
    bench.request(path, WireOperation::write_only, 0, 16, 16);
    bench.settle();
    CHECK(bench.take().empty());

    path.destination_gid = {}; // the port's own, which nobody has set
    bench.request(path, WireOperation::write_only, 0, 16, 16);
    bench.settle();
    CHECK(bench.take().size() == 1);
}

TEST_CASE("a gap is refused once by the simple HCA, with the number that is missing", "[unit][simple][nak]") {
    Bench bench;
    bench.request(WireOperation::write_only, 2, 16, 16);
    bench.request(WireOperation::write_only, 3, 16, 16);
    bench.settle();
    auto answers = bench.take();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].aeth.syndrome == abi::wire::nak_syndrome(NakCode::psn_sequence_error));
    CHECK(answers[0].psn == abi::Psn{0});

    bench.request(WireOperation::write_only, 0, 16, 16);
    bench.request(WireOperation::write_only, 2, 16, 16); // a gap again, which is another one
    bench.settle();
    answers = bench.take();
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].aeth.syndrome == abi::wire::ack_syndrome());
    CHECK(answers[1].psn == abi::Psn{1});
}

namespace {
/// A long READ, whose answers keep what is owed behind them on the card for a while.
struct LongRead : Bench {
    static constexpr std::uint32_t behind = 16;
    LongRead() { read(); }
    void read() { request(WireOperation::read_request, 0, behind * mtu); }
    void write(std::uint32_t psn) { request(WireOperation::write_only, psn, 16, 16); }
    /// Number and syndrome of what follows the last response.
    using Short = std::vector<std::pair<std::uint32_t, unsigned>>;
    Short acknowledgements() {
        settle();
        Short all;
        for (const auto& answer : take())
            if (answer.operation == WireOperation::acknowledge)
                all.emplace_back(answer.psn.value, answer.aeth.syndrome);
        return all;
    }
};
constexpr unsigned good = abi::wire::ack_syndrome(), gap = abi::wire::nak_syndrome(NakCode::psn_sequence_error);
} // namespace

TEST_CASE("a late copy of a WRITE takes no acknowledgement of the simple HCA back", "[unit][simple][duplicate]") {
    LongRead bench;
    for (const std::uint32_t psn : {16, 17, 18, 16})
        bench.write(psn);

    const auto owed = bench.acknowledgements();

    REQUIRE_FALSE(owed.empty());
    CHECK(owed.back() == std::pair(18u, good));
}

TEST_CASE("what the simple HCA owes behind a READ stays owed when the network makes two of the READ",
          "[unit][simple][duplicate]") {
    SECTION("an acknowledgement") {
        LongRead bench;
        bench.write(16);
        bench.read();
        CHECK(bench.acknowledgements() == LongRead::Short{{16, good}});
    }
    SECTION("the refusal of a gap, which the next packet behind it brings") {
        LongRead bench;
        bench.write(17);
        bench.read();
        bench.write(18);
        CHECK(bench.acknowledgements() == LongRead::Short{{16, gap}});
    }
}

namespace {
/// A WRITE under way, of one packet unless it is longer, whose first number is 0, and its completion when it has ended.
struct OneWrite : Bench {
    explicit OneWrite(std::uint32_t length = 16, const Change& change = {}) : Bench(change) {
        const abi::View<Descriptor> descriptor(std::span(host.memory.at(0x20000), 64));
        descriptor.set<"operation">(Operation::write)
            .set<"is_signaled">(true)
            .set<"address">(0x5000)
            .set<"key">(key.value)
            .set<"length">(length);
        write(doorbells_offset + qpn * 8, 1);
        run(clock.now() + 10us);
    }
    std::optional<Outcome> answer(std::uint32_t psn, std::uint8_t syndrome) {
        auto& wire = link.end(1);
        auto& packet = wire.next();
        packet.path.encapsulation = model::port::Encapsulation::roce_v2_ipv6;
        packet.path.destination_mac = sw::verbs::mac_of(0x02'00'00'00'00'01u);
        auto& head = packet.rdma();
        head.operation = WireOperation::acknowledge;
        head.destination = abi::Qpn{qpn};
        head.pkey = 0xffff;
        head.psn = abi::Psn{psn};
        head.aeth = {.syndrome = syndrome, .msn = 1};
        wire.send(clock.now());
        run(clock.now() + 10us);
        const abi::ConstView<Completion> first(std::span<const std::byte>(host.memory.at(0x10000), 32));
        return first.get<"phase">() == 1 ? std::optional(first.get<"outcome">()) : std::nullopt;
    }
};
} // namespace

TEST_CASE("a NAK with a reserved code is a bad response to the simple HCA", "[unit][simple][bad]") {
    for (const std::uint8_t code : {5, 31})
        CHECK(OneWrite().answer(0, abi::wire::nak_syndrome(static_cast<NakCode>(code))) == Outcome::bad_response);
    CHECK(OneWrite().answer(0, abi::wire::nak_syndrome(NakCode::invalid_request)) == Outcome::remote_invalid_request);
    CHECK(OneWrite().answer(0, abi::wire::nak_syndrome(NakCode::remote_access_error)) == Outcome::remote_access_error);
    CHECK(OneWrite().answer(0, abi::wire::nak_syndrome(NakCode::remote_operational_error)) ==
          Outcome::remote_operation_error);
}

TEST_CASE("an answer to what was never sent, or is acknowledged, is a ghost to the simple HCA", "[unit][simple][bad]") {
    OneWrite bench;
    CHECK_FALSE(bench.answer(1, abi::wire::ack_syndrome()));
    CHECK_FALSE(bench.answer(1, abi::wire::nak_syndrome(NakCode::invalid_request)));
    CHECK_FALSE(bench.answer(abi::Psn::mask, abi::wire::nak_syndrome(NakCode::invalid_request)));
    CHECK(bench.answer(0, abi::wire::ack_syndrome()) == Outcome::success);
    bench.answer(0, abi::wire::nak_syndrome(NakCode::invalid_request));
    CHECK(bench.run_with(Command::query_qp, bench.qpn) == Status::ok);
    CHECK(bench.result() == 1);
}

TEST_CASE("a refusal that comes twice counts once at the simple HCA while it waits for the receiver",
          "[unit][simple][retry]") {
    OneWrite bench(16, [](auto in) { in.template set<"rnr_retry">(1u); });
    constexpr std::uint8_t longest = 0;
    CHECK_FALSE(bench.answer(0, abi::wire::rnr_syndrome(longest)));
    CHECK_FALSE(bench.answer(0, abi::wire::rnr_syndrome(longest)));
    CHECK(bench.run_with(Command::query_qp, bench.qpn) == Status::ok);
    CHECK(bench.result() == 1);
}

TEST_CASE("an answer to what the simple HCA has sent counts while it sends it again", "[unit][simple][retry]") {
    constexpr std::uint32_t last = 15;
    const auto answered = [](Time at, std::uint8_t syndrome) {
        OneWrite bench(16 * mtu);
        bench.run(at);
        return bench.answer(last, syndrome);
    };

    for (Time at = 70us; at < 76us; at += 100ns) { // about its time-out
        INFO("at " << at.count() << " ps");
        CHECK(answered(at, abi::wire::ack_syndrome()) == Outcome::success);
        CHECK(answered(at, abi::wire::nak_syndrome(NakCode::remote_access_error)) == Outcome::remote_access_error);
    }
}

TEST_CASE("a READ response that does not begin with its first packet, or that comes with a NAK, fails the READ of the "
          "simple HCA",
          "[unit][simple][bad]") {
    const auto ask = [](WireOperation operation, std::size_t payload, std::uint8_t syndrome = 0) {
        Bench bench;
        const abi::View<Descriptor> descriptor(std::span(bench.host.memory.at(0x20000), 64));
        descriptor.set<"operation">(Operation::read)
            .set<"is_signaled">(true)
            .set<"address">(0x5000)
            .set<"key">(bench.key.value)
            .set<"length">(2 * mtu);
        bench.write(doorbells_offset + bench.qpn * 8, 1);
        bench.run(bench.clock.now() + 10us);
        bench.aeth_syndrome = syndrome;
        bench.request(operation, 0, 0, payload);
        bench.run(bench.clock.now() + 10us);
        const abi::ConstView<Completion> first(std::span<const std::byte>(bench.host.memory.at(0x10000), 32));
        return std::pair(first.get<"phase">() == 1, first.get<"outcome">());
    };

    CHECK(ask(WireOperation::read_response_middle, mtu) == std::pair(true, Outcome::bad_response));
    CHECK(ask(WireOperation::read_response_first, mtu).first == false); // and waits for the other one
    for (const auto syndrome : {abi::wire::nak_syndrome(NakCode::remote_access_error), abi::wire::rnr_syndrome(1)})
        CHECK(ask(WireOperation::read_response_first, mtu, syndrome) == std::pair(true, Outcome::bad_response));
}
