#include "traces/monitor/command_watch.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace abi::prm;
using traces::monitor::CommandWatch;

namespace {

constexpr std::uint64_t queue = 0x7000;

/// A watch whose driver has given its first command, of 16 bytes and so many more in mailboxes.
struct Given {
    explicit Given(std::uint32_t length, std::uint64_t mailbox = 0) {
        std::array<std::byte, 8> base{};
        abi::store<std::uint64_t, abi::Endian::big>(base.data(), queue);
        watch.register_written(0x10, base);
        abi::View<CommandQueueEntry> view(std::span<std::byte>(entry.data(), entry.size()));
        view.set<"type">(command_transport_pcie);
        view.set<"input_length">(length);
        view.set<"output_length">(16u);
        view.set<"input_mailbox">(mailbox);
        view.set<"owner">(1u);
        watch.memory_read(queue, entry);
    }
    /// The device hands the entry back.
    std::optional<CommandWatch::Done> finish() {
        entry[status_own_offset] = std::byte{0};
        return watch.memory_written(queue, entry);
    }

    std::array<std::byte, CommandQueueEntry::size> entry{};
    CommandWatch watch{};
};

} // namespace

TEST_CASE("a command's input is its entry and the mailboxes that were read for it", "[unit][monitor]") {
    Given given(16 + 20, 0x9000);
    std::array<std::byte, CommandMailbox::size> box{};
    box.fill(std::byte{7});
    given.watch.memory_read(0x9000, box);

    const auto done = given.finish();
    REQUIRE(done);
    REQUIRE(done->in.size() == 36);
    CHECK(done->in.back() == std::byte{7});
}

TEST_CASE("what is read at bus address 0 is no mailbox of a command that has none", "[unit][monitor]") {
    for (const std::uint32_t length : {16u, 8u}) { // a trace may claim fewer bytes than an entry has
        Given given(length);
        const std::array<std::byte, CommandMailbox::size> elsewhere{};
        for (int i = 0; i < 3; ++i)
            given.watch.memory_read(0, elsewhere);

        const auto done = given.finish();
        REQUIRE(done);
        CHECK(done->in.size() == 16);
    }
}

TEST_CASE("a write that a damaged trace says to end behind the last address is no queue's address", "[unit][monitor]") {
    Given given(16);
    const std::array<std::byte, 8> bytes{};
    given.watch.register_written(~std::uint64_t{3}, bytes);

    CHECK(given.watch.has(queue));
    CHECK(given.finish());
}

TEST_CASE("of a write that goes beyond the queue's address the part counts that is of it", "[unit][monitor]") {
    Given given(16);
    std::array<std::byte, 8> bytes{};
    abi::store<std::uint32_t, abi::Endian::big>(bytes.data(), 0x9000);
    bytes.back() = std::byte{0xff};
    given.watch.register_written(0x14, bytes); // the low half, and what is behind it

    CHECK_FALSE(given.watch.has(queue)); // a driver that begins
    CHECK(given.watch.has(0x9000));
}

TEST_CASE("a command that has failed, or was not delivered, is over and not told", "[unit][monitor]") {
    Given failed(16);
    failed.entry[CommandQueueEntry::field<"output">::offset] = std::byte{static_cast<unsigned char>(Status::bad_index)};
    CHECK_FALSE(failed.finish());
    CHECK_FALSE(failed.finish());

    Given undelivered(16);
    undelivered.entry[status_own_offset] = std::byte{2};
    CHECK_FALSE(undelivered.watch.memory_written(queue, undelivered.entry));
    CHECK_FALSE(undelivered.finish());
}

TEST_CASE("an address is the command's while it is under way", "[unit][monitor]") {
    Given given(16 + 20, 0x9000);
    CHECK(given.watch.slot_of(queue) == 0u);
    CHECK(given.watch.slot_of(0x9000) == 0u);
    CHECK_FALSE(given.watch.has(0x9000 + CommandMailbox::size));

    REQUIRE(given.finish());
    CHECK_FALSE(given.watch.has(0x9000));
    CHECK(given.watch.has(queue));
}
