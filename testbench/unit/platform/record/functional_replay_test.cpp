// An HCA whose timing, splitting or coalescing has changed plays a recording as far as any driver can tell; one that
// does something else does not.
#include "platform/record/functional_replay.h"

#include "abi/prm/wqe.h"

#include "testbench/planted/changed_device.h"
#include "testbench/unit/platform/record/hca_session.h"

#include "traces/monitor/packet.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace hca_session;
using Catch::Matchers::ContainsSubstring;
using changed_device::Change;
using Kind = Divergence::Kind;

namespace {

using MakeDevice = std::function<std::unique_ptr<model::pcie::Device>(const model::pcie::DevicePorts&)>;

MakeDevice hca(const HcaConfig& config) {
    return [config](const model::pcie::DevicePorts& ports) {
        return std::make_unique<platform::card::Mlx5Device>(config, ports, traces::Events{});
    };
}

template <class How, class... Mode>
Replay::Result play_on(const trace_bench::Bytes& trace, const DeviceInterfaces& interfaces, const MakeDevice& make,
                       Mode... mode) {
    trace_bench::MemorySource source(trace);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    How replay(reader, interfaces, mode...);
    const auto device = make(replay.ports());
    return replay.run(*device);
}
Replay::Result functional(const trace_bench::Bytes& trace, const DeviceInterfaces& interfaces, const MakeDevice& make) {
    return play_on<FunctionalReplay>(trace, interfaces, make);
}

} // namespace

TEST_CASE("an HCA that has not changed plays functionally, at either end of the cable", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config);

    const auto left = functional(trace, left_interfaces, hca(config));
    const auto right = functional(trace, right_interfaces, hca(Hosts::neighbour(config)));

    CHECK(why(left) == "");
    CHECK(why(right) == "");
    CHECK(left.records > 1000);
}

// --- changes of time, splitting and coalescing ---

namespace {

/// The device is the same but for this.
MakeDevice changed(const HcaConfig& config, const Change& change) {
    return [=](const model::pcie::DevicePorts& ports) {
        return std::make_unique<changed_device::ChangedDevice>(ports, change, hca(config));
    };
}
Replay::Result strict(const trace_bench::Bytes& trace, const DeviceInterfaces& interfaces, const MakeDevice& make) {
    return play_on<Replay>(trace, interfaces, make, Replay::Mode::strict);
}

} // namespace

TEST_CASE("an HCA that takes another time is the same to its driver and its peer", "[unit][record]") {
    const auto config = configured(true);
    const auto trace = recorded(config);
    auto other = config;
    const auto factor = GENERATE(0, 2, 10);
    for (auto* latency : {&other.doorbell_latency, &other.wqe_latency, &other.packet_latency, &other.responder_latency,
                          &other.cqe_latency, &other.mkey_miss, &other.mtt_miss, &other.command_latency})
        *latency *= factor;
    auto neighbour = other;
    ++neighbour.node_guid;

    const auto moved = strict(trace, left_interfaces, hca(other));

    CHECK(why(functional(trace, left_interfaces, hca(other))) == "");
    CHECK(why(functional(trace, right_interfaces, hca(neighbour))) == "");
    REQUIRE(moved.divergence);
    CHECK(moved.divergence->kind == Kind::time);
}

TEST_CASE("an HCA that works on WQEs more slowly is the same, and strictly moves at the first one", "[unit][record]") {
    const auto config = configured(true);
    const auto trace = recorded(config);
    auto slower = config;
    slower.wqe_latency += 10ns;

    const auto moved = strict(trace, left_interfaces, hca(slower));

    CHECK(why(functional(trace, left_interfaces, hca(slower))) == "");
    REQUIRE(moved.divergence);
    CHECK(moved.divergence->kind == Kind::time);
    CHECK(moved.records > 100);
}

TEST_CASE("an HCA that splits its accesses into pieces of half the size is the same", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config);
    const auto halved = changed(config, {.most_bytes = 512});

    const auto moved = strict(trace, left_interfaces, halved);

    CHECK(why(functional(trace, left_interfaces, halved)) == "");
    REQUIRE(moved.divergence);
    CHECK(moved.divergence->kind == Kind::field); // the same access of fewer bytes
}

TEST_CASE("an HCA that puts acknowledgements together otherwise is the same", "[unit][record]") {
    const auto config = configured(true);
    const auto trace = recorded(config);
    const bool is_each = GENERATE(true, false);
    const auto otherwise =
        changed(Hosts::neighbour(config), {.acknowledges_each = is_each, .acknowledges_late = !is_each});

    const auto moved = strict(trace, right_interfaces, otherwise);

    CHECK(why(functional(trace, right_interfaces, otherwise)) == "");
    CHECK(moved.divergence);
}

// --- mistakes ---

namespace {

using Bytes = trace_bench::Bytes;

/// Writes of 64 bytes: an entry of a completion queue for a WRITE, a completion event.
bool is_cqe(std::span<const std::byte> bytes) {
    const auto sop = static_cast<std::byte>(abi::prm::WqeOpcode::rdma_write);
    return bytes.size() == 64 && bytes[0x38] == sop && (bytes[0x3f] & std::byte{0xf0}) == std::byte{};
}
bool is_eqe(std::span<const std::byte> bytes) {
    return bytes.size() == 64 && bytes[0x38] == std::byte{} && bytes[0x3b] != std::byte{} &&
           (bytes[0x3f] & std::byte{0xf0}) == std::byte{} && bytes[1] == std::byte{};
}
bool is_payload(std::span<const std::byte> bytes) { return bytes.size() > 900; }

/// The number of the record in which the device has written such bytes for the n-th time, from 1.
std::uint64_t record_of(const Bytes& trace, std::uint32_t interface, bool (*is_it)(std::span<const std::byte>),
                        unsigned n) {
    const auto story = trace_bench::read_all(trace);
    for (std::size_t i = 0; i < story.records.size(); ++i) {
        const auto& record = story.records[i];
        if (record.interface == interface && record.mark.direction == codec::Direction::outbound &&
            record.mark.kind == codec::RecordKind::request && is_it(record.payload) && --n == 0)
            return i + 1;
    }
    return 0;
}
/// The number of the record of the n-th request among the frames that were sent by a port.
std::uint64_t frame_of(const Bytes& trace, std::uint32_t interface, unsigned n) {
    const auto story = trace_bench::read_all(trace);
    for (std::size_t i = 0; i < story.records.size(); ++i) {
        const auto& record = story.records[i];
        if (record.interface != interface || record.mark.direction != codec::Direction::outbound)
            continue;
        const auto packet = traces::monitor::read_packet(codec::InterfaceKind::ethernet, record.head);
        if (packet && packet->traits().is_request() && --n == 0)
            return i + 1;
    }
    return 0;
}
auto nth(bool (*is_it)(std::span<const std::byte>), unsigned n) {
    return [=](const Bytes& bytes) mutable { return is_it(bytes) && --n == 0; };
}

} // namespace

TEST_CASE("a field of a CQE that is another is named", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config);
    const Change change{.write = [is_it = nth(is_cqe, 2)](Bytes& bytes) mutable {
        if (is_it(bytes))
            bytes[0x3d] ^= std::byte{1}; // wqe_counter
        return true;
    }};

    const auto result = functional(trace, left_interfaces, changed(config, change));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::field);
    CHECK(result.divergence->record == record_of(trace, 0, is_cqe, 2));
}

TEST_CASE("the time stamp and the signature of a CQE are free", "[unit][record]") {
    const auto config = configured(false);
    const auto trace = recorded(config);
    const Change change{.write = [](Bytes& bytes) {
        if (is_cqe(bytes))
            bytes[0x33] ^= std::byte{1}, bytes[0x3e] ^= std::byte{1};
        return true;
    }};

    CHECK(why(functional(trace, left_interfaces, changed(config, change))) == "");
}

TEST_CASE("an entry that says the other pass of its ring is named", "[unit][record]") {
    const auto config = configured(false);
    const auto trace = recorded(config);
    const Change change{.write = [is_it = nth(is_cqe, 1)](Bytes& bytes) mutable {
        if (is_it(bytes))
            bytes[0x3f] ^= std::byte{1};
        return true;
    }};

    const auto result = functional(trace, left_interfaces, changed(config, change));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::field);
    CHECK(result.divergence->record == record_of(trace, 0, is_cqe, 1));
}

TEST_CASE("an event that is left out is missing", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config);
    const Change change{.write = [is_it = nth(is_eqe, 1)](Bytes& bytes) mutable { return !is_it(bytes); }};

    const auto result = functional(trace, left_interfaces, changed(config, change));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::missing);
    CHECK(result.divergence->record == record_of(trace, 0, is_eqe, 1));
}

TEST_CASE("a byte of a message that is another is named", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config);
    const Change change{.most_bytes = 512, .write = [is_it = nth(is_payload, 5)](Bytes& bytes) mutable {
                            if (is_it(bytes))
                                bytes[700] ^= std::byte{1};
                            return true;
                        }};

    const auto result = functional(trace, right_interfaces, changed(Hosts::neighbour(config), change));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::field);
    CHECK(result.divergence->record == record_of(trace, 2, is_payload, 5));
}

TEST_CASE("bytes of a message that come behind its completion are out of order", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config);
    const auto is_end_of_send = [](std::span<const std::byte> bytes) { // as it is written, or on the link in dwords
        const auto size = bytes.size();
        return size == 3001 || size == 3004 || size == 3001 % 1024 || size == 3004 % 1024;
    };
    const Change change{.is_held = [=](const Bytes& bytes) { return is_end_of_send(bytes); }};

    const auto result = functional(trace, right_interfaces, changed(Hosts::neighbour(config), change));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::order);
    CHECK(result.divergence->record == record_of(trace, 2, is_end_of_send, 1));
    CHECK_THAT(result.divergence->actual, ContainsSubstring("which comes after it"));
}

TEST_CASE("a packet with another number is named", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config);
    const auto ahead = GENERATE(1u, 0xffffffu); // by one, and back by one
    const Change change{.send = [=, left = 3](model::port::Packet& packet) mutable {
        if (!packet.is_plain_frame() && packet.rdma().traits().is_request() && --left == 0)
            packet.rdma().psn += ahead;
    }};

    const auto result = functional(trace, left_interfaces, changed(config, change));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == (ahead == 1 ? Kind::field : Kind::missing));
    CHECK(result.divergence->record == frame_of(trace, 1, 3));
}

TEST_CASE("a completion that is left out is missing, whatever comes instead", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config);
    const Change change{.write = [is_it = nth(is_cqe, 3)](Bytes& bytes) mutable { return !is_it(bytes); }};

    const auto result = functional(trace, left_interfaces, changed(config, change));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::missing);
    CHECK(result.divergence->record == record_of(trace, 0, is_cqe, 3));
}

TEST_CASE("an interrupt that does not come is missing, one that comes twice is extra", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config);
    const auto times = GENERATE(0u, 2u);
    const Change change{.interrupts = [=, left = 2]() mutable { return --left == 0 ? times : 1; }};

    const auto result = functional(trace, left_interfaces, changed(config, change));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == (times == 0 ? Kind::missing : Kind::extra));
    const auto& side = times == 0 ? result.divergence->expected : result.divergence->actual;
    CHECK_THAT(side, ContainsSubstring("an interrupt"));
}

TEST_CASE("the last acknowledgement is missed", "[unit][record]") {
    const auto config = configured(false);
    const auto trace = recorded(config);
    const Change change{.acknowledges_never = true};

    const auto result = functional(trace, right_interfaces, changed(Hosts::neighbour(config), change));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::missing);
    CHECK_THAT(result.divergence->expected, ContainsSubstring("a frame"));
}

namespace {

/// A WRITE with a key that the other end does not have.
Bytes refused_write(const HcaConfig& config) {
    Recording recording;
    Hosts hosts(config, Hosts::neighbour(config), &recording);
    Side left(hosts.a, 0x0a000001), right(hosts.b, 0x0a000002);
    must(left.context->connect(*left.qp, right.peer, abi::Psn{77}));
    must(right.context->connect(*right.qp, left.peer, abi::Psn{77}));
    const mlx::Sge sge{left.region.iova().value, 64, left.region.lkey()};
    must(left.qp->post_send({.sge = &sge,
                             .sge_count = 1,
                             .operation = mlx::SendOperation::write,
                             .flags = mlx::send_flag::signaled,
                             .rkey = right.region.rkey() ^ 1,
                             .remote_address = right.region.iova().value}));
    mlx::Completion completion;
    while (left.cq->poll({&completion, 1}) == 0) {
        REQUIRE(hosts.a.now() < 1s);
        hosts.a.relax();
    }
    CHECK(completion.status != mlx::CompletionStatus::success);
    left.close();
    right.close();
    REQUIRE(recording.writer.close());
    return recording.destination.bytes;
}
bool is_nak(const abi::wire::OperationTraits& traits, std::uint8_t syndrome) {
    return traits.has_aeth && abi::wire::kind_of(syndrome) != abi::wire::SyndromeKind::acknowledge;
}

} // namespace

TEST_CASE("a NAK that says another reason is named", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = refused_write(config);
    const auto story = trace_bench::read_all(trace);
    const auto nak = std::ranges::find_if(story.records, [](const auto& record) {
        const auto packet =
            record.interface == right_interfaces.ports[0].interface ? traces::monitor::read_packet(
                                                                          codec::InterfaceKind::ethernet, record.head)
                                                                    : std::nullopt;
        return packet && is_nak(packet->traits(), packet->syndrome);
    });
    REQUIRE(nak != story.records.end());
    const Change change{.send = [](model::port::Packet& packet) {
        if (!packet.is_plain_frame() && is_nak(packet.rdma().traits(), packet.rdma().aeth.syndrome))
            packet.rdma().aeth.syndrome ^= 1;
    }};
    const auto neighbour = Hosts::neighbour(config);

    const auto result = functional(trace, right_interfaces, changed(neighbour, change));

    CHECK(why(functional(trace, right_interfaces, hca(neighbour))) == "");
    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::field);
    CHECK(result.divergence->record == static_cast<std::uint64_t>(nak - story.records.begin()) + 1);
}

TEST_CASE("an HCA of another size differs in its capabilities", "[unit][record]") {
    auto config = configured(false);
    const auto trace = recorded(config);
    config.log_max_qp -= 1;

    const auto result = functional(trace, left_interfaces, hca(config));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::field);
}
