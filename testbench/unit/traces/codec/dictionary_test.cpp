#include "traces/codec/dictionary.h"

#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <list>

using namespace trace_bench;

namespace {

/// The same window, looked through from its oldest entry on.
class PlainDictionary {
public:
    explicit PlainDictionary(std::uint64_t window) : window_(window) {}
    const Bytes* find(const Digest& digest) const {
        const auto found = std::ranges::find(entries_, digest, &Entry::digest);
        return found == entries_.end() ? nullptr : &found->bytes;
    }
    void add(const Digest& digest, const Bytes& bytes) {
        used_ += bytes.size() + Dictionary::entry_overhead;
        entries_.push_back({digest, bytes});
        for (; used_ > window_; entries_.pop_front())
            used_ -= entries_.front().bytes.size() + Dictionary::entry_overhead;
    }
    std::uint64_t used() const { return used_; }

private:
    struct Entry {
        Digest digest;
        Bytes bytes;
    };
    std::uint64_t window_, used_ = 0;
    std::list<Entry> entries_;
};

/// A digest whose first bytes, which say where an entry is looked for, are `home`.
Digest digest_at(std::uint64_t home, std::uint8_t other) {
    Digest digest{};
    std::memcpy(digest.data(), &home, sizeof home);
    digest.back() = std::byte{other};
    return digest;
}

} // namespace

TEST_CASE("an entry is found as long as the window has it, whichever entries are beside it", "[unit][traces]") {
    const auto number = testbench::random_seed();
    CAPTURE(number);
    std::mt19937_64 random(number);
    constexpr std::uint64_t window = 20'000;
    Dictionary dictionary(window);
    PlainDictionary plain(window);

    for (unsigned step = 0; step != 4000; ++step) {
        // Few homes, some of them the last ones of any table: entries stand in each other's places, and pass its end.
        const auto digest = digest_at(random() % 12 - 6, static_cast<std::uint8_t>(random() % 16));
        const auto bytes = random_bytes(random() % 3 == 0 ? 100 : 1 + random() % 300, random);
        const auto* before = plain.find(digest);
        const auto found = dictionary.find(digest);
        REQUIRE(found.has_value() == (before != nullptr));
        if (found) {
            REQUIRE(std::ranges::equal(*found, *before));
            continue;
        }
        REQUIRE(dictionary.add(digest, bytes));
        plain.add(digest, bytes);
        REQUIRE(dictionary.used_bytes() == plain.used());
    }
}

TEST_CASE("entries with one hash and two digests are two entries", "[unit][traces]") {
    Dictionary dictionary(1 << 20);
    REQUIRE(dictionary.add(digest_at(7, 1), bytes_of("one")));
    REQUIRE(dictionary.add(digest_at(7, 2), bytes_of("two")));

    CHECK(std::ranges::equal(dictionary.find(digest_at(7, 1)).value(), bytes_of("one")));
    CHECK(std::ranges::equal(dictionary.find(digest_at(7, 2)).value(), bytes_of("two")));
    CHECK_FALSE(dictionary.find(digest_at(7, 3)));
}

TEST_CASE("what is larger than the window is no entry, and takes no other one's place", "[unit][traces]") {
    Dictionary dictionary(300);
    REQUIRE(dictionary.add(digest_at(1, 1), Bytes(300 - Dictionary::entry_overhead)));

    CHECK_FALSE(dictionary.add(digest_at(2, 2), Bytes(301 - Dictionary::entry_overhead)));

    CHECK(dictionary.find(digest_at(1, 1)));
    CHECK(dictionary.used_bytes() == 300);
}
