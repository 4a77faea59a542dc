// What kind of difference it is follows from what was to come and from what came.
#include "platform/record/divergence.h"

#include "abi/prm/cqe.h"

#include <catch2/catch_test_macros.hpp>

#include <string_view>

using namespace platform::record;
using Kind = Divergence::Kind;
using traces::codec::Direction;
using traces::codec::Signal;

namespace {

/// A letter a deed: capitals are writes whose place follows from the letter, small ones frames, digits interrupts; '?'
/// is the same write as 'A' with another byte.
Step deed(char letter, std::uint64_t record = 0) {
    Step step;
    step.record = record;
    step.direction = Direction::outbound;
    if (letter >= '0' && letter <= '9') {
        step.signal = Signal::interrupt;
        step.told.number = static_cast<std::uint32_t>(letter - '0');
        return step;
    }
    const bool is_frame = letter >= 'a' && letter <= 'z';
    step.what = is_frame ? Step::What::frame : Step::What::write;
    step.address = is_frame ? 0 : letter == '?' ? 'A' : static_cast<std::uint64_t>(letter);
    step.bytes.assign(4, static_cast<std::byte>(letter));
    step.length = is_frame ? 0 : 4;
    return step;
}
/// Records are numbered from 101 on.
Divergence judged(std::string_view expected, std::string_view actual) {
    std::vector<Step> to_come;
    for (const auto letter : expected)
        to_come.push_back(deed(letter, 101 + to_come.size()));
    Inquiry inquiry(std::move(to_come));
    for (const auto letter : actual)
        inquiry.happens(deed(letter));
    return inquiry.judge();
}

} // namespace

TEST_CASE("a deed that is left out is missing, whatever comes in its place", "[unit][record]") {
    CHECK(judged("AB1", "B1").kind == Kind::missing);
    CHECK(judged("AB1", "1").kind == Kind::missing);
    CHECK(judged("A1", "1").kind == Kind::missing);
    CHECK(judged("A", "").kind == Kind::missing);
    CHECK(judged("AB1", "B1").record == 101);
    CHECK(judged("AB1", "B1").expected_step);
}

TEST_CASE("a deed that nobody did is extra", "[unit][record]") {
    CHECK(judged("B1", "AB1").kind == Kind::extra);
    CHECK(judged("", "1").kind == Kind::extra);
    CHECK(judged("B1", "AB1").record == 0);
    CHECK_FALSE(judged("B1", "AB1").expected_step);
    CHECK(judged("B1", "AB1").next == 101);
}

TEST_CASE("a deed with another content is a field", "[unit][record]") {
    CHECK(judged("AB1", "?B1").kind == Kind::field);
    CHECK(judged("A", "?").kind == Kind::field);
    CHECK(judged("AB", "?").kind == Kind::field); // it did not go on
    CHECK(judged("1", "2").kind == Kind::field);
}

TEST_CASE("a frame that is like the next one has another field, and the next one is there", "[unit][record]") {
    const auto divergence = judged("abcd", "bbcd");

    CHECK(divergence.kind == Kind::field);
    CHECK(divergence.record == 101);
}

TEST_CASE("two deeds that have changed places are an order, with the records of both", "[unit][record]") {
    for (const auto* actual : {"BA1", "B1A", "BA"})
        CHECK(judged("AB1", actual).kind == Kind::order);
    CHECK(judged("AB1", "BA1").record == 101);
    CHECK(judged("AB1", "BA1").other == 102);
    CHECK(judged("AB1", "1AB").other == 103);
    CHECK(judged("AB1", "B1").other == 0);
}

TEST_CASE("times make no difference of another kind", "[unit][record]") {
    auto wake = deed('1'), other = wake;
    wake.signal = other.signal = Signal::wake_at;
    other.told.value = 7;
    other.at += std::chrono::nanoseconds(5);

    CHECK(is_same_deed(wake, other));
    wake.signal = other.signal = Signal::turn;
    CHECK_FALSE(is_same_deed(wake, other));
}

TEST_CASE("reads behind a difference get the bytes that were recorded", "[unit][record]") {
    auto read = deed('R', 102), answer = deed('R', 103);
    read.what = Step::What::read;
    read.bytes.clear();
    answer.what = Step::What::data;
    answer.direction = Direction::inbound;
    Inquiry inquiry({deed('A', 101), read, answer});

    CHECK(inquiry.happens(deed('B')) == nullptr);
    const auto* known = inquiry.happens(read);
    REQUIRE(known != nullptr);
    CHECK(known->record == 103);
    CHECK(inquiry.happens(read) == nullptr); // once
}

TEST_CASE("a completion at another time has another time stamp, and is the same deed", "[unit][record]") {
    const auto completion = [](unsigned at_ns, unsigned time_stamp, unsigned byte_count = 0) {
        Step step;
        step.what = Step::What::write;
        step.direction = Direction::outbound;
        step.at = std::chrono::nanoseconds{at_ns};
        step.bytes.resize(abi::prm::Cqe64::size);
        const abi::View<abi::prm::Cqe64> cqe(step.bytes);
        cqe.set<"timestamp">(time_stamp).set<"byte_cnt">(byte_count);
        cqe.set<"signature">(abi::prm::cqe_signature(step.bytes));
        step.length = step.bytes.size();
        return step;
    };
    auto unsigned_one = completion(2, 20);
    unsigned_one.bytes[abi::prm::cqe_signature_offset] ^= std::byte{1};
    auto wider = completion(1, 10), other_wider = completion(2, 20); // 128 bytes, in front of which a message stands
    for (auto* step : {&wider, &other_wider}) {
        step->bytes.insert(step->bytes.begin(), 64, std::byte{});
        step->length = step->bytes.size();
    }

    CHECK(is_same_deed(completion(1, 10), completion(2, 20)));
    CHECK_FALSE(is_same_deed(completion(1, 10), completion(1, 20)));    // at the same time it is another one
    CHECK_FALSE(is_same_deed(completion(1, 10), completion(2, 20, 1))); // another content
    CHECK_FALSE(is_same_deed(completion(1, 10), unsigned_one));
    CHECK(is_same_deed(wider, other_wider));
    other_wider.bytes.front() = std::byte{1};
    CHECK_FALSE(is_same_deed(wider, other_wider));
}
