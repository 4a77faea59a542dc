// Access control at ports: which way a request between two cards takes, what the links count, and who refuses it.
#include "abi/pcie/access_control.h"
#include "testbench/module/model/pcie/translating.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>

using namespace testbench;
using abi::BusAddress;
using model::pcie::Acs;
using model::pcie::Direction;
using model::pcie::TargetKind;
using model::port::DmaStatus;
using model::port::Purpose;

namespace {

constexpr Acs redirect{
    .source_validation = true, .request_redirect = true, .completion_redirect = true, .upstream_forwarding = true};

struct Blocked final : traces::Sink {
    std::vector<traces::RequestBlocked> seen;
    void on(const traces::Stamp&, const traces::Event& event) override {
        if (const auto* blocked = std::get_if<traces::RequestBlocked>(&event))
            seen.push_back(*blocked);
    }
};

/// Two cards, of which the first writes to the second's memory and reads it back.
struct Peers {
    PcieMachine machine;
    Blocked blocked;
    std::array<std::byte, 64> bytes{};

    explicit Peers(const Acs& acs, bool peer_forwarding = true, bool timed = false)
        : machine(timed, {.peer_forwarding = peer_forwarding, .acs = acs}) {
        machine.host.set_events({&blocked, 1}, {&blocked, 2});
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        machine.enable_master(1), machine.enable_master(2);
        std::ranges::generate(bytes, [n = 0]() mutable { return static_cast<std::byte>(++n); });
    }
    std::uint64_t target(std::uint64_t offset = 0x100) const {
        return machine.bar(2, ScratchFunction::memory_bar) + offset;
    }
    /// The status says what became of it, also where the card does not hear of it.
    model::port::DmaResult write(std::uint64_t address) {
        const auto result = machine.first.endpoint.dma().write(BusAddress{address}, bytes, {}, Purpose::payload);
        return {machine.first.fate(result), result.done};
    }
    model::port::DmaResult read(std::uint64_t address) {
        std::array<std::byte, 64> back{};
        const auto result = machine.first.endpoint.dma().read(BusAddress{address}, back, {}, Purpose::payload);
        if (result.is_ok())
            CHECK(back == bytes);
        return result;
    }
    /// The target has the bytes, and nothing else has changed.
    bool has_arrived(std::uint64_t offset = 0x100) const {
        const auto& memory = machine.second.function.memory;
        const auto from = memory.begin() + static_cast<std::ptrdiff_t>(offset);
        return std::equal(bytes.begin(), bytes.end(), from) && from[-1] == std::byte{} && from[64] == std::byte{};
    }
    bool is_untouched() const {
        return std::ranges::all_of(machine.second.function.memory, [](std::byte b) { return b == std::byte{}; });
    }
    struct Counts {
        std::uint64_t up, down;
        bool operator==(const Counts&) const = default;
    };
    Counts upstream() {
        return {tlps(*machine.host.upstream_link(), Direction::upstream),
                tlps(*machine.host.upstream_link(), Direction::downstream)};
    }
    Counts slot(unsigned number) {
        return {tlps(*machine.host.slot_link(number), Direction::upstream),
                tlps(*machine.host.slot_link(number), Direction::downstream)};
    }
    static std::uint64_t tlps(const model::pcie::Link& link, Direction direction) {
        return link.traffic(direction).tlps;
    }
    /// Of the port of a card.
    void control(std::uint16_t device, std::uint32_t bits) {
        machine.host.root_complex().config_write(machine.found(device).parent, 0x106, 2, bits, {});
    }
    std::uint64_t payload(TargetKind kind) const { return machine.first.endpoint.volume(kind).payload(); }
};

Peers::Counts operator-(const Peers::Counts& a, const Peers::Counts& b) { return {a.up - b.up, a.down - b.down}; }

} // namespace

TEST_CASE("with redirect off, cards reach each other and nothing is on the upstream link", "[module][pcie][acs]") {
    Peers p({});
    const auto before = p.upstream();

    for (unsigned i = 0; i < 3; ++i) {
        CHECK(p.write(p.target()).is_ok());
        CHECK(p.read(p.target()).is_ok());
    }

    CHECK(p.has_arrived());
    CHECK(p.upstream() - before == Peers::Counts{0, 0});
    CHECK(p.payload(TargetKind::peer) == 6 * 64);
    CHECK(p.payload(TargetKind::redirected_peer) == 0);
}

TEST_CASE("with redirect on, the same bytes go up and down, and are counted on each link", "[module][pcie][acs]") {
    Peers p(redirect);
    const auto up = p.upstream(), first = p.slot(0), second = p.slot(1);

    for (unsigned i = 0; i < 3; ++i) {
        CHECK(p.write(p.target()).is_ok());
        CHECK(p.read(p.target()).is_ok());
    }

    CHECK(p.has_arrived());
    // A write, a read request and its completion, three times; the completion goes the other way.
    CHECK(p.upstream() - up == Peers::Counts{9, 9});
    CHECK(p.slot(0) - first == Peers::Counts{6, 3});
    CHECK(p.slot(1) - second == Peers::Counts{3, 6});
    CHECK(p.payload(TargetKind::peer) == 0);
    CHECK(p.payload(TargetKind::redirected_peer) == 6 * 64);
    CHECK(p.payload(TargetKind::host_memory) == 0);
    CHECK(p.blocked.seen.empty());
}

TEST_CASE("a host that forwards nothing refuses a redirected request, and no byte is anywhere", "[module][pcie][acs]") {
    Peers p(redirect, false);
    const auto second = p.slot(1);

    CHECK(p.write(p.target()).status == DmaStatus::unsupported_request);
    CHECK(p.read(p.target()).status == DmaStatus::unsupported_request);

    CHECK(p.is_untouched());
    CHECK(p.slot(1) - second == Peers::Counts{0, 0});
    REQUIRE(p.blocked.seen.size() == 2);
    CHECK(p.blocked.seen[0].requester == p.machine.found(1).bdf.value);
    CHECK(p.blocked.seen[0].port == 0x0008);
    CHECK(p.blocked.seen[0].address == p.target());
    CHECK(p.blocked.seen[0].reason == model::pcie::blocked::host);
    // Host memory is nobody's peer.
    const auto block = p.machine.host.memory().allocate(4096)->bus;
    CHECK(p.write(block).is_ok());
}

TEST_CASE("without upstream forwarding a root port sends nothing back down", "[module][pcie][acs]") {
    auto acs = redirect;
    acs.upstream_forwarding = false;
    Peers p(acs);

    CHECK(p.write(p.target()).status == DmaStatus::unsupported_request);

    CHECK(p.is_untouched());
    REQUIRE(p.blocked.seen.size() == 1);
    CHECK(p.blocked.seen[0].reason == model::pcie::blocked::own_port);
}

TEST_CASE("requests are redirected and completions are not: these take the short way", "[module][pcie][acs]") {
    Peers p(redirect);
    p.control(1, 0x15), p.control(2, 0x15); // source validation, request redirect, upstream forwarding
    const auto registers = p.machine.bar(2, ScratchFunction::register_bar);
    REQUIRE((p.write(p.target()).is_ok() && p.write(registers).is_ok()));

    for (const auto address : {p.target(), registers}) {
        const auto up = p.upstream(), first = p.slot(0), second = p.slot(1);
        CHECK(p.read(address).is_ok());
        CHECK(p.upstream() - up == Peers::Counts{1, 1}); // the request
        CHECK(p.slot(0) - first == Peers::Counts{1, 1});
        CHECK(p.slot(1) - second == Peers::Counts{1, 1});
    }
}

TEST_CASE("completions are redirected and requests are not: a read's data goes up and down", "[module][pcie][acs]") {
    Peers p({});
    p.control(2, 0x08);
    REQUIRE(p.write(p.target()).is_ok());
    const auto up = p.upstream();

    CHECK(p.write(p.target()).is_ok());
    CHECK(p.upstream() - up == Peers::Counts{0, 0});
    CHECK(p.read(p.target()).is_ok());
    CHECK(p.upstream() - up == Peers::Counts{1, 1}); // the completion
}

TEST_CASE("requests without a direct path are redirected and counted alike", "[module][pcie][acs]") {
    Peers p(redirect);
    const auto send = [&](tlm::tlm_command command) {
        model::tlm::Request request;
        request.prepare(command, p.target(), p.bytes);
        request.extension.requester = p.machine.found(1).bdf;
        sc_core::sc_time delay;
        p.machine.first.endpoint.port.send(request.payload, request.extension, delay);
        return request.payload.is_response_ok();
    };
    auto up = p.upstream();
    CHECK((send(tlm::TLM_WRITE_COMMAND) && send(tlm::TLM_READ_COMMAND)));
    CHECK(p.upstream() - up == Peers::Counts{3, 3});
    CHECK(p.has_arrived());
    p.control(1, 0x15), p.control(2, 0x15); // completions straight
    up = p.upstream();
    const auto first = p.slot(0), second = p.slot(1);
    CHECK(send(tlm::TLM_READ_COMMAND));
    CHECK(p.upstream() - up == Peers::Counts{1, 1});
    CHECK(p.slot(0) - first == Peers::Counts{1, 1});
    CHECK(p.slot(1) - second == Peers::Counts{1, 1});
    p.control(1, 0), p.control(2, 0x08); // and the other way round
    up = p.upstream();
    CHECK((send(tlm::TLM_WRITE_COMMAND) && send(tlm::TLM_READ_COMMAND)));
    CHECK(p.upstream() - up == Peers::Counts{1, 1});
}

TEST_CASE("registers are reached the same ways as memory, without a direct path, too", "[module][pcie][acs]") {
    Peers p(redirect);
    const auto registers = p.machine.bar(2, ScratchFunction::register_bar);
    const auto up = p.upstream();

    CHECK(p.write(registers + 0x40).is_ok());
    CHECK(p.read(registers + 0x40).is_ok());

    CHECK(p.upstream() - up == Peers::Counts{3, 3});
    std::array<std::byte, 4> bytes{};
    const auto aborting = registers + ScratchFunction::aborting_register;
    CHECK(p.machine.first.endpoint.dma().read(BusAddress{aborting}, bytes, {}).status == DmaStatus::completer_abort);
}

namespace {
/// What a write to the other card takes, in latencies of a link.
double links_of_a_write(const Acs& acs) {
    Peers p(acs, true, true);
    const auto target = p.machine.bar(2, ScratchFunction::register_bar) + 0x40;
    REQUIRE(p.write(target).is_ok());
    const model::port::Time begin = std::chrono::milliseconds{1};
    const auto left = p.machine.first.endpoint.dma().write(BusAddress{target}, p.bytes, begin).done - begin;
    CHECK(left < std::chrono::nanoseconds{20}); // nobody tells the writer when it is there
    return static_cast<double>((p.machine.second.function.last_write - begin).count()) / 100e3;
}
} // namespace

TEST_CASE("a write that stays in the switch crosses two links", "[module][pcie][acs]") {
    CHECK(std::abs(links_of_a_write({}) - 2) < 0.2);
}

TEST_CASE("the detour of a redirected write takes its time", "[module][pcie][acs]") {
    CHECK(std::abs(links_of_a_write(redirect) - 4) < 0.2);
}

TEST_CASE("source validation refuses a requester whose bus is not behind the port", "[module][pcie][acs]") {
    Peers p({.source_validation = true});
    REQUIRE(p.write(p.target()).is_ok());
    const auto parent = p.machine.found(1).parent;

    // The bus is given another number, and the card still has its old one.
    p.machine.host.root_complex().config_write(parent, 0x19, 2, 0x2020, {});

    const auto up = p.upstream();
    CHECK(p.write(p.target()).status == DmaStatus::completer_abort);
    CHECK(p.read(p.target()).status == DmaStatus::completer_abort);
    const auto block = p.machine.host.memory().allocate(4096)->bus;
    CHECK(p.write(block).status == DmaStatus::completer_abort);
    CHECK(p.upstream() - up == Peers::Counts{0, 0});
}

namespace {
/// The port so many steps above the card's one gives the buses below it other numbers, and the card has its old one.
void check_source_validation(unsigned steps) {
    constexpr std::uint16_t bus_numbers = 0x19, acs_control = 0x106, secondary_status = 0x1e;
    Asking a;
    auto& complex = a.machine.host.root_complex();
    auto port = a.machine.found(1).parent;
    for (; steps != 0; --steps)
        port = a.machine.host.enumeration().find(port)->parent;
    complex.config_write(port, acs_control, 2, 1, {});
    complex.config_write(port, bus_numbers, 2, 0x2020, {});

    CHECK(a.machine.first.endpoint.request_page({.address = 0x77'7000}, {}).status == DmaStatus::completer_abort);
    CHECK(a.get<abi::iommu::PageRequestDescriptor>(a.queue_page) == abi::iommu::PageRequestDescriptor{});
    CHECK(complex.config_read(port, secondary_status, 2, {}).value == 0); // a message has no completion
}
} // namespace

TEST_CASE("source validation of a switch refuses a page request from a bus that is not behind its port",
          "[module][pcie][ats][acs]") {
    check_source_validation(0);
}

TEST_CASE("source validation of a root port refuses a page request from a bus that is not behind it",
          "[module][pcie][ats][acs]") {
    check_source_validation(2);
}

TEST_CASE("the capability is what Linux looks for, and only what a port has can be switched on",
          "[module][pcie][acs]") {
    Peers p({});
    auto& root = p.machine.host.root_complex();
    const auto port = p.machine.found(1).parent;
    const auto root_port = p.machine.host.enumeration().find(port)->parent;
    const auto above = p.machine.host.enumeration().find(root_port)->parent;

    for (const auto bdf : {port, above}) {
        CHECK((root.config_read(bdf, 0x100, 4, {}).value & 0xfffff) == 0x1000d);
        CHECK(root.config_read(bdf, 0x106, 2, {}).value == 0);
        root.config_write(bdf, 0x106, 2, 0xffff, {});
        CHECK(root.config_read(bdf, 0x106, 2, {}).value == root.config_read(bdf, 0x104, 2, {}).value);
    }
    CHECK(root.config_read(port, 0x104, 2, {}).value == 0x5f);
    CHECK(root.config_read(above, 0x104, 2, {}).value == 0x13);
    CHECK(root.config_read(root_port, 0x100, 4, {}).value == 0); // a switch's upstream port has none
}
