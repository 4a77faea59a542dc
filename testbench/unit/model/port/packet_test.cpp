// Payload of a packet: lent or its own, and what a copy of it refers to.
#include "model/port/packet.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <memory>

using model::port::Packet;
using model::port::Payload;

namespace {

std::vector<std::byte> bytes(std::size_t length, int first) {
    std::vector<std::byte> all(length);
    for (std::size_t i = 0; i < length; ++i)
        all[i] = static_cast<std::byte>(first + static_cast<int>(i));
    return all;
}
std::vector<std::byte> content(const Payload& payload) {
    std::vector<std::byte> all(payload.size());
    payload.copy_to(all);
    return all;
}

} // namespace

TEST_CASE("a copy of a payload with bytes of its own has them without the original", "[unit][packet]") {
    auto original = std::make_unique<Packet>();
    original->payload.append_copy(bytes(100, 1));

    const Packet copy(*original);
    Packet assigned;
    assigned.payload.append_copy(bytes(3, 9));
    assigned = *original;
    std::ranges::fill(original->payload.extend(4), std::byte{0xee}); // moves the original's bytes
    original.reset();

    CHECK(content(copy.payload) == bytes(100, 1));
    CHECK(content(assigned.payload) == bytes(100, 1));
    CHECK_FALSE(copy.payload.is_lent());
}

TEST_CASE("a change of the copy does not reach the original", "[unit][packet]") {
    Payload original;
    original.append_copy(bytes(10, 1));

    Payload copy = original;
    copy.append_copy(bytes(2, 70));
    copy.extend(1)[0] = std::byte{5};

    CHECK(content(original) == bytes(10, 1));
    CHECK(copy.size() == 13);
}

TEST_CASE("a copy of a lent payload refers to the lender, and can make the bytes its own", "[unit][packet]") {
    auto memory = bytes(20, 1);
    auto original = std::make_unique<Payload>();
    original->lend(std::span(memory).first(5));
    original->lend(std::span(memory).last(5));

    Payload copy = *original;
    original.reset();
    CHECK(copy.is_lent());
    CHECK(copy.pieces().size() == 2);
    copy.own();
    memory.assign(20, std::byte{});

    auto expected = bytes(5, 1);
    const auto last = bytes(5, 16);
    expected.insert(expected.end(), last.begin(), last.end());
    CHECK(content(copy) == expected);
}

TEST_CASE("a payload assigned to itself or to a used slot is what it was", "[unit][packet]") {
    Payload payload, empty;
    payload.append_copy(bytes(10, 1));
    const auto& same = payload;

    payload = same;
    CHECK(content(payload) == bytes(10, 1));
    payload = empty;
    CHECK(payload.is_empty());
    CHECK(payload.pieces().empty());
    payload.append_copy(bytes(4, 3));
    CHECK(content(payload) == bytes(4, 3));
}
