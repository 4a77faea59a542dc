// Payload of a packet: lent or its own, and what a copy of it refers to.
#include "model/port/packet.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <memory>

using model::port::LoanBook;
using model::port::Loans;
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
    Loans loans;
    auto original = std::make_unique<Payload>();
    original->lend(std::span(memory).first(5), loans);
    original->lend(std::span(memory).last(5), loans);

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

TEST_CASE("draining a book makes the bytes of every payload in it its own, copies and copies of copies among them",
          "[unit][packet][loan]") {
    auto memory = bytes(20, 1);
    Loans loans;
    std::array<Payload, 3> lent;
    lent[0].lend(std::span(memory).first(8), loans);
    lent[1] = lent[0];
    lent[2].lend(std::span(memory).first(8), loans);
    const Payload copy = lent[1];
    lent[1].clear(); // what leaves takes nobody with it

    loans.drain();
    memory.assign(20, std::byte{});

    CHECK(loans.is_empty());
    CHECK(lent[1].is_empty());
    for (const auto* payload : std::array<const Payload*, 3>{&lent[0], &lent[2], &copy}) {
        CHECK_FALSE(payload->is_lent());
        CHECK(content(*payload) == bytes(8, 1));
    }
}

TEST_CASE("draining a range copies what touches it by one byte, and nothing beside it", "[unit][packet][loan]") {
    const auto memory = bytes(100, 0);
    const auto at = [&](std::size_t from, std::size_t length) { return std::span(memory).subspan(from, length); };
    LoanBook book;
    Payload before, first, last, behind, second_piece;
    before.lend(at(10, 10), book.requests);
    first.lend(at(11, 10), book.requests);
    last.lend(at(29, 10), book.answers);
    behind.lend(at(30, 10), book.answers);
    second_piece.lend(at(90, 5), book.answers);
    second_piece.lend(at(25, 1), book.answers);

    book.drain(at(20, 10));

    CHECK(before.is_lent());
    CHECK_FALSE(first.is_lent());
    CHECK_FALSE(last.is_lent());
    CHECK(behind.is_lent());
    CHECK_FALSE(second_piece.is_lent());
    CHECK(second_piece.size() == 6);
    book.drain();
    CHECK_FALSE(before.is_lent());
    CHECK_FALSE(behind.is_lent());
}

TEST_CASE("a payload leaves the book when it is cleared, assigned, made its own or destroyed", "[unit][packet][loan]") {
    const auto memory = bytes(20, 1);
    Loans loans;
    Payload payload, own;
    own.append_copy(memory);
    const auto lend = [&](Payload& to) {
        to.clear();
        to.lend(memory, loans);
        CHECK_FALSE(loans.is_empty());
    };

    lend(payload);
    payload.clear();
    CHECK(loans.is_empty());
    lend(payload);
    payload = own;
    CHECK(loans.is_empty());
    lend(payload);
    payload.own();
    CHECK(loans.is_empty());
    lend(payload);
    payload.extend(1);
    CHECK(loans.is_empty());
    {
        Payload inner;
        lend(inner);
    }
    CHECK(loans.is_empty());
}

TEST_CASE("what refers to memory of a lender that is gone refers to nothing", "[unit][packet][loan]") {
    auto memory = std::make_unique<std::vector<std::byte>>(bytes(20, 1));
    auto book = std::make_unique<LoanBook>();
    Payload request, answer;
    request.lend(*memory, book->requests);
    answer.lend(*memory, book->answers);

    book.reset();
    memory.reset();

    CHECK(request.is_empty());
    CHECK(answer.is_empty());
}
