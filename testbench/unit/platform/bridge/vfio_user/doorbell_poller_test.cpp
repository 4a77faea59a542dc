#include "platform/bridge/vfio_user/doorbell_poller.h"

#include "abi/layout.h"

#include "testbench/harness/seed.h"

#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

using namespace platform::bridge::vfio_user;
using model::port::DoorbellRecord;

namespace {

constexpr std::uint64_t page = 4096, begin = 0x10'0000, pages = 256;

/// The number and the value, as they are.
std::array<std::byte, 8> store_of(std::uint32_t number, std::uint32_t value) {
    std::array<std::byte, 8> store;
    abi::store<std::uint32_t, abi::Endian::big>(store.data(), number);
    abi::store<std::uint32_t, abi::Endian::big>(store.data() + 4, value);
    return store;
}

struct Bench {
    using Rung = std::pair<std::uint32_t, std::uint32_t>; ///< number and value

    FileMappings files;
    GuestMemory memory{files};
    DoorbellPoller poller{memory};
    Descriptor file{::memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    std::vector<Rung> rung;

    Bench() {
        REQUIRE(::ftruncate(file.number(), pages * page) == 0);
        REQUIRE(::fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
        map();
        poller.set_on(true);
    }
    void map(bool is_writable = true) {
        REQUIRE(memory.map({begin, pages * page, 0, true, is_writable}, file) == 0);
        poller.mapped({begin, begin + pages * page});
    }
    void unmap() {
        poller.unmapped({begin, begin + pages * page});
        REQUIRE(memory.unmap({begin, pages * page, false}) == 0);
    }
    static DoorbellRecord record(std::uint32_t number, std::uint64_t address) {
        return {.address = address, .doorbell = 0x800 + number, .number = number, .store = store_of};
    }
    void open(std::uint32_t number, std::uint64_t address) { poller.opened(number, record(number, address)); }
    /// Software moves a counter.
    void write(std::uint64_t address, std::uint32_t value) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, abi::Endian::big>(bytes.data(), value);
        REQUIRE(::pwrite(file.number(), bytes.data(), 4, static_cast<off_t>(address - begin)) == 4);
    }
    std::uint32_t read(std::uint64_t address) const {
        std::array<std::byte, 4> bytes{};
        REQUIRE(::pread(file.number(), bytes.data(), 4, static_cast<off_t>(address - begin)) == 4);
        return abi::load<std::uint32_t, abi::Endian::big>(bytes.data());
    }
    auto ringing() {
        return [this](std::uint64_t doorbell, std::span<const std::byte> store) {
            const auto number = abi::load<std::uint32_t, abi::Endian::big>(store.data());
            CHECK(doorbell == 0x800 + number);
            rung.emplace_back(number, abi::load<std::uint32_t, abi::Endian::big>(store.data() + 4));
        };
    }
    std::vector<Rung> look(std::size_t most = 1000) {
        rung.clear();
        const bool is_found = poller.look(most, ringing());
        CHECK(is_found == !rung.empty());
        return rung;
    }
};

} // namespace

TEST_CASE("a counter that has moved is rung once, with its last value", "[unit][vfio_user]") {
    Bench bench;
    bench.open(5, begin + 4);
    CHECK(bench.look().empty());

    bench.write(begin + 4, 0x1234);
    bench.write(begin + 4, 0x1235);

    CHECK(bench.look() == std::vector<Bench::Rung>{{5, 0x1235}});
    CHECK(bench.look().empty());
    bench.write(begin + 4, 0); // counters come round
    CHECK(bench.look() == std::vector<Bench::Rung>{{5, 0}});
    CHECK(bench.poller.found() == 2);
}

TEST_CASE("a look is over after so many records, and the next one goes on behind it", "[unit][vfio_user]") {
    Bench bench;
    for (std::uint32_t i = 0; i < 10; ++i)
        bench.open(i, begin + 64 * i);
    for (std::uint32_t i = 0; i < 10; ++i)
        bench.write(begin + 64 * i, 1);

    CHECK(bench.look(4).size() == 4);
    CHECK(bench.look(4).size() == 4);
    CHECK(bench.look(4).size() == 2);
    CHECK(bench.look(4).empty());
}

TEST_CASE("a record that is closed is looked at no more, and the others are", "[unit][vfio_user]") {
    Bench bench;
    for (std::uint32_t i = 0; i < 3; ++i)
        bench.open(i, begin + 64 * i);
    bench.poller.closed(0);
    bench.poller.closed(0);
    for (std::uint32_t i = 0; i < 3; ++i)
        bench.write(begin + 64 * i, 7);

    CHECK(bench.look() == std::vector<Bench::Rung>{{2, 7}, {1, 7}});
    bench.open(0, begin); // another queue of the number, whose counter is where the old one's was
    CHECK(bench.look() == std::vector<Bench::Rung>{{0, 7}});
    bench.poller.closed_all();
    bench.write(begin + 64, 8);
    CHECK(bench.look().empty());
    CHECK(bench.poller.count() == 0);
}

TEST_CASE("a record that is open already keeps what was seen of it", "[unit][vfio_user]") {
    Bench bench;
    bench.open(1, begin);
    bench.write(begin, 3);
    REQUIRE(bench.look().size() == 1);
    bench.open(1, begin);
    CHECK(bench.look().empty());
}

TEST_CASE("a marked record is rung by software's first value, even if it stood there before", "[unit][vfio_user]") {
    Bench bench;
    auto record = Bench::record(9, begin + 4);
    record.seen = 0xffff'ffff;
    record.is_marked = true;
    bench.poller.opened(9, record);
    CHECK(bench.look().empty());
    CHECK(bench.read(begin + 4) == 0xffff'ffff);

    bench.write(begin + 4, 0);

    CHECK(bench.look() == std::vector<Bench::Rung>{{9, 0}});
}

TEST_CASE("nothing is looked at or marked for a client that has no pages", "[unit][vfio_user]") {
    Bench bench;
    bench.poller.set_on(false);
    auto record = Bench::record(9, begin + 4);
    record.is_marked = true;
    record.seen = 1;
    bench.poller.opened(9, record);
    bench.write(begin + 4, 2);
    CHECK(bench.look().empty());
    CHECK(bench.read(begin + 4) == 2);
}

TEST_CASE("memory that is taken away is not looked at, and is again when it is back", "[unit][vfio_user]") {
    Bench bench;
    bench.open(1, begin + 8);
    bench.write(begin + 8, 1);

    const bool is_found = bench.poller.look_within({begin, begin + page}, bench.ringing());
    CHECK(is_found); // the last look before it goes
    CHECK(bench.rung == std::vector<Bench::Rung>{{1, 1}});
    bench.unmap();
    CHECK(bench.poller.unreadable() == 1);
    bench.write(begin + 8, 2);
    CHECK(bench.look().empty());

    bench.map();
    CHECK(bench.poller.unreadable() == 0);
    CHECK(bench.look() == std::vector<Bench::Rung>{{1, 2}});
}

TEST_CASE("a look at a range leaves records outside of it alone", "[unit][vfio_user]") {
    Bench bench;
    for (const auto address : {begin, begin + page, begin + 2 * page}) {
        bench.open(static_cast<std::uint32_t>(address / page), address);
        bench.write(address, 1);
    }
    bench.poller.look_within({begin + page, begin + 2 * page}, bench.ringing());
    CHECK(bench.rung == std::vector<Bench::Rung>{{begin / page + 1, 1}});
}

TEST_CASE("records that cannot be read are counted and hurt nobody", "[unit][vfio_user]") {
    Bench bench;
    bench.open(1, 0x1000);                   // no memory
    bench.open(2, begin + pages * page - 2); // over the end
    bench.open(3, begin + 2);                // not aligned
    bench.open(4, ~std::uint64_t{0});        // nowhere
    bench.open(5, begin + pages * page - 4); // the last one
    CHECK(bench.poller.unreadable() == 4);
    bench.write(begin + pages * page - 4, 1);
    CHECK(bench.look() == std::vector<Bench::Rung>{{5, 1}});
    for (std::uint32_t key = 1; key <= 5; ++key)
        bench.poller.closed(key);
    CHECK(bench.poller.unreadable() == 0);
    CHECK(bench.poller.count() == 0);
}

TEST_CASE("memory that may only be read has no records: it could not be marked", "[unit][vfio_user]") {
    Bench bench;
    bench.unmap();
    bench.map(false);
    bench.open(1, begin);
    CHECK(bench.poller.unreadable() == 1);
}

TEST_CASE("whatever opens, closes and moves, each value that lasts is rung exactly once", "[unit][vfio_user]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed);
    std::mt19937 random(seed);
    Bench bench;
    struct Queue {
        bool is_open = false;
        std::uint32_t value = 0, rung = 0;
    };
    std::array<Queue, 64> queues;
    const auto address_of = [](std::uint32_t i) { return begin + 8 * i + 4; };
    for (unsigned round = 0; round < 5000; ++round) {
        const auto i = static_cast<std::uint32_t>(random() % queues.size());
        auto& queue = queues.at(i);
        switch (random() % 4) {
        case 0:
            if (!std::exchange(queue.is_open, true)) {
                bench.write(address_of(i), queue.value = queue.rung = 0);
                bench.open(i, address_of(i));
            }
            break;
        case 1:
            bench.poller.closed(i);
            queue.is_open = false;
            break;
        case 2:
            if (queue.is_open)
                bench.write(address_of(i), ++queue.value);
            break;
        default:
            for (const auto& [number, value] : bench.look(random() % 100)) {
                CHECK(queues.at(number).is_open);
                CHECK(value == queues.at(number).value);
                CHECK(std::exchange(queues.at(number).rung, value) != value);
            }
        }
    }
    for (const auto& [number, value] : bench.look())
        queues.at(number).rung = value;
    for (const auto& queue : queues)
        CHECK((!queue.is_open || queue.rung == queue.value));
}
