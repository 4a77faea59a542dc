#include "sw/mlx/command/command.h"
#include "testbench/unit/sw/mlx/fake_hca.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>
#include <numeric>

using namespace std::chrono_literals;
using sw::mlx::CommandChannel;
using testbench::be32;
using testbench::be64;
using testbench::Bytes;
using testbench::FakeHca;

namespace {

std::unique_ptr<CommandChannel> open(FakeHca& hca, sw::mlx::CommandOptions options = {}) {
    auto channel = CommandChannel::open(hca.transport, 0, options);
    REQUIRE(channel);
    return std::move(*channel);
}

/// A command of `size` bytes with opcode 0x800 and a pattern behind its header.
Bytes command(std::size_t size, std::uint16_t opcode = 0x800) {
    Bytes in(size);
    for (std::size_t i = 8; i < size; ++i)
        in[i] = static_cast<std::byte>(i * 31 >> 3);
    testbench::put_be(in, 0, 2, opcode);
    return in;
}

std::uint8_t xor_all(std::span<const std::byte> bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::uint8_t{0}, [](std::uint8_t sum, std::byte b) {
        return static_cast<std::uint8_t>(sum ^ std::to_integer<std::uint8_t>(b));
    });
}

} // namespace

TEST_CASE("the command queue's address is written high word first, into the address bits alone",
          "[unit][mlx][command]") {
    FakeHca hca;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> writes;
    hca.transport.on_write = [&](unsigned, std::uint64_t offset, std::span<const std::byte> from) {
        writes.emplace_back(offset, be32(from, 0));
    };

    const auto channel = open(hca);

    REQUIRE(writes.size() == 2);
    CHECK(writes[0] == std::pair<std::uint64_t, std::uint32_t>{0x10, 1});
    CHECK(writes[1].first == 0x14);
    CHECK((writes[1].second & 0xfff) == 0);
    CHECK_FALSE(hca.transport.at(std::uint64_t{writes[0].second} << 32 | writes[1].second, 4096).empty());
    CHECK(channel->slot_count() == 32);
}

TEST_CASE("a short command and its answer live in the queue entry", "[unit][mlx][command]") {
    FakeHca hca;
    const auto channel = open(hca);
    Bytes out(16);

    REQUIRE(channel->execute(command(16), out));

    REQUIRE(hca.commands.size() == 1);
    CHECK(hca.commands[0].slot == 0);
    CHECK(hca.commands[0].in == command(16));
    CHECK(be32(out, 8) == 0x123);
    CHECK(hca.complaints.empty());
}

TEST_CASE("a long command goes through a mailbox chain whose blocks are linked, numbered and marked",
          "[unit][mlx][command]") {
    FakeHca hca;
    const auto channel = open(hca);
    const auto in = command(16 + 512 + 512 + 1);
    hca.answers[0x800] = [](auto, auto out) {
        for (std::size_t i = 8; i < out.size(); ++i)
            out[i] = static_cast<std::byte>(i * 7 >> 2);
    };
    Bytes out(16 + 512 + 17);

    REQUIRE(channel->execute(in, out));

    CHECK(hca.complaints.empty());
    CHECK(hca.commands[0].in == in);
    for (std::size_t i = 8; i < out.size(); ++i)
        REQUIRE(out[i] == static_cast<std::byte>(i * 7 >> 2));
}

TEST_CASE("mailboxes are used again, zeroed, and no command keeps any", "[unit][mlx][command]") {
    FakeHca hca;
    const auto channel = open(hca);
    Bytes out(16);
    REQUIRE(channel->execute(command(16 + 512 * 63), out));
    const auto allocated = hca.transport.allocated_bytes;

    for (int i = 0; i < 100; ++i)
        REQUIRE(channel->execute(command(16 + 512 * 63), out));

    CHECK(hca.transport.allocated_bytes == allocated);
    CHECK(hca.complaints.empty());
}

TEST_CASE("tokens follow one another and are never zero", "[unit][mlx][command]") {
    FakeHca hca;
    const auto channel = open(hca);
    const auto queue =
        std::uint64_t{be32(hca.transport.bars[0], 0x10)} << 32 | (be32(hca.transport.bars[0], 0x14) & ~0xfffu);
    std::vector<std::byte> tokens;
    hca.answers[0x800] = [&](auto, auto) { tokens.push_back(hca.transport.at(queue, 64)[0x3c]); };
    Bytes out(16);

    for (int i = 0; i < 300; ++i)
        REQUIRE(channel->execute(command(16), out));

    CHECK(std::ranges::none_of(tokens, [](std::byte token) { return token == std::byte{0}; }));
    CHECK(std::ranges::adjacent_find(tokens) == tokens.end());
}

TEST_CASE("commands in flight take different slots, the last one is the pages'", "[unit][mlx][command]") {
    FakeHca hca;
    hca.is_immediate = false;
    const auto channel = open(hca);
    Bytes out(16);

    std::vector<unsigned> slots;
    for (int i = 0; i < 31; ++i) {
        const auto slot = channel->submit(command(16), 16);
        REQUIRE(slot);
        slots.push_back(*slot);
    }
    const auto refused = channel->submit(command(16), 16);
    const auto pages = channel->submit(command(16, 0x108), 16, sw::mlx::SlotClass::pages);

    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == EBUSY);
    REQUIRE(pages);
    CHECK(*pages == 31);
    for (unsigned i = 0; i < 31; ++i)
        CHECK(slots[i] == i);
    for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot)
        CHECK(channel->finish(*slot, out));
    CHECK(channel->finish(*pages, out));
    CHECK_FALSE(channel->finish(*pages, out));
    CHECK(hca.complaints.empty());
}

TEST_CASE("a refusal is an error that names command, status and syndrome", "[unit][mlx][command]") {
    FakeHca hca;
    const auto channel = open(hca);
    Bytes out(16);
    struct Row {
        std::uint8_t status;
        int code;
        const char* words;
    };
    for (const auto& [status, code, words] :
         {Row{0x03, EINVAL, "bad parameter"}, Row{0x06, EBUSY, "resource busy"}, Row{0x08, ENOMEM, "limits exceeded"},
          Row{0x0f, EAGAIN, "no resources"}, Row{0x10, EINVAL, "bad QP state"}, Row{0x50, EIO, "bad input length"},
          Row{0xee, EIO, "0xee"}}) {
        hca.refusals[0x800] = {status, 0xc0ffee};

        const auto refused = channel->execute(command(16), out);

        REQUIRE_FALSE(refused);
        CAPTURE(refused.error().what);
        CHECK(refused.error().code == code);
        CHECK(refused.error().what.find("ALLOC_PD") != std::string::npos);
        CHECK(refused.error().what.find(words) != std::string::npos);
        CHECK(refused.error().what.find("0x00c0ffee") != std::string::npos);
    }
    hca.refusals.clear();
    CHECK(channel->execute(command(16), out)); // the slot is free again
}

TEST_CASE("a command that was not delivered fails with the delivery status", "[unit][mlx][command]") {
    FakeHca hca;
    const auto channel = open(hca);
    hca.delivery_status = 3;
    Bytes out(16);

    const auto refused = channel->execute(command(16), out);

    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == EIO);
    CHECK(refused.error().what.find("bad block number") != std::string::npos);
}

TEST_CASE("a command without an answer times out, and its slot stays lost", "[unit][mlx][command]") {
    FakeHca hca;
    hca.is_deaf = true;
    const auto channel = open(hca, {.timeout = 5ms});
    Bytes out(16);

    const auto lost = channel->execute(command(16), out);

    REQUIRE_FALSE(lost);
    CHECK(lost.error().code == ETIMEDOUT);
    hca.is_deaf = false;
    hca.fetch();
    const auto next = channel->submit(command(16), 16);
    REQUIRE(next);
    CHECK(*next == 1);
    CHECK(channel->finish(*next, out));
}

TEST_CASE("with signatures, entry and mailboxes XOR to 0xff, and a wrong answer is found", "[unit][mlx][command]") {
    FakeHca hca;
    const auto channel = open(hca, {.signatures = true});
    const auto queue =
        std::uint64_t{be32(hca.transport.bars[0], 0x10)} << 32 | (be32(hca.transport.bars[0], 0x14) & ~0xfffu);
    Bytes entry;
    std::vector<Bytes> mailboxes;
    hca.answers[0x800] = [&](auto, auto) {
        const auto bytes = hca.transport.at(queue, 64);
        entry.assign(bytes.begin(), bytes.end());
        for (auto at = be64(bytes, 8); at; at = be64(hca.transport.at(at, 576), 0x230)) {
            const auto block = hca.transport.at(at, 576);
            mailboxes.emplace_back(block.begin(), block.end());
        }
    };
    Bytes out(16);

    REQUIRE(channel->execute(command(16 + 700), out));
    channel->verify_signatures(true); // this device signs no answer
    const auto unsigned_answer = channel->execute(command(16), out);

    CHECK(xor_all(entry) == 0xff);
    REQUIRE(mailboxes.size() == 2);
    for (const auto& block : mailboxes) {
        CHECK(xor_all(block) == 0xff);
        CHECK(xor_all(std::span(block).subspan(0x200, 0x3f)) == 0xff);
    }
    REQUIRE_FALSE(unsigned_answer);
    CHECK(unsigned_answer.error().code == EBADMSG);
}

TEST_CASE("in event mode a command is done when its event came, not before", "[unit][mlx][command]") {
    FakeHca hca;
    const auto channel = open(hca);
    int waits = 0;
    channel->use_events([&](std::chrono::nanoseconds) {
        if (++waits == 3)
            channel->complete(1u << 0);
        hca.transport.relax();
    });
    Bytes out(16);

    REQUIRE(channel->execute(command(16), out));

    CHECK(waits == 3);
    CHECK(channel->recovered() == 0);
}

TEST_CASE("a command whose event was lost is recovered by its owner bit when its time is over",
          "[unit][mlx][command]") {
    FakeHca hca;
    const auto channel = open(hca, {.timeout = 1ms});
    channel->use_events([&](std::chrono::nanoseconds) { hca.transport.relax(); });
    Bytes out(16);

    REQUIRE(channel->execute(command(16), out));

    CHECK(be32(out, 8) == 0x123);
    CHECK(channel->recovered() == 1);
}

TEST_CASE("a wait ends with the watch's error, and later commands fail at once", "[unit][mlx][command]") {
    FakeHca hca;
    hca.is_deaf = true;
    const auto channel = open(hca);
    int looks = 0;
    channel->set_watch([&]() -> sw::Result<void> {
        if (++looks == 10)
            return sw::failure(ENODEV, "gone");
        return {};
    });
    Bytes out(16);

    const auto first = channel->execute(command(16), out);
    const auto executed = channel->executed();
    const auto second = channel->execute(command(16), out);

    REQUIRE_FALSE(first);
    CHECK(first.error().code == ENODEV);
    REQUIRE_FALSE(second);
    CHECK(channel->executed() == executed);
}

TEST_CASE("a device of another interface revision or an impossible queue is refused", "[unit][mlx][command]") {
    FakeHca hca;
    hca.put(0x004, 0x00040000);
    CHECK_FALSE(CommandChannel::open(hca.transport, 0));
    hca.put(0x004, 0x00050000);
    for (const auto sizes : {0x06u, 0x66u, 0x58u, 0x55u}) {
        hca.put(0x014, sizes);
        CHECK_FALSE(CommandChannel::open(hca.transport, 0));
    }
}
