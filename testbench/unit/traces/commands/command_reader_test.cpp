#include "traces/commands/command_reader.h"

#include "abi/prm/init_segment.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

using namespace abi::prm;
using traces::commands::CommandReader;
using Part = CommandReader::Part;

namespace {

constexpr std::uint64_t queue = 0x7000, in_box = 0x20000, out_box = 0x30000;
constexpr std::uint64_t address_register = InitialSegment::field<"cmdq_phy_addr_63_32">::offset;
constexpr std::uint64_t last_page = std::numeric_limits<std::uint64_t>::max() - 0xfff;
using Box = abi::Block<CommandMailbox>;

std::array<std::byte, 8> big_endian(std::uint64_t value) {
    std::array<std::byte, 8> bytes{};
    abi::store<std::uint64_t, abi::Endian::big>(bytes.data(), value);
    return bytes;
}

struct Lengths {
    std::uint32_t in = 16, out = 16;
};

/// A reader whose driver has told where its queue is.
struct Bench {
    Bench() { tell(queue); }
    void tell(std::uint64_t address) { reader.register_written(address_register, big_endian(address)); }
    /// The device reads an entry with such lengths.
    std::optional<CommandReader::Seen> give(Lengths lengths, unsigned slot = 0, unsigned owner = 1) {
        abi::Block<CommandQueueEntry> entry;
        entry.view()
            .set<"type">(command_transport_pcie)
            .set<"input_length">(lengths.in)
            .set<"output_length">(lengths.out)
            .set<"input_mailbox">(in_box)
            .set<"output_mailbox">(out_box)
            .set<"owner">(owner);
        return reader.memory_read(queue + slot * CommandQueueEntry::size, entry.bytes, 0);
    }
    std::optional<CommandReader::Seen> read_in(std::uint64_t address, std::uint64_t next) {
        Box box;
        box.view().set<"next">(next);
        return reader.memory_read(address, box.bytes, 0);
    }
    /// The device reads of a mailbox for its answer what stands behind the data.
    std::optional<CommandReader::Seen> read_out(std::uint64_t address, std::uint64_t next) {
        Box box;
        box.view().set<"next">(next);
        return reader.memory_read(address + mailbox_data_bytes, std::span(box.bytes).subspan(mailbox_data_bytes), 0);
    }
    std::optional<CommandReader::Seen> write(std::uint64_t address, std::size_t count, unsigned value) {
        const std::vector<std::byte> bytes(count, static_cast<std::byte>(value));
        return reader.memory_written(address, bytes);
    }
    std::optional<CommandReader::Seen> hand_over() { return write(queue + status_own_offset, 1, 0); }

    CommandReader reader{};
};

bool is(const std::optional<CommandReader::Seen>& seen, Part part) { return seen && seen->part == part; }

} // namespace

TEST_CASE("a command is its entry, its mailboxes, its answer and the byte that hands it back", "[unit][commands]") {
    Bench bench;

    CHECK(is(bench.give({.in = 16 + 600, .out = 16 + 600}), Part::entry));
    CHECK(is(bench.read_in(in_box, in_box + 0x400), Part::input));
    CHECK(is(bench.read_in(in_box + 0x400, 0), Part::input));
    CHECK(is(bench.read_out(out_box, out_box + 0x400), Part::output_place));
    CHECK(is(bench.read_out(out_box + 0x400, 0), Part::output_place));
    CHECK(is(bench.write(out_box, 512, 1), Part::output));
    CHECK(is(bench.write(out_box + 0x400, 88, 2), Part::output));
    CHECK(is(bench.write(queue + CommandQueueEntry::field<"output">::offset, 16, 0), Part::answer));
    const auto seen = bench.hand_over();

    REQUIRE(is(seen, Part::hand_over));
    CHECK(seen->command->is_good());
    CHECK(seen->command->in.size() == 616);
    REQUIRE(seen->command->out.size() == 616);
    CHECK(seen->command->out[16] == std::byte{1});
    CHECK(seen->command->out[16 + 512] == std::byte{2});
    CHECK(seen->command->out.back() == std::byte{2});
}

TEST_CASE("an entry that is software's is no command", "[unit][commands]") {
    Bench bench;

    CHECK_FALSE(bench.give({}, 0, 0));
    CHECK_FALSE(bench.hand_over());
}

TEST_CASE("an entry that is software's leaves the command under way in its slot alone", "[unit][commands]") {
    Bench bench;
    bench.give({.in = 16 + 8});
    bench.give({}, 0, 0);

    CHECK(is(bench.read_in(in_box, 0), Part::input));
    CHECK(is(bench.hand_over(), Part::hand_over));
}

TEST_CASE("a status byte with the device as owner hands nothing back", "[unit][commands]") {
    Bench bench;
    bench.give({});

    const auto still = bench.write(queue + status_own_offset, 1, 0x03);
    CHECK(is(still, Part::answer));
    CHECK(still->command->delivery == DeliveryStatus::ok);
    const auto over = bench.write(queue + status_own_offset, 1, 0x04);

    REQUIRE(is(over, Part::hand_over));
    CHECK(over->command->delivery == DeliveryStatus::token_error);
    CHECK_FALSE(over->command->is_good());
}

TEST_CASE("a write that ends before the status byte hands nothing back, and one that begins there does",
          "[unit][commands]") {
    Bench bench;
    bench.give({});

    CHECK(is(bench.write(queue + status_own_offset - 3, 3, 0), Part::answer));
    CHECK(is(bench.write(queue + status_own_offset, 1, 0), Part::hand_over));
    CHECK_FALSE(bench.write(queue + status_own_offset, 1, 0));
}

TEST_CASE("an answer counts also when its bytes come in several writes, or with the whole entry", "[unit][commands]") {
    constexpr auto output = queue + CommandQueueEntry::field<"output">::offset;
    Bench bench;
    bench.give({});
    bench.write(output, 4, 0x05);
    bench.write(output + 4, 12, 0x06);
    const auto seen = bench.hand_over();
    REQUIRE(seen);
    CHECK(seen->command->status() == Status::bad_resource);
    CHECK(seen->command->out.back() == std::byte{0x06});

    bench.give({});
    std::array<std::byte, CommandQueueEntry::size> whole{};
    whole[CommandQueueEntry::field<"output">::offset] = std::byte{0x05};
    const auto other = bench.reader.memory_written(queue, whole);
    REQUIRE(is(other, Part::hand_over));
    CHECK(other->command->status() == Status::bad_resource);
}

TEST_CASE("an answer's chain goes on as far as its length behind the first 16 bytes says", "[unit][commands]") {
    Bench bench;
    bench.give({.out = 16 + 512});
    bench.read_out(out_box, out_box + 0x400);

    CHECK(bench.reader.slot_of(out_box + 575) == 0u);
    CHECK_FALSE(bench.reader.slot_of(out_box + 0x400));
    CHECK_FALSE(bench.write(out_box + 0x400, 16, 1));
}

TEST_CASE("an answer's mailbox is the command's also when nobody has read its control part", "[unit][commands]") {
    Bench bench;
    bench.give({.out = 16 + 4});

    CHECK(is(bench.write(out_box, 4, 1), Part::output));
}

TEST_CASE("what is written behind an answer's length or a mailbox's data is no part of the answer",
          "[unit][commands]") {
    Bench bench;
    bench.give({.out = 16 + 100});
    bench.write(out_box, CommandMailbox::size, 1);
    bench.write(out_box + 200, 8, 2);
    bench.write(out_box + 50, 0, 3);
    CHECK_FALSE(bench.write(out_box + mailbox_data_bytes, 1, 4));

    const auto seen = bench.hand_over();
    REQUIRE(seen);
    CHECK(seen->command->out.size() == 116);
    CHECK(seen->command->out.back() == std::byte{1});
}

TEST_CASE("a mailbox's data may come in several writes", "[unit][commands]") {
    Bench bench;
    bench.give({.out = 16 + 512});
    bench.write(out_box, 256, 1);
    bench.write(out_box + 256, 256, 2);

    const auto seen = bench.hand_over();
    REQUIRE(seen);
    REQUIRE(seen->command->out.size() == 528);
    CHECK(seen->command->out[16 + 255] == std::byte{1});
    CHECK(seen->command->out[16 + 256] == std::byte{2});
}

TEST_CASE("lengths that a trace claims take no memory, and chains that are rings have an end", "[unit][commands]") {
    Bench bench;
    const auto seen = bench.give({.in = 0xffff'ffff, .out = 0xffff'ffff});
    REQUIRE(seen);
    auto& command = *seen->command;
    CHECK(command.in.size() + command.out.size() == 32);
    CHECK(command.in_length < 32u << 20);
    CHECK(command.out_length < 2u << 20);

    std::size_t in = 0;
    while (is(bench.read_in(in_box, in_box), Part::input))
        ++in;
    for (int i = 0; i < 10'000; ++i)
        bench.read_out(out_box, out_box);

    CHECK(in == (command.in_length - 16 + 511) / 512);
    CHECK(command.in.size() == command.in_length);
    bench.write(out_box, 512, 1);
    CHECK(command.out.size() == 528);
}

TEST_CASE("the longest input that a driver gives is read as a whole", "[unit][commands]") {
    constexpr std::uint32_t length = CommandIn::size + 256 + (8u << 21); // a key of 2^21 pages
    Bench bench;

    CHECK(bench.give({.in = length})->command->in_length == length);
}

TEST_CASE("fewer bytes than an entry has are claimed without harm", "[unit][commands]") {
    Bench bench;
    bench.give({.in = 0, .out = 3});

    CHECK_FALSE(bench.read_in(in_box, in_box));
    CHECK_FALSE(bench.read_out(out_box, out_box));
    CHECK_FALSE(bench.write(out_box, 512, 1));
    CHECK(bench.hand_over()->command->in.size() == 16);
}

TEST_CASE("a queue whose address is 0 has not been told", "[unit][commands]") {
    Bench bench;
    bench.tell(0xfff); // size and stride, but no page

    CHECK_FALSE(bench.reader.is_entry(0));
    const abi::Block<CommandQueueEntry> entry;
    CHECK_FALSE(bench.reader.memory_read(0, entry.bytes, 0));
    CHECK_FALSE(bench.write(status_own_offset, 1, 0));
}

TEST_CASE("a driver that writes the queue's address anew has no commands under way", "[unit][commands]") {
    Bench bench;
    bench.give({.in = 16 + 512});
    bench.tell(queue);

    CHECK(bench.reader.is_entry(queue));
    CHECK_FALSE(bench.reader.slot_of(in_box));
    CHECK_FALSE(bench.read_in(in_box, 0));
    CHECK_FALSE(bench.hand_over());
}

TEST_CASE("a reset takes the queue's address and the commands", "[unit][commands]") {
    Bench bench;
    bench.give({.in = 16 + 512});
    bench.reader.reset();

    CHECK_FALSE(bench.reader.is_entry(queue));
    CHECK_FALSE(bench.reader.slot_of(in_box));
}

TEST_CASE("the queue's address is told in halves, or among registers beside it", "[unit][commands]") {
    const auto address = big_endian(0x12'3456'7000);
    CommandReader halves;
    halves.register_written(address_register, std::span(address).first(4));
    halves.register_written(address_register + 4, std::span(address).last(4));
    CHECK(halves.is_entry(0x12'3456'7000));

    std::array<std::byte, 16> wide{};
    std::ranges::copy(address, wide.begin() + 4);
    CommandReader beside;
    beside.register_written(address_register - 4, wide);
    CHECK(beside.is_entry(0x12'3456'7000));
    beside.register_written(address_register + 8, wide);
    beside.register_written(address_register - 16, wide);
    CHECK(beside.is_entry(0x12'3456'7000));
}

TEST_CASE("a write to BAR 0 that ends behind the last address is none to the queue's address", "[unit][commands]") {
    Bench bench;
    for (const std::uint64_t before : {1u, 4u, 8u}) {
        const std::array<std::byte, 32> bytes{};
        bench.reader.register_written(std::uint64_t{0} - before, std::span(bytes).first(before + 16));
        CHECK(bench.reader.is_entry(queue));
    }
}

TEST_CASE("a queue and a mailbox at the end of all addresses are those alone", "[unit][commands]") {
    Bench bench;
    bench.tell(last_page);
    CHECK(bench.reader.is_entry(last_page));
    CHECK(bench.reader.is_entry(last_page + 32 * CommandQueueEntry::size - 1));
    CHECK_FALSE(bench.reader.is_entry(last_page + 32 * CommandQueueEntry::size));
    CHECK_FALSE(bench.reader.is_entry(0));

    abi::Block<CommandQueueEntry> entry;
    entry.view().set<"input_length">(16 + 512).set<"input_mailbox">(~std::uint64_t{0} - 15).set<"owner">(1);
    bench.reader.memory_read(last_page, entry.bytes, 0);
    CHECK(bench.reader.slot_of(~std::uint64_t{0}));
    CHECK_FALSE(bench.reader.slot_of(0));
    CHECK_FALSE(bench.reader.slot_of(~std::uint64_t{0} - 16));
}

TEST_CASE("a mailbox is of the command under way that has it, until that is over", "[unit][commands]") {
    Bench bench;
    bench.give({.in = 16 + 512}, 3);

    CHECK(bench.reader.slot_of(queue + 5 * CommandQueueEntry::size) == 5u);
    CHECK(bench.reader.slot_of(in_box) == 3u);
    CHECK(bench.reader.slot_of(in_box + CommandMailbox::size - 1) == 3u);
    CHECK_FALSE(bench.reader.slot_of(in_box + CommandMailbox::size));
    CHECK_FALSE(bench.reader.slot_of(in_box - 1));
    CHECK_FALSE(bench.reader.slot_of(out_box)); // an answer of 16 bytes has no mailbox
    bench.write(queue + 3 * CommandQueueEntry::size + status_own_offset, 1, 0);
    CHECK_FALSE(bench.reader.slot_of(in_box));
}

TEST_CASE("entries and mailboxes that were read in part are none", "[unit][commands]") {
    Bench bench;
    bench.give({.in = 16 + 512, .out = 16 + 1024});
    const Box box;

    CHECK_FALSE(bench.reader.memory_read(queue + 8, std::span(box.bytes).first(64), 0));
    CHECK_FALSE(bench.reader.memory_read(queue, std::span(box.bytes).first(63), 0));
    CHECK_FALSE(bench.reader.memory_read(in_box, std::span(box.bytes).first(CommandMailbox::size - 1), 0));
    CHECK_FALSE(bench.reader.memory_read(out_box + mailbox_data_bytes, std::span(box.bytes).first(63), 0));
    CHECK_FALSE(bench.reader.memory_written(queue, {}));
    CHECK(is(bench.hand_over(), Part::hand_over));
}
