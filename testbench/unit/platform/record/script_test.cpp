// How much of a recording is held while it is played functionally.
#include "platform/record/script.h"

#include "testbench/unit/platform/record/hca_session.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace hca_session;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Read {
    std::size_t calls = 0;
    std::optional<codec::Fault> fault;
};
/// Takes all calls, and does nothing of what is expected.
Read read_calls(const trace_bench::Bytes& trace, std::size_t most_held) {
    trace_bench::MemorySource source(trace);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    Script script(reader, left_interfaces, most_held);
    Read read;
    for (; script.next() != nullptr; ++read.calls)
        script.take();
    read.fault = script.fault();
    return read;
}

} // namespace

TEST_CASE("a recording of which more would be held than may be is refused at that record", "[unit][record]") {
    const auto trace = recorded(configured(true));
    const auto whole = read_calls(trace, Script::most_held_bytes);
    REQUIRE_FALSE(whole.fault);
    REQUIRE(whole.calls > 100);

    const auto small = read_calls(trace, std::size_t{1} << 18);

    CHECK(small.calls < whole.calls);
    REQUIRE(small.fault);
    CHECK(small.fault->kind == codec::FaultKind::excessive);
    CHECK_THAT(small.fault->reason, ContainsSubstring("record ") && ContainsSubstring("would be held"));
}

TEST_CASE("what the device has done again is held no longer", "[unit][record]") {
    Expectations expectations;
    expectations.more = [] { return false; };
    Deed write{.kind = DeedKind::bytes, .step = {}, .stream = {}, .content = {}};
    write.step.record = 1;
    write.step.what = Step::What::write;
    write.step.address = 0x1000;
    write.step.bytes.resize(10'000);
    write.step.length = write.step.bytes.size();
    expectations.add(write);
    const auto held = expectations.held_bytes();

    const auto match = expectations.take(write, 2);

    CHECK(held > 10'000);
    CHECK(match.has_value());
    CHECK(expectations.held_bytes() == 0);
}
