// An endpoint with several functions: what they share is the link, everything else each has for itself.
#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <set>

using namespace model;
using namespace testbench;
using abi::BusAddress;
using abi::pcie::Bdf;
using pcie::FunctionPart;
using port::DmaStatus;

namespace {

constexpr std::uint16_t command = 0x04, bar0 = 0x10, bar2 = 0x18, device_control = 0x68, device_status = 0x6a;
constexpr std::uint32_t memory_space = 2, master = 4, initiate_reset = 0x8000;

/// Hears where requests of a function land.
struct Heard final : pcie::LandingWatch {
    std::vector<std::uint16_t> requesters;
    void landed(const pcie::Landing& landing, port::Time) override { requesters.push_back(landing.requester.value); }
};

/// A card with three functions (devices 1, 2 and 3) in the first slot of a host, beside one with a single function.
struct Machine {
    platform::host::Host host{"host", {.timed = false}};
    std::array<ScratchFunction, 3> functions;
    pcie::EndpointModule endpoint{"card", std::array{FunctionPart{ScratchFunction::config(1), functions[0]},
                                                     FunctionPart{ScratchFunction::config(2), functions[1]},
                                                     FunctionPart{ScratchFunction::config(3), functions[2]}}};
    ScratchCard other{"other", 4};

    Machine() {
        host.plug(0, endpoint);
        host.plug(1, other.endpoint);
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
    }
    const platform::host::FunctionFound& found(std::uint16_t device) {
        const auto* function = host.enumeration().find(0x1234, device);
        REQUIRE(function != nullptr);
        return *function;
    }
    std::uint64_t bar(std::uint16_t device, unsigned number) { return found(device).bars[number].address; }
    std::uint32_t read(std::uint16_t device, std::uint16_t offset, unsigned bytes) {
        return host.root_complex().config_read(found(device).bdf, offset, bytes, {}).value;
    }
    void write(std::uint16_t device, std::uint16_t offset, unsigned bytes, std::uint32_t value) {
        host.root_complex().config_write(found(device).bdf, offset, bytes, value, {});
    }
    model::tlm::Initiator& processor() { return host.root_complex().processor(); }
};

constexpr std::array stamp{std::byte{0xa5}, std::byte{0x5a}, std::byte{1}, std::byte{2}};

bool holds(const std::vector<std::byte>& memory, std::size_t at) {
    return std::ranges::equal(stamp, std::span(memory).subspan(at, stamp.size()));
}

} // namespace

TEST_CASE("enumeration finds each function of a card, and gives each BARs of its own", "[module][pcie][functions]") {
    Machine m;

    const auto bus = m.found(1).bdf.bus();
    std::set<std::uint64_t> addresses;
    for (const std::uint16_t device : {1, 2, 3}) {
        CHECK(m.found(device).bdf == Bdf{bus, 0, device - 1u});
        CHECK(m.found(device).msix_vectors == 8);
        addresses.insert(m.bar(device, 0));
        addresses.insert(m.bar(device, 2));
        CHECK(m.read(device, 0x0e, 1) == 0x80); // type 0, one of several
    }
    CHECK(addresses.size() == 6);
    CHECK(m.host.enumeration().problems.empty());
    CHECK(m.read(4, 0x0e, 1) == 0);
    CHECK(m.host.enumeration().find(Bdf{m.found(4).bdf.bus(), 0, 1}) == nullptr);
}

TEST_CASE("configuration requests for a function behind the last are answered by nobody", "[module][pcie][functions]") {
    Machine m;
    const Bdf absent{m.found(1).bdf.bus(), 0, 3};
    auto& root = m.host.root_complex();

    CHECK(root.config_read(absent, 0, 4, {}).value == ~0u);
    CHECK(root.config_write(absent, command, 2, master, {}).status == DmaStatus::unsupported_request);
    for (const std::uint16_t device : {1, 2, 3})
        CHECK((m.read(device, command, 2) & master) == 0);
}

TEST_CASE("a request reaches the function in whose BAR its address lies", "[module][pcie][functions]") {
    Machine m;

    for (unsigned i = 0; i < 3; ++i) {
        const auto device = static_cast<std::uint16_t>(i + 1);
        REQUIRE(m.processor().write(BusAddress{m.bar(device, 0) + 0x40 * i}, stamp, {}).is_ok());
        REQUIRE(m.processor().write(BusAddress{m.bar(device, 2) + 0x100 * i}, stamp, {}).is_ok());
    }

    for (unsigned i = 0; i < 3; ++i)
        for (unsigned of = 0; of < 3; ++of) {
            CHECK(holds(m.functions[of].registers, 0x40 * i) == (i == of));
            CHECK(holds(m.functions[of].memory, 0x100 * i) == (i == of));
        }
    std::array<std::byte, 4> seen{};
    REQUIRE(m.processor().read(BusAddress{m.bar(3, 2) + 0x200}, seen, {}).is_ok());
    CHECK(seen == stamp);
}

TEST_CASE("where BARs of two functions overlap, the lower number answers, found directly or not",
          "[module][pcie][functions]") {
    Machine m;
    // The megabyte of function 1 lies over the registers of all functions.
    constexpr std::uint64_t megabyte = 1 << 20;
    const auto base = m.bar(1, 0) / megabyte * megabyte;
    const auto shared = m.bar(1, 0) - base;
    m.write(2, bar2, 4, static_cast<std::uint32_t>(base));
    m.write(2, bar2 + 4, 4, 0);
    const auto own = m.bar(3, 0) - base + 0x10000; // behind the registers of function 2, in nobody else's BAR
    REQUIRE(own + 0x1000 < megabyte);

    REQUIRE(m.processor().write(BusAddress{base + own}, stamp, {}).is_ok()); // the path to function 1's memory is known
    REQUIRE(m.processor().write(BusAddress{base + shared + 0x40}, stamp, {}).is_ok());
    REQUIRE(m.processor().write(BusAddress{m.bar(3, 0) + 0x80}, stamp, {}).is_ok());

    CHECK(holds(m.functions[1].memory, own));
    CHECK(holds(m.functions[0].registers, 0x40));
    CHECK_FALSE(holds(m.functions[1].memory, shared + 0x40));
    CHECK_FALSE(holds(m.functions[2].registers, 0x80));
    CHECK(holds(m.functions[1].memory, m.bar(3, 0) - base + 0x80));
}

TEST_CASE("direct memory of a function ends where a BAR of a function with a lower number begins",
          "[module][pcie][functions]") {
    Machine m;
    // In the megabyte of function 1 lie the registers of function 0, with memory on both sides, and its own ones.
    constexpr std::uint64_t megabyte = 1 << 20, below = 0x30000, registers = 0x40000, above = 0x60000;
    const auto base = m.bar(1, 0) / megabyte * megabyte;
    m.write(1, bar0, 4, static_cast<std::uint32_t>(base + registers));
    m.write(2, bar0, 4, static_cast<std::uint32_t>(base + 0x80000));
    m.write(2, bar2, 4, static_cast<std::uint32_t>(base));
    m.write(2, bar2 + 4, 4, 0);

    for (const auto at : {below, above}) // from now on the requester knows the way to this memory
        REQUIRE(m.processor().write(BusAddress{base + at}, stamp, {}).is_ok());
    REQUIRE(m.processor().write(BusAddress{base + registers + 0x40}, stamp, {}).is_ok());

    CHECK(holds(m.functions[1].memory, below));
    CHECK(holds(m.functions[1].memory, above));
    CHECK(holds(m.functions[0].registers, 0x40));
    CHECK_FALSE(holds(m.functions[1].memory, registers + 0x40));
}

TEST_CASE("an address in no BAR of a card is refused in the registers of each function", "[module][pcie][functions]") {
    Machine m;
    std::array<std::byte, 4> bytes{};
    const auto free = m.bar(3, 2);
    m.write(3, command, 2, 0); // its BARs do not decode; the windows above still lead here

    CHECK(m.processor().read(BusAddress{free}, bytes, {}).status == DmaStatus::unsupported_request);

    for (const std::uint16_t device : {1, 2, 3})
        CHECK((m.read(device, device_status, 2) & 0x8) != 0);
    CHECK((m.read(4, device_status, 2) & 0x8) == 0);
}

TEST_CASE("each function sends with its own number", "[module][pcie][functions]") {
    Machine m;
    const auto block = *m.host.memory().allocate(4096);
    std::array<Heard, 3> heard;

    for (unsigned i = 0; i < 3; ++i) {
        auto& function = m.endpoint.function(i);
        function.set_watch(&heard[i]);
        m.write(static_cast<std::uint16_t>(i + 1), command, 2, memory_space | master);
        REQUIRE(function.dma().write(BusAddress{block.bus + 8 * i}, stamp, {}).is_ok());
    }

    for (unsigned i = 0; i < 3; ++i) {
        const auto number = m.found(static_cast<std::uint16_t>(i + 1)).bdf;
        CHECK(m.endpoint.function(i).requester() == number);
        CHECK(heard[i].requesters == std::vector{number.value});
        CHECK(std::equal(stamp.begin(), stamp.end(), block.data + 8 * i));
    }
}

TEST_CASE("mastering the bus is allowed function by function", "[module][pcie][functions]") {
    Machine m;
    const auto block = *m.host.memory().allocate(4096);

    m.write(2, command, 2, memory_space | master);

    CHECK(m.endpoint.function(0).dma().write(BusAddress{block.bus}, stamp, {}).status ==
          DmaStatus::unsupported_request);
    CHECK(m.endpoint.function(1).dma().write(BusAddress{block.bus}, stamp, {}).is_ok());
    CHECK(m.endpoint.function(2).dma().write(BusAddress{block.bus}, stamp, {}).status ==
          DmaStatus::unsupported_request);
}

TEST_CASE("interrupts of each function are vectors of its own", "[module][pcie][functions]") {
    Machine m;
    auto& lines = m.host.interrupts();
    std::array<std::uint32_t, 3> vectors{};
    for (unsigned i = 0; i < 3; ++i) {
        const auto device = static_cast<std::uint16_t>(i + 1);
        vectors[i] = *lines.allocate();
        abi::Block<abi::pcie::MsixEntry> entry;
        abi::store<std::uint32_t, abi::Endian::little>(
            entry.bytes.data(), static_cast<std::uint32_t>(platform::host::Interrupts::message_address));
        abi::store<std::uint32_t, abi::Endian::little>(entry.bytes.data() + 8, vectors[i]);
        REQUIRE(m.processor().write(BusAddress{m.bar(device, 0) + 0x2000}, entry.bytes, {}).is_ok());
        m.write(device, command, 2, memory_space | master);
        m.write(device, pcie::msix_offset + 2u, 2, 0x8000);
    }

    m.endpoint.function(1).interrupts().raise(0, {});

    CHECK_FALSE(lines.take(vectors[0], {}));
    CHECK(lines.take(vectors[1], {}));
    CHECK_FALSE(lines.take(vectors[2], {}));

    // One that is raised later than now, while it is masked, is not sent sooner by that.
    const auto mask = [&](std::uint32_t value) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), value);
        REQUIRE(m.processor().write(BusAddress{m.bar(1, 0) + 0x200c}, bytes, {}).is_ok());
    };
    using namespace std::chrono_literals;
    mask(1);
    m.endpoint.function(0).interrupts().raise(0, 18us);
    mask(0);
    CHECK_FALSE(lines.take(vectors[0], 17us));
    CHECK(lines.take(vectors[0], 19us));
}

TEST_CASE("a function-level reset leaves the other functions of the card alone", "[module][pcie][functions]") {
    Machine m;
    const auto block = *m.host.memory().allocate(4096);
    for (const std::uint16_t device : {1, 2, 3})
        m.write(device, command, 2, memory_space | master);

    m.write(2, device_control, 2, initiate_reset);

    CHECK(m.functions[0].resets == 0);
    CHECK(m.functions[1].resets == 1);
    CHECK(m.functions[2].resets == 0);
    CHECK(m.read(2, command, 2) == 0);
    CHECK(m.read(2, bar0, 4) == 0);
    for (const std::uint16_t device : {1, 3}) {
        CHECK(m.read(device, command, 2) == (memory_space | master));
        CHECK(m.read(device, bar0, 4) == m.bar(device, 0));
        CHECK(m.processor().write(BusAddress{m.bar(device, 2)}, stamp, {}).is_ok());
    }
    CHECK(m.read(2, 0x0e, 1) == 0x80);
    CHECK(m.endpoint.function(1).dma().write(BusAddress{block.bus}, stamp, {}).status ==
          DmaStatus::unsupported_request);
    CHECK(m.endpoint.function(2).dma().write(BusAddress{block.bus}, stamp, {}).is_ok());
}

TEST_CASE("a reset of the link resets each function", "[module][pcie][functions]") {
    Machine m;

    m.host.root_complex().config_write(m.found(1).parent, 0x3e, 1, 0x40, {});

    for (unsigned i = 0; i < 3; ++i) {
        CHECK(m.functions[i].resets == 1);
        CHECK(m.read(static_cast<std::uint16_t>(i + 1), command, 2) == 0);
    }
    CHECK(m.other.function.resets == 0);
}

TEST_CASE("all functions of a card have the width that their link came up with", "[module][pcie][functions]") {
    Machine m;
    const auto of_first = m.read(1, 0x72, 2);

    CHECK(of_first != 0);
    CHECK(m.read(2, 0x72, 2) == of_first);
    CHECK(m.read(3, 0x72, 2) == of_first);
}

namespace {
/// The upper end of a card's link, by which a test sends messages down.
struct Above final : sc_core::sc_module, private model::tlm::PcieComponent {
    model::tlm::PciePort port{"port", *this, 0, {}};
    explicit Above(sc_core::sc_module_name name) : sc_module(name) {}

    DmaStatus answer_page(Bdf target) {
        model::tlm::Request request;
        request.prepare(::tlm::TLM_IGNORE_COMMAND, 0, {});
        request.extension.kind = model::tlm::RequestKind::page_response;
        request.extension.target = target;
        auto delay = sc_core::SC_ZERO_TIME;
        port.send(request.payload, request.extension, delay);
        return model::tlm::status_of(request.payload);
    }
    std::uint32_t read(Bdf target, std::uint16_t offset) {
        std::array<std::byte, 2> data{};
        access(::tlm::TLM_READ_COMMAND, target, offset, data);
        return abi::load<std::uint16_t, abi::Endian::little>(data.data());
    }
    void write(Bdf target, std::uint16_t offset, std::uint16_t value) {
        std::array<std::byte, 2> data{};
        abi::store<std::uint16_t, abi::Endian::little>(data.data(), value);
        access(::tlm::TLM_WRITE_COMMAND, target, offset, data);
    }

private:
    void access(::tlm::tlm_command what, Bdf target, std::uint16_t offset, std::span<std::byte> data) {
        model::tlm::Request request;
        request.prepare(what, offset, data);
        request.extension.kind = model::tlm::RequestKind::config_type0;
        request.extension.target = target;
        auto delay = sc_core::SC_ZERO_TIME;
        port.send(request.payload, request.extension, delay);
    }
    void receive(unsigned, ::tlm::tlm_generic_payload&, model::tlm::Extension&, sc_core::sc_time&) override {}
    bool receive_direct(unsigned, ::tlm::tlm_generic_payload&, model::tlm::Extension&, ::tlm::tlm_dmi&) override {
        return false;
    }
    void receive_invalidate(unsigned, pcie::Range) override {}
    void linked(unsigned, const pcie::LinkConfig&) override {}
};
} // namespace

TEST_CASE("a message reaches the function that it names, and no other", "[module][pcie][functions]") {
    constexpr std::uint16_t page_request_status = 0x116;
    constexpr std::uint32_t unexpected_group = 2;
    const pcie::AtsConfig ats{.entries = 16, .has_page_requests = true};
    std::array<ScratchFunction, 2> functions;
    pcie::EndpointModule endpoint("card", std::array{FunctionPart{ScratchFunction::config(1, ats), functions[0]},
                                                     FunctionPart{ScratchFunction::config(2, ats), functions[1]}});
    Above above("above");
    above.port.connect(endpoint.port);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);

    CHECK(above.answer_page(Bdf{1, 0, 1}) == DmaStatus::ok); // an answer to what nobody has asked
    CHECK(above.answer_page(Bdf{1, 0, 2}) == DmaStatus::unsupported_request);

    CHECK((above.read(Bdf{1, 0, 0}, page_request_status) & unexpected_group) == 0);
    CHECK((above.read(Bdf{1, 0, 1}, page_request_status) & unexpected_group) != 0);
}

TEST_CASE("all functions of a card report one link, and function 0 alone controls it", "[module][pcie][functions]") {
    constexpr std::uint16_t link_capabilities = 0x6c, supported_speeds = 0x8c, link_control_2 = 0x90;
    auto other = ScratchFunction::config(2);
    other.link.generation = 3, other.link.width = 4;
    std::array<ScratchFunction, 2> functions;
    pcie::EndpointModule endpoint(
        "card", std::array{FunctionPart{ScratchFunction::config(1), functions[0]}, FunctionPart{other, functions[1]}});
    Above above("above");
    above.port.connect(endpoint.port);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    const Bdf first{1, 0, 0}, second{1, 0, 1};

    CHECK(above.read(second, link_capabilities) == above.read(first, link_capabilities));
    CHECK(above.read(second, supported_speeds) == above.read(first, supported_speeds));

    above.write(first, link_control_2, 3);
    above.write(second, link_control_2, 2);
    CHECK(above.read(first, link_control_2) == 3);
    CHECK(above.read(second, link_control_2) == 0);
}
