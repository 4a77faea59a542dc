#include "platform/bridge/vfio_user/session.h"

#include "testbench/unit/platform/bridge/vfio_user/talk.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

using namespace testbench::vfio_user;
using platform::bridge::vfio_user::max_message;

namespace {
std::string text_of(const Bytes& reply) {
    return reinterpret_cast<const char*>(reply.data() + Header::size + Version::size);
}
} // namespace

// --- handshake ---

TEST_CASE("the answer to VERSION has the proposed major and a subset of the capabilities", "[unit][vfio_user]") {
    Talk talk;

    const auto reply = talk.ask(version(0, 3, R"({"capabilities":{"max_msg_fds":8,"write_multiple":true,"frob":1}})"));

    CHECK(error_of(reply) == 0);
    CHECK(body_of<Version>(reply).get<"major">() == 0);
    CHECK(body_of<Version>(reply).get<"minor">() == 0);
    CHECK(text_of(reply) == R"({"capabilities":{"max_msg_fds":16,"write_multiple":true}})");
    CHECK(talk.session.client().max_descriptors == 8);
    CHECK(talk.session.client().max_transfer == 1 << 20);
    CHECK(talk.session.fault().empty());
}

TEST_CASE("a version of another major ends the session with ENOTSUP", "[unit][vfio_user]") {
    Talk talk;
    CHECK(error_of(talk.ask(version(1, 0))) == ENOTSUP);
    CHECK(talk.session.fault() == "version 1.0 of the protocol; this is 0.0");
}

TEST_CASE("capabilities that are no JSON end the session with EINVAL", "[unit][vfio_user]") {
    for (const auto* json : {"{", "[]", R"({"capabilities":{"max_msg_fds":"many"}})", R"({"a":1} x)", R"({"a":-1e})"}) {
        Talk talk;
        CHECK(error_of(talk.ask(version(0, 0, json))) == EINVAL);
        CHECK_FALSE(talk.session.fault().empty());
    }
}

TEST_CASE("capabilities that nobody knows cost nothing", "[unit][vfio_user]") {
    std::string json = R"({"capabilities":{"max_msg_fds":8,")" + std::string(1000, 'k') + R"(":{"a":1)";
    for (int i = 0; i < 1000; ++i)
        json += fmt::format(R"(,"{}":1)", i);
    json += R"(},"max_dma_maps":5}})";
    Talk talk;

    CHECK(text_of(talk.ask(version(0, 0, json))) == R"({"capabilities":{"max_msg_fds":16,"max_dma_maps":65535}})");
    CHECK(talk.session.client().named.size() == 2);
}

TEST_CASE("a command before the handshake ends the session", "[unit][vfio_user]") {
    Talk talk;
    talk.tell(get_info());
    CHECK(talk.session.fault() == "a command before the version handshake");

    talk.tell(version());
    CHECK_FALSE(talk.session.is_negotiated());
}

TEST_CASE("a second handshake is refused and the session goes on", "[unit][vfio_user]") {
    Negotiated n;
    CHECK(error_of(n.talk.ask(version())) == EINVAL);
    CHECK(error_of(n.talk.ask(get_info())) == 0);
}

// --- the stream ---

TEST_CASE("messages are found wherever the stream is cut", "[unit][vfio_user]") {
    Bytes stream;
    for (const auto& part : {version(), get_info(), region_write(0, 8, bytes({1, 2, 3, 4})), region_read(0, 8, 4)})
        stream.insert(stream.end(), part.begin(), part.end());
    for (std::size_t cut = 1; cut < stream.size(); ++cut) {
        Talk talk;
        talk.session.receive(std::span(stream).first(cut));
        talk.session.receive(std::span(stream).subspan(cut));
        REQUIRE(talk.out.size() == 4);
        CHECK(data_of(talk.out[3])[0] == std::byte{1});
        CHECK(talk.session.unfinished() == 0);
    }
}

TEST_CASE("a size that no message has ends the session", "[unit][vfio_user]") {
    for (const std::uint32_t size : {0u, 15u, max_message + 1, ~0u}) {
        Negotiated n;
        auto bad = get_info();
        abi::View<Header>(std::span(bad)).set<"size">(size);
        n.talk.out.clear();
        n.talk.session.receive(bad);
        CHECK_FALSE(n.talk.session.fault().empty());
        CHECK(n.talk.out.size() == (size > max_message ? 1 : 0));
        if (size > max_message)
            CHECK(error_of(n.talk.out[0]) == E2BIG);
        n.talk.tell(get_info()); // nothing is listened to any more
    }
}

TEST_CASE("a message that stops short does nothing", "[unit][vfio_user]") {
    Negotiated n;
    auto half = region_write(0, 0, bytes({1, 2, 3, 4}));
    half.pop_back();
    n.talk.tell(half);
    CHECK(n.talk.function.log.empty());
    CHECK(n.talk.session.unfinished() == half.size());
}

TEST_CASE("a body shorter than its structure is refused and the session goes on", "[unit][vfio_user]") {
    Negotiated n;
    using C = Command;
    for (const auto command : {C::dma_map, C::dma_unmap, C::get_info, C::get_region_info, C::get_region_io_fds,
                               C::get_irq_info, C::set_irqs, C::region_read, C::region_write, C::region_write_multi})
        CHECK(error_of(n.talk.ask(message(command, bytes({1, 0, 0})))) == EINVAL);
    CHECK(error_of(n.talk.ask(get_info())) == 0);
    CHECK(n.talk.function.log.empty());
}

TEST_CASE("unknown commands get ENOSYS, those of migration ENOTSUP, those of a server EINVAL", "[unit][vfio_user]") {
    Negotiated n;
    for (const int unknown : {0, 14, 19, 0xffff})
        CHECK(error_of(n.talk.ask(message(static_cast<Command>(unknown), {}))) == ENOSYS);
    for (const auto command : {Command::device_feature, Command::migration_read, Command::migration_write})
        CHECK(error_of(n.talk.ask(message(command, {}))) == ENOTSUP);
    for (const auto command : {Command::dma_read, Command::dma_write})
        CHECK(error_of(n.talk.ask(message(command, {}))) == EINVAL);
}

TEST_CASE("a type that is neither command nor reply ends the session", "[unit][vfio_user]") {
    Negotiated n;
    n.talk.tell(message(Command::get_info, {}, 1, false, static_cast<MessageType>(7)));
    CHECK(n.talk.session.fault() == "a message that is neither command nor reply");
}

// --- information ---

TEST_CASE("a function is a PCI device that can be reset", "[unit][vfio_user]") {
    Negotiated n;
    const auto reply = n.talk.ask(get_info());
    const auto info = body_of<DeviceInfo>(reply);
    CHECK((info.get<"can_reset">() && info.get<"is_pci">()));
    CHECK(info.get<"regions">() == 9);
    CHECK(info.get<"irqs">() == 5);
}

TEST_CASE("a region that is memory is offered with its file, to clients that take one", "[unit][vfio_user]") {
    Negotiated n;
    n.talk.function.bar_file = 17;
    const auto bar = n.talk.ask(get_region_info(0));
    CHECK(body_of<RegionInfo>(bar).get<"mappable">());
    CHECK(body_of<RegionInfo>(bar).get<"argsz">() == RegionInfo::size);
    CHECK(body_of<RegionInfo>(bar).get<"offset">() == 0);
    CHECK(n.talk.file == 17);
    CHECK_FALSE(body_of<RegionInfo>(n.talk.ask(get_region_info(config_region))).get<"mappable">());
    CHECK(n.talk.file == -1);

    Talk shy;
    shy.function.bar_file = 17;
    shy.ask(version(0, 0, R"({"capabilities":{"max_msg_fds":0}})"));
    CHECK_FALSE(body_of<RegionInfo>(shy.ask(get_region_info(0))).get<"mappable">());
    CHECK(shy.file == -1);
}

TEST_CASE("a region of which parts are memory is offered with these, to clients that have room for the answer",
          "[unit][vfio_user]") {
    Negotiated n;
    n.talk.function.bar_file = 17;
    n.talk.function.areas = {{0x1000, 0x2000}, {0x8000, 0x1000}};
    constexpr auto needed = static_cast<std::uint32_t>(RegionInfo::size + SparseMmap::size + 2 * SparseArea::size);

    for (const auto room : {static_cast<std::uint32_t>(RegionInfo::size), needed - 1}) { // learns how much it takes
        const auto reply = n.talk.ask(get_region_info(0, room));
        CHECK(reply.size() == Header::size + RegionInfo::size);
        CHECK(body_of<RegionInfo>(reply).get<"argsz">() == needed);
        CHECK_FALSE(body_of<RegionInfo>(reply).get<"has_capabilities">());
        CHECK(n.talk.file == -1);
        CHECK(n.talk.function.log.empty());
    }

    const auto reply = n.talk.ask(get_region_info(0, needed));
    const auto body = std::span(reply).subspan(Header::size);
    const abi::ConstView<RegionInfo> info(body);
    REQUIRE(body.size() == needed);
    CHECK((info.get<"mappable">() && info.get<"has_capabilities">()));
    CHECK(info.get<"argsz">() == needed);
    CHECK(info.get<"size">() == 4096);
    REQUIRE(info.get<"capability_offset">() == RegionInfo::size);
    const abi::ConstView<SparseMmap> capability(body.subspan(RegionInfo::size));
    CHECK(capability.get<"id">() == 1);
    CHECK(capability.get<"version">() == 1);
    CHECK(capability.get<"next">() == 0);
    REQUIRE(capability.get<"areas">() == 2);
    const abi::ConstView<SparseArea> second(body.subspan(RegionInfo::size + SparseMmap::size + SparseArea::size));
    CHECK(second.get<"offset">() == 0x8000);
    CHECK(second.get<"size">() == 0x1000);
    CHECK(n.talk.file == 17);
    CHECK(n.talk.function.log == "given0 ");
}

TEST_CASE("a client that takes no files hears nothing of what could be mapped", "[unit][vfio_user]") {
    Talk shy;
    shy.function.bar_file = 17;
    shy.function.areas = {{0, 0x1000}};
    shy.ask(version(0, 0, R"({"capabilities":{"max_msg_fds":0}})"));
    const auto reply = shy.ask(get_region_info(0, 4096));
    CHECK(body_of<RegionInfo>(reply).get<"argsz">() == RegionInfo::size);
    CHECK_FALSE(body_of<RegionInfo>(reply).get<"mappable">());
    CHECK(shy.function.log.empty());
}

TEST_CASE("regions have their size, and registers cannot be mapped", "[unit][vfio_user]") {
    Negotiated n;
    const auto bar = n.talk.ask(get_region_info(0)), rom = n.talk.ask(get_region_info(rom_region));
    CHECK(body_of<RegionInfo>(bar).get<"size">() == 4096);
    CHECK(body_of<RegionInfo>(bar).get<"readable">());
    CHECK_FALSE(body_of<RegionInfo>(bar).get<"mappable">());
    CHECK(body_of<RegionInfo>(rom).get<"size">() == 0);
    CHECK(error_of(n.talk.ask(get_region_info(9))) == EINVAL);
}

TEST_CASE("MSI-X vectors come by eventfd and can be added one by one", "[unit][vfio_user]") {
    Negotiated n;
    const auto reply = n.talk.ask(get_irq_info(msix));
    CHECK(body_of<IrqInfo>(reply).get<"count">() == 4);
    CHECK(body_of<IrqInfo>(reply).get<"eventfd">());
    CHECK_FALSE(body_of<IrqInfo>(reply).get<"no_resize">());
    CHECK(body_of<IrqInfo>(n.talk.ask(get_irq_info(0))).get<"count">() == 0);
    CHECK(error_of(n.talk.ask(get_irq_info(5))) == EINVAL);
}

// --- regions ---

TEST_CASE("an access that leaves its region is refused", "[unit][vfio_user]") {
    Negotiated n;
    for (const auto& [offset, count] : std::initializer_list<std::pair<std::uint64_t, std::uint32_t>>{
             {4093, 4}, {4096, 1}, {~0ull, 2}, {~0ull - 1, 1}, {1ull << 63, 8}}) {
        CHECK(error_of(n.talk.ask(region_read(0, offset, count))) == EINVAL);
        CHECK(error_of(n.talk.ask(region_write(0, offset, Bytes(count)))) == EINVAL);
    }
    CHECK(error_of(n.talk.ask(region_read(1, 0, 1))) == EINVAL);  // a BAR it has not
    CHECK(error_of(n.talk.ask(region_read(77, 0, 1))) == EINVAL); // no region at all
    CHECK(error_of(n.talk.ask(region_read(0, 0, (1 << 20) + 1))) == E2BIG);
    CHECK(error_of(n.talk.ask(region_read(0, 4092, 4))) == 0);
    CHECK(n.talk.function.log.empty());
}

TEST_CASE("a write whose count is not what it carries is refused", "[unit][vfio_user]") {
    Negotiated n;
    auto write = region_write(0, 0, bytes({1, 2, 3, 4}));
    abi::View<RegionAccess>(std::span(write).subspan(Header::size)).set<"count">(8);
    CHECK(error_of(n.talk.ask(write)) == EINVAL);
    CHECK(n.talk.function.log.empty());
}

TEST_CASE("a posted write has no answer, not even when it is refused", "[unit][vfio_user]") {
    Negotiated n;
    n.talk.tell(region_write(0, 16, bytes({1, 2, 3, 4}), true));
    n.talk.tell(region_write(0, 1 << 20, bytes({1, 2, 3, 4}), true));
    CHECK(n.talk.function.log == "w0+16 ");
    CHECK(n.talk.session.fault().empty());
}

TEST_CASE("a multiple write is done in its order, or not at all", "[unit][vfio_user]") {
    Negotiated n;
    const std::array good{SmallWrite{0, 0, 8, 1}, SmallWrite{64, config_region, 4, 2}, SmallWrite{8, 0, 8, 3}};
    n.talk.tell(region_write_multi(good));
    CHECK(n.talk.function.log == "w0+0 w7+64 w0+8 ");

    n.talk.function.log.clear();
    n.talk.tell(region_write_multi(std::array{SmallWrite{0, 0, 8, 1}, SmallWrite{4092, 0, 8, 1}}));
    n.talk.tell(region_write_multi(std::array{SmallWrite{0, 0, 9, 1}}));
    CHECK(n.talk.function.log.empty());
}

TEST_CASE("a multiple write that counts wrongly is refused", "[unit][vfio_user]") {
    Negotiated n;
    auto write = region_write_multi(std::array{SmallWrite{0, 0, 8, 1}});
    abi::View<Header>(std::span(write)).set<"no_reply">(false);
    abi::View<RegionWriteMulti>(std::span(write).subspan(Header::size)).set<"writes">(~0ull / 24 + 2);
    CHECK(error_of(n.talk.ask(write)) == EINVAL);
}

TEST_CASE("a write is answered before it takes effect", "[unit][vfio_user]") {
    Negotiated n;
    std::size_t answers = 0;
    n.talk.function.on_write = [&](auto) { answers = n.talk.out.size(); };
    n.talk.ask(region_write(0, 0, bytes({1})));
    CHECK(answers == 1);
}

TEST_CASE("a reset reaches the function", "[unit][vfio_user]") {
    Negotiated n;
    CHECK(error_of(n.talk.ask(reset())) == 0);
    CHECK(n.talk.function.log == "reset ");
}
