#include "testbench/unit/model/nvme/io_bench.h"

#include <catch2/catch_get_random_seed.hpp>

#include <set>

using namespace testbench;
using abi::nvme::CreateNamespace;
using abi::nvme::FormatNvm;
using abi::nvme::IdentifyNamespace;
using model::nvme::BlockMap;
using model::nvme::Refusal;
using model::nvme::SanitizeAction;

namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

struct Bench : IoBench {
    using IoBench::IoBench;
    abi::Block<IdentifyNamespace> identify(std::uint32_t nsid) {
        abi::Block<IdentifyNamespace> page;
        page.bytes.fill(std::byte{0xee});
        spaces.identify(nsid, page.bytes);
        return page;
    }
    std::vector<std::uint32_t> list(std::uint32_t after, bool only_attached) {
        std::vector<std::byte> page(4096, std::byte{0xee});
        spaces.list(page, after, only_attached);
        std::vector<std::uint32_t> numbers;
        for (std::size_t i = 0; i < 1024; ++i)
            if (const auto nsid = abi::load<std::uint32_t, abi::Endian::little>(page.data() + 4 * i); nsid != 0)
                numbers.push_back(nsid);
        return numbers;
    }
    model::nvme::Namespaces::Created create(std::uint64_t size, std::uint64_t held, std::uint8_t flbas = 0,
                                            std::uint8_t dps = 0) {
        abi::Block<CreateNamespace> wanted;
        wanted.view().set<"nsze">(size).set<"ncap">(held).set<"flbas">(flbas).set<"dps">(dps);
        return spaces.create(wanted.bytes);
    }
    Refusal format(std::uint32_t nsid, std::uint32_t index, std::uint32_t ses = 0, std::uint32_t pi = 0) {
        abi::Block<FormatNvm> command;
        command.view().set<"lbafl">(index & 15).set<"lbafu">(index >> 4).set<"ses">(ses).set<"pi">(pi);
        Time at{};
        return spaces.format(nsid, command.view(), at);
    }
};

bool refused(const Refusal& refusal, Status status) { return refusal.status == status && refusal.dnr; }

} // namespace

TEST_CASE("Identify says how a namespace looks", "[unit][nvme]") {
    Bench bench;
    bench.fill(3, 5);
    const auto one = bench.identify(1);
    CHECK(one.view().get<"nsze">() == 32768);
    CHECK(one.view().get<"ncap">() == 32768);
    CHECK(one.view().get<"nuse">() == 5);
    CHECK(one.view().get<"nlbaf">() == 4);
    CHECK(one.view().get<"flbas">() == 0);
    CHECK(one.view().get<"dlfeat">() == 9);
    CHECK(one.view().get<"nvmcap">() == 16 * mebibyte);
    CHECK(bench.identify(2).view().get<"flbas">() == 1);
    CHECK(bench.identify(2).view().get<"nsze">() == 4096);
    abi::ConstView<abi::nvme::LbaFormat> last{std::span(one.bytes).subspan(128 + 4 * 4, 4)};
    CHECK(last.get<"ms">() == 64);
    CHECK(last.get<"lbads">() == 12);
    // What is not there is a page of zeroes.
    CHECK(bench.identify(3).bytes == decltype(one.bytes){});
    CHECK(bench.identify(99).bytes == decltype(one.bytes){});
    // What all have in common has formats, and no size.
    CHECK(bench.identify(0xffffffff).view().get<"nlbaf">() == 4);
    CHECK(bench.identify(0xffffffff).view().get<"nsze">() == 0);
    REQUIRE(bench.protect(1, 1).is_ok());
    CHECK(bench.identify(1).view().get<"nsattr">() == 1);
}

TEST_CASE("identifiers differ between drives, namespaces, and namespaces of the same number", "[unit][nvme]") {
    std::set<std::array<std::byte, 16>> nguids;
    std::set<std::array<std::byte, 8>> eui64s;
    const auto note = [&](Bench& bench, std::uint32_t nsid) {
        nguids.insert(bench.identify(nsid).view().get<"nguid">());
        eui64s.insert(bench.identify(nsid).view().get<"eui64">());
    };
    for (const std::uint64_t identity : {1, 2}) {
        auto space = IoBench::space_of({IoBench::of(0), IoBench::of(0)});
        space.identity = identity;
        Bench bench(space);
        note(bench, 1), note(bench, 2);
        REQUIRE(bench.format(1, 1).is_ok());
        note(bench, 1); // stays what it is
        REQUIRE(bench.spaces.remove(1).is_ok());
        REQUIRE(bench.create(100, 100).nsid == 1);
        note(bench, 1);
    }
    CHECK(nguids.size() == 6);
    CHECK(eui64s.size() == 6);
}

TEST_CASE("descriptors are EUI-64, NGUID, UUID and command set", "[unit][nvme]") {
    Bench bench;
    std::vector<std::byte> page(4096, std::byte{0xee});
    REQUIRE(bench.spaces.identify_descriptors(1, page));
    std::vector<std::pair<int, int>> found;
    for (std::size_t at = 0; page[at + 1] != std::byte{};) {
        found.emplace_back(std::to_integer<int>(page[at]), std::to_integer<int>(page[at + 1]));
        at += 4 + std::to_integer<std::size_t>(page[at + 1]);
    }
    CHECK(found == std::vector<std::pair<int, int>>{{1, 8}, {2, 16}, {3, 16}, {4, 1}});
    CHECK_FALSE(bench.spaces.identify_descriptors(3, page));
    CHECK(page == std::vector<std::byte>(4096));
    CHECK(bench.spaces.identify_independent(1, page));
    CHECK(page[14] == std::byte{1}); // ready
    CHECK(bench.spaces.identify_nvm(1, page));
    CHECK_FALSE(bench.spaces.identify_nvm(3, page));
    CHECK_FALSE(bench.spaces.identify_independent(3, page));
}

TEST_CASE("a namespace is created, attached, used, detached and deleted", "[unit][nvme]") {
    Bench bench;
    const auto created = bench.create(2048, 2048, 1);
    REQUIRE(created.refusal.is_ok());
    CHECK(created.nsid == 3);
    CHECK(bench.list(0, true) == std::vector<std::uint32_t>{1, 2});
    CHECK(bench.list(0, false) == std::vector<std::uint32_t>{1, 2, 3});
    CHECK(bench.list(1, false) == std::vector<std::uint32_t>{2, 3});
    CHECK(bench.spaces.changed().empty());
    CHECK(refused(bench.spaces.detach(3), Status::namespace_not_attached));

    REQUIRE(bench.spaces.attach(3).is_ok());
    CHECK(refused(bench.spaces.attach(3), Status::namespace_already_attached));
    CHECK(bench.spaces.changed() == std::vector<std::uint32_t>{3});
    bench.fill(0, 1, 1, 3);
    REQUIRE(bench.spaces.detach(3).is_ok());
    CHECK(bench.status(Sqe(IoOpcode::read, 3).range(0, 1).prp(0x10000)) == Status::invalid_field);
    REQUIRE(bench.spaces.attach(3).is_ok());
    CHECK(bench.stored(0, 4096, 3) == pattern(4096));
    REQUIRE(bench.spaces.remove(3).is_ok());
    CHECK(bench.spaces.changed() == std::vector<std::uint32_t>{3});
    bench.spaces.clear_changed();
    CHECK(bench.list(0, false) == std::vector<std::uint32_t>{1, 2});
    for (const auto& refusal : {bench.spaces.remove(3), bench.spaces.attach(3), bench.spaces.detach(3)})
        CHECK(refused(refusal, Status::invalid_field));
    for (const auto& refusal : {bench.spaces.remove(0), bench.spaces.attach(17), bench.spaces.detach(0)})
        CHECK(refused(refusal, Status::invalid_namespace));
    REQUIRE(bench.spaces.remove(0xffffffff).is_ok());
    CHECK(bench.list(0, false).empty());
    CHECK(bench.spaces.changed() == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("what cannot be created is refused", "[unit][nvme]") {
    auto space = IoBench::space_of({IoBench::of(0)});
    space.capacity = 20 * mebibyte;
    space.max_namespaces = 2;
    Bench bench(space);
    CHECK(bench.spaces.unallocated() == 4 * mebibyte);
    CHECK(refused(bench.create(0, 0).refusal, Status::invalid_field));
    CHECK(refused(bench.create(10, 11).refusal, Status::invalid_field));
    CHECK(refused(bench.create(11, 10).refusal, Status::thin_not_supported));
    CHECK(refused(bench.create(8193, 8193).refusal, Status::insufficient_capacity));
    CHECK(refused(bench.create(~0ull, ~0ull).refusal, Status::insufficient_capacity));
    CHECK(refused(bench.create(8192, 8192, 2).refusal, Status::insufficient_capacity)); // 520 bytes each
    CHECK(refused(bench.create(10, 10, 5).refusal, Status::invalid_format));
    CHECK(refused(bench.create(10, 10, 0, 1).refusal, Status::invalid_format)); // no room for protection
    CHECK(refused(bench.create(10, 10, 2, 4).refusal, Status::invalid_format));
    REQUIRE(bench.create(8192, 8192).nsid == 2);
    CHECK(bench.spaces.unallocated() == 0);
    CHECK(refused(bench.create(1, 1).refusal, Status::insufficient_capacity));
    REQUIRE(bench.spaces.remove(2).is_ok());
    REQUIRE(bench.create(1, 1).nsid == 2);
    CHECK(refused(bench.create(1, 1).refusal, Status::namespace_id_unavailable));
}

TEST_CASE("Format leaves nothing, and gives blocks another size", "[unit][nvme]") {
    Bench bench;
    bench.fill(0, 8);
    REQUIRE(bench.status(Sqe(IoOpcode::write_uncorrectable).range(9, 1)) == Status::success);
    REQUIRE(bench.format(1, 1).is_ok());
    CHECK(bench.space().blocks() == 4096);
    CHECK(bench.spaces.changed() == std::vector<std::uint32_t>{1});
    CHECK(bench.stored(0, 4096) == std::vector<std::byte>(4096));
    CHECK(bench.space().allocated().count() == 0);
    CHECK(bench.status(Sqe(IoOpcode::read).range(0, 2).prp(0x10000, 0x11000)) == Status::success);
    REQUIRE(bench.format(1, 2, 1, 1).is_ok());
    CHECK(bench.space().shape().is_protected());
    CHECK(bench.space().blocks() == 16 * mebibyte / 520);
    CHECK(bench.medium().unsafe_units() == 0);
    REQUIRE(bench.format(0xffffffff, 0).is_ok());
    CHECK(bench.space(2).blocks() == 32768);
}

TEST_CASE("a Format that is wrong changes nothing", "[unit][nvme]") {
    Bench bench;
    bench.fill(0, 1);
    CHECK(refused(bench.format(1, 5), Status::invalid_format));
    CHECK(refused(bench.format(1, 17), Status::invalid_format));
    CHECK(refused(bench.format(1, 2, 0, 4), Status::invalid_format));
    CHECK(refused(bench.format(1, 0, 0, 1), Status::invalid_format));
    CHECK(refused(bench.format(1, 0, 3), Status::invalid_field));
    CHECK(refused(bench.format(0, 0), Status::invalid_namespace));
    CHECK(refused(bench.format(17, 0), Status::invalid_namespace));
    CHECK(refused(bench.format(3, 0), Status::invalid_field));
    REQUIRE(bench.protect(2, 1).is_ok());
    CHECK(refused(bench.format(2, 0), Status::namespace_write_protected));
    CHECK(refused(bench.format(0xffffffff, 0), Status::namespace_write_protected));
    CHECK(bench.stored(0, 512) == pattern(512));
    bench.medium().make_read_only({0, 1});
    CHECK(bench.format(1, 1).status == Status::write_fault);
    CHECK(bench.space().blocks() == 32768);
}

TEST_CASE("Sanitize leaves nothing of any namespace", "[unit][nvme]") {
    Bench bench;
    bench.fill(0, 8), bench.fill(0, 1, 1, 2);
    Time at{};
    SECTION("by erasing") {
        REQUIRE(bench.spaces.sanitize(SanitizeAction::block_erase, 0, true, at).is_ok());
        CHECK(bench.stored(0, 4096) == std::vector<std::byte>(4096));
        CHECK(bench.space().allocated().is_empty());
    }
    SECTION("by erasing without deallocation") {
        REQUIRE(bench.spaces.sanitize(SanitizeAction::cryptographic_erase, 0, false, at).is_ok());
        CHECK(bench.stored(0, 4096) == std::vector<std::byte>(4096));
        CHECK(bench.space().allocated().is_full());
    }
    SECTION("by a pattern") {
        REQUIRE(bench.spaces.sanitize(SanitizeAction::overwrite, 0xabababab, false, at).is_ok());
        CHECK(bench.stored(32767, 512) == std::vector<std::byte>(512, std::byte{0xab}));
        CHECK(bench.space().allocated().is_full());
    }
    CHECK(bench.stored(0, 4096, 2) != pattern(4096));
    CHECK(bench.medium().unsafe_units() == 0);
}

TEST_CASE("Sanitize is refused where a namespace is protected, and says if the medium fails", "[unit][nvme]") {
    Bench bench;
    Time at{};
    bench.medium(2).make_read_only({0, 1});
    CHECK(bench.spaces.sanitize(SanitizeAction::block_erase, 0, true, at).status == Status::sanitize_failed);
    REQUIRE(bench.protect(1, 1).is_ok());
    CHECK(refused(bench.spaces.sanitize(SanitizeAction::block_erase, 0, true, at), Status::namespace_write_protected));
}

TEST_CASE("Format of all namespaces is one of those that are attached", "[unit][nvme]") {
    Bench bench;
    bench.fill(0, 1), bench.fill(0, 1, 1, 2);
    REQUIRE(bench.protect(2, 1).is_ok()); // which keeps no other one from being formatted
    REQUIRE(bench.spaces.detach(2).is_ok());
    bench.spaces.clear_changed();

    REQUIRE(bench.format(0xffffffff, 0).is_ok());
    CHECK(bench.stored(0, 512) == std::vector<std::byte>(512));
    CHECK(bench.stored(0, 4096, 2) == pattern(4096));
    CHECK(bench.space(2).shape().format_index == 1);
    CHECK(bench.spaces.changed() == std::vector<std::uint32_t>{1});
    bench.space(2).set_write_protection(model::nvme::WriteProtection::none);
    REQUIRE(bench.format(2, 0).is_ok()); // by its number it is formatted all the same
    CHECK(bench.stored(0, 4096, 2) == std::vector<std::byte>(4096));
}

TEST_CASE("write protection is on or off, and keeps a namespace from being deleted", "[unit][nvme]") {
    Bench bench;
    REQUIRE(bench.protect(1, 1).is_ok());
    CHECK(bench.protect(1, 1).is_ok());
    CHECK(refused(bench.spaces.remove(1), Status::namespace_write_protected));
    CHECK(refused(bench.spaces.remove(0xffffffff), Status::namespace_write_protected));
    REQUIRE(bench.protect(1, 0).is_ok());
    CHECK(bench.space().is_writable());
    // Until a power cycle, and for good, are states that NWPC does not say.
    for (const std::uint32_t state : {2, 3, 4})
        CHECK(refused(bench.protect(2, state), Status::invalid_field));
    CHECK(bench.space(2).is_writable());
    CHECK(refused(bench.protect(0, 1), Status::invalid_namespace));
    bench.space(2).set_write_protection(model::nvme::WriteProtection::permanent); // of an earlier version
    for (const std::uint32_t state : {0, 1})
        CHECK(refused(bench.protect(2, state), Status::feature_not_changeable));
    CHECK_FALSE(bench.space(2).is_writable());
}

TEST_CASE("what a write cache has of a namespace is durable when the namespace is write protected", "[unit][nvme]") {
    Bench bench;
    bench.fill(0, 8), bench.fill(0, 1, 1, 2);
    bench.medium().fail_flushes();
    CHECK(bench.protect(1, 1).status == Status::write_fault);
    CHECK(bench.space().is_writable());
    bench.medium().heal();

    REQUIRE(bench.protect(1, 1).is_ok());
    CHECK(bench.medium().unsafe_units() == 0);
    CHECK(bench.medium(2).unsafe_units() != 0); // of another namespace nothing is said
    bench.medium().fail_flushes();
    CHECK(bench.protect(1, 0).is_ok()); // there is nothing to be committed
}

TEST_CASE("write protection takes as long as a flush", "[unit][nvme][time]") {
    model::nvme::FlashConfig drive;
    drive.timed = true;
    Bench bench(IoBench::space_of({IoBench::of(0)}), {}, drive);
    bench.fill(0, 1);

    Time at{};
    REQUIRE(bench.spaces.protect(1, 1, at).is_ok());
    CHECK(at >= drive.program);
    const auto done = at;
    REQUIRE(bench.spaces.protect(1, 1, at).is_ok());
    CHECK(at == done);
}

TEST_CASE("a configuration that cannot be is refused", "[unit][nvme]") {
    const auto make = [](auto&& change) {
        auto space = IoBench::space_of({IoBench::of(0)});
        change(space);
        model::nvme::Namespaces spaces(space);
    };
    CHECK_THROWS(make([](auto& space) { space.max_namespaces = 0; }));
    CHECK_THROWS(make([](auto& space) { space.formats.clear(); }));
    CHECK_THROWS(make([](auto& space) { space.formats.resize(17); }));
    CHECK_THROWS(make([](auto& space) { space.formats[0].data_shift = 13; }));
    CHECK_THROWS(make([](auto& space) { space.formats[0].data_shift = 8; }));
    CHECK_THROWS_AS(make([](auto& space) { space.namespaces[0].format = 5; }), std::invalid_argument);
    CHECK_THROWS(make([](auto& space) { space.namespaces[0].bytes = 511; }));
    CHECK_THROWS(make([](auto& space) { space.namespaces[0].protection = model::nvme::Protection::type1; }));
    CHECK_THROWS(make([](auto& space) { space.namespaces[0].file = "/no/such/folder/image"; }));
    CHECK_NOTHROW(make([](auto& space) { space.namespaces.clear(); }));
}

TEST_CASE("a map of blocks finds what it was told", "[unit][nvme]") {
    const auto seed = Catch::getSeed();
    INFO("seed " << seed);
    std::uint64_t random = seed | 1;
    const auto next = [&](std::uint64_t below) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        return random % below;
    };
    constexpr std::uint64_t blocks = 100'001;
    BlockMap map;
    map.resize(blocks);
    std::vector<bool> model(blocks);
    for (int step = 0; step < 300; ++step) {
        const auto first = next(blocks);
        const auto count = next(std::min<std::uint64_t>(blocks - first, step % 3 == 0 ? 100 : 70'000)) + 1;
        const bool value = next(2) != 0;
        map.set(first, count, value);
        std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(first), count, value);
        REQUIRE(map.count() == static_cast<std::uint64_t>(std::ranges::count(model, true)));
        const auto from = next(blocks), length = next(blocks - from);
        for (const bool wanted : {false, true}) {
            const auto begin = model.begin() + static_cast<std::ptrdiff_t>(from);
            const auto end = begin + static_cast<std::ptrdiff_t>(length);
            const auto found = std::find(begin, end, wanted);
            const auto place = map.find(from, length, wanted);
            REQUIRE(place.has_value() == (found != end));
            if (place)
                REQUIRE(*place == static_cast<std::uint64_t>(found - model.begin()));
        }
    }
    map.set(0, blocks, true);
    CHECK(map.is_full());
    map.set(0, blocks, false);
    CHECK(map.is_empty());
}
