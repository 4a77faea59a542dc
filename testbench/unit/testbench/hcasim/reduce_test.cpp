// `hcasim trace reduce` on recordings of the program's own kind, with devices that err on purpose.
#include "testbench/hcasim/reduce.h"

#include "abi/prm/cqe.h"
#include "testbench/planted/planted.h"
#include "testbench/program/status.h"
#include "testbench/unit/testbench/hcasim/recorded_session.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

using namespace hcasim_replay;
using planted::Mistake;

namespace {

/// A directory for the life of a test.
class Scratch {
public:
    Scratch() {
        auto name = (std::filesystem::temp_directory_path() / "reduce.XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        directory_ = name;
    }
    ~Scratch() { std::filesystem::remove_all(directory_); }
    std::string file(const char* name) const { return (directory_ / name).string(); }
    std::string file(const char* name, const Bytes& bytes) const {
        std::ofstream(file(name), std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return file(name);
    }

private:
    std::filesystem::path directory_;
};
Bytes contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return trace_bench::bytes_of(text);
}

/// Devices that make the mistake at the so-many-th thing of its kind in what they play.
struct Planted {
    Mistake mistake;
    std::uint64_t number;
    std::deque<planted::PlantedDevices> devices{};
    MakeRecorded operator()(const traces::tool::OpenTrace& played, const RecordedPart& part) {
        const auto place = planted::find_place(played, part, mistake, number);
        if (!place)
            return make_recorded;
        auto& made = devices.emplace_back(mistake, place->ordinal);
        return [&made](const auto& device, const auto& ports, const auto& at) { return made.make(device, ports, at); };
    }
};

} // namespace

TEST_CASE("of a long recording a small one is left in which the same mistake is found", "[unit][replay]") {
    const auto mistake = GENERATE(Mistake::cqe_field, Mistake::psn);
    const Scratch scratch;
    const auto config = configuration();
    hca_session::Recording recording(platform::topology::print_toml(config));
    session(hca_of(config, "A.hca"), hca_of(config, "B.hca"), &recording, 100'000, 200);
    REQUIRE(recording.writer.close());
    const auto whole = scratch.file("whole", recording.destination.bytes);
    Planted planted{mistake, 0};

    // However slow the machine is.
    constexpr auto budget = std::chrono::minutes(5);
    const auto status =
        reduce({.trace = whole, .out = scratch.file("small"), .part = "A.hca", .budget = budget}, std::ref(planted));

    CHECK(status == status::good);
    const auto small = contents(scratch.file("small"));
    const auto records = trace_bench::read_all(small).records.size();
    INFO(records << " records of " << recording.writer.records());
    CHECK(records * 100 < recording.writer.records());
    const auto part = bench_of(small).parts.at(0);
    const auto make = planted(opened(small), part);
    const auto again = played(small, part, hcasim::ReplayMode::untimed, make);
    CHECK(again.divergence);
    CHECK(played(small, part, hcasim::ReplayMode::untimed).is_same()); // a device without the mistake
}

TEST_CASE("nothing is reduced where a device does what was recorded", "[unit][replay]") {
    const Scratch scratch;
    const auto whole = scratch.file("whole", recorded());

    CHECK(reduce({.trace = whole, .out = scratch.file("small")}) == status::refused);
    CHECK_FALSE(std::filesystem::exists(scratch.file("small")));
}

TEST_CASE("a device that differs before its first call has no call to leave out", "[unit][replay]") {
    const Scratch scratch;
    const auto whole = scratch.file("whole", recorded());
    const MakeFor writes_at_once = [](const auto&, const auto&) -> MakeRecorded {
        return [](const auto& device, const auto& ports, const auto& at) {
            ports.dma.write(abi::BusAddress{0x1000}, std::vector<std::byte>(4), Time{});
            return make_recorded(device, ports, at);
        };
    };

    CHECK(reduce({.trace = whole, .out = scratch.file("small"), .part = "A.hca"}, writes_at_once) == status::refused);
    CHECK_FALSE(std::filesystem::exists(scratch.file("small")));
}

TEST_CASE("a result that cannot be created is refused before anything is played", "[unit][replay]") {
    const Scratch scratch;
    const auto whole = scratch.file("whole", recorded());
    bool is_played = false;
    const MakeFor make = [&](const auto&, const auto&) {
        is_played = true;
        return MakeRecorded(make_recorded);
    };

    CHECK(reduce({.trace = whole, .out = scratch.file("nowhere/small")}, make) == status::refused);
    CHECK_FALSE(is_played);
}

TEST_CASE("differences are the same by their class and by the bytes that differ", "[unit][replay]") {
    Step expected, actual;
    expected.what = actual.what = Step::What::write;
    expected.bytes = actual.bytes = Bytes(8);
    actual.bytes[5] = std::byte{1};
    Divergence divergence{.kind = Divergence::Kind::field, .expected_step = expected, .actual_step = actual};
    const auto one = sameness(divergence);

    divergence.actual_step->at = Time{5};
    divergence.actual_step->bytes[5] = std::byte{2};
    CHECK(sameness(divergence) == one); // another time, another value

    divergence.actual_step->bytes[6] = std::byte{1};
    CHECK(sameness(divergence) != one);
    divergence.actual_step = actual;
    divergence.actual_step->address = 64;
    CHECK(sameness(divergence) != one);
    divergence.actual_step = actual;
    divergence.others = 1;
    CHECK(sameness(divergence) != one);
    divergence = {.kind = Divergence::Kind::extra, .expected_step = expected, .actual_step = actual};
    CHECK(sameness(divergence) != one);
}

TEST_CASE("when a completion was is no other mistake, but what an error says in the same bytes is", "[unit][replay]") {
    const auto write = [](abi::prm::CqeOpcode opcode, std::uint64_t timestamp, std::uint32_t length) {
        abi::Block<abi::prm::Cqe64> cqe;
        cqe.view().set<"opcode">(opcode).set<"timestamp">(timestamp).set<"byte_cnt">(length);
        cqe.view().set<"signature">(abi::prm::cqe_signature(cqe.bytes));
        Step step;
        step.what = Step::What::write;
        step.bytes.assign(cqe.bytes.begin(), cqe.bytes.end());
        return step;
    };
    const auto same = [](const Step& expected, const Step& actual) {
        return sameness({.kind = Divergence::Kind::field, .expected_step = expected, .actual_step = actual});
    };
    using enum abi::prm::CqeOpcode;
    CHECK(same(write(req, 5000, 16), write(req, 5000, 17)) == same(write(req, 5000, 16), write(req, 4000, 17)));
    CHECK(same(write(req, 5000, 16), write(req, 5000, 17)) != same(write(req, 5000, 16), write(req, 4000, 16)));
    auto unsigned_mistake = write(req, 5000, 17); // the signature is that of the entry without the mistake
    unsigned_mistake.bytes[abi::prm::cqe_signature_offset] = write(req, 5000, 16).bytes[abi::prm::cqe_signature_offset];
    CHECK(same(write(req, 5000, 16), unsigned_mistake) == same(write(req, 5000, 16), write(req, 4000, 17)));
    for (const auto error : {req_err, resp_err})
        CHECK(same(write(error, 5, 16), write(error, 5, 17)) != same(write(error, 5, 16), write(error, 4, 17)));
    auto data = write(req, 5000, 16); // 64 bytes that are no completion: their signature says so
    data.bytes[0] ^= std::byte{1};
    CHECK(same(data, write(req, 5000, 17)) != same(data, write(req, 4000, 17)));
}

TEST_CASE("what a device does besides is in the course of a call, and all else at the record that was to come",
          "[unit][replay]") {
    Divergence divergence{.kind = Divergence::Kind::extra, .next = 9, .call = 7};
    CHECK(record_of(divergence) == 7);
    CHECK(where(divergence, 3) == "extra in the course of record 3");

    divergence.kind = Divergence::Kind::missing;
    divergence.record = 8;
    CHECK(record_of(divergence) == 8);
    CHECK(where(divergence, 4) == "missing at record 4");
}

TEST_CASE("what else is not the same in a call is counted behind the first difference", "[unit][replay]") {
    const auto write = [](std::uint64_t address, unsigned value) {
        Step step;
        step.what = Step::What::write;
        step.direction = codec::Direction::outbound;
        step.address = address;
        step.length = 1;
        step.bytes = {static_cast<std::byte>(value)};
        return step;
    };
    const std::vector<Step> to_come{write(0x100, 1), write(0x200, 1)};
    Inquiry same(to_come), less(to_come), more(to_come);

    same.happens(write(0x100, 2));
    same.happens(write(0x200, 1));
    less.happens(write(0x100, 2));
    more.happens(write(0x100, 2));
    more.happens(write(0x200, 1));
    more.happens(write(0x300, 1));

    CHECK(same.judge().kind == Divergence::Kind::field);
    CHECK(same.judge().others == 0);
    CHECK(less.judge().others == 1);
    CHECK(more.judge().others == 1);
}
