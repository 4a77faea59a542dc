// Send WQEs as bytes: what is read out of them, and which fault a wrong one has.
#include "model/hca/queue/receive_wqe.h"
#include "model/hca/queue/wqe_reader.h"
#include "testbench/harness/hca_node.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_get_random_seed.hpp>

#include <random>

using namespace harness;
using abi::prm::CompletionEvent;
using abi::prm::FenceMode;
using abi::prm::WqeOpcode;
using model::hca::queue::decode;
using model::hca::queue::WorkRequest;
using model::hca::queue::WqeFault;

namespace {

constexpr abi::Qpn qpn{0x1150};
constexpr std::uint16_t ring_index = 0xfffe;
constexpr std::uint32_t limit = 1024;

WorkRequest decoded(std::span<const std::byte> bytes, std::uint32_t wqe_bytes = limit) {
    WorkRequest wr;
    wr.raw.fill(std::byte{0xee});
    std::ranges::copy(bytes.first(std::min(bytes.size(), wr.raw.size())), wr.raw.begin());
    decode(wr, model::hca::queue::QpType::rc, qpn, ring_index, wqe_bytes);
    return wr;
}
std::vector<std::byte> encoded(const Post& wr) { return Node::encode(wr, qpn, ring_index); }
void set_ds(std::vector<std::byte>& wqe, unsigned ds) { wqe[7] = static_cast<std::byte>(ds); }
constexpr Post::Sge sge{0x1122334455667788, 100, abi::Key{0x8a0b}};
const std::vector<WqeOpcode> supported{
    WqeOpcode::umr,        WqeOpcode::send_inval,     WqeOpcode::nop,       WqeOpcode::send,      WqeOpcode::send_imm,
    WqeOpcode::rdma_write, WqeOpcode::rdma_write_imm, WqeOpcode::rdma_read, WqeOpcode::atomic_cs, WqeOpcode::atomic_fa};

} // namespace

TEST_CASE("every field of a WRITE with immediate is decoded", "[unit][wqe]") {
    const auto wr = decoded(encoded({.opcode = WqeOpcode::rdma_write_imm,
                                     .sges = {sge, {0x99, 28, abi::Key{7}}},
                                     .remote = 0xfedcba9876543210,
                                     .rkey = abi::Key{0xdd5d},
                                     .immediate = 0xcafef00d,
                                     .solicited = true,
                                     .fence = FenceMode::strong_ordering}));

    CHECK(wr.fault == WqeFault::none);
    CHECK(wr.index == ring_index);
    CHECK(wr.segments_16 == 4);
    CHECK(wr.wqebbs == 1);
    CHECK(wr.opcode == WqeOpcode::rdma_write_imm);
    CHECK(wr.completion == CompletionEvent::always);
    CHECK(wr.fence == FenceMode::strong_ordering);
    CHECK(wr.solicited);
    CHECK(wr.immediate == 0xcafef00d);
    CHECK(wr.remote_address == 0xfedcba9876543210);
    CHECK(wr.rkey == abi::Key{0xdd5d});
    CHECK(wr.length == 128);
    REQUIRE(wr.data().size() == 2);
    CHECK(wr.data()[0].address == sge.address);
    CHECK(wr.data()[0].length == 100);
    CHECK(wr.data()[0].key == sge.key);
    CHECK_FALSE(wr.data()[0].is_inline());
    CHECK(wr.data()[1].length == 28);
}

TEST_CASE("the operands of an atomic are decoded", "[unit][wqe]") {
    const auto wr = decoded(encoded({.opcode = WqeOpcode::atomic_cs,
                                     .sges = {{0x10, 8, abi::Key{3}}},
                                     .remote = 0x20,
                                     .rkey = abi::Key{4},
                                     .swap_or_add = 0x1111222233334444,
                                     .compare = 0x5555666677778888}));

    CHECK(wr.fault == WqeFault::none);
    CHECK(wr.swap_or_add == 0x1111222233334444);
    CHECK(wr.compare == 0x5555666677778888);
    CHECK(wr.length == 8);
}

TEST_CASE("a request of the previous decode leaves nothing behind", "[unit][wqe]") {
    WorkRequest wr;
    std::ranges::copy(encoded({.sges = {sge, sge, sge}}), wr.raw.begin());
    decode(wr, model::hca::queue::QpType::rc, qpn, ring_index, limit);
    std::ranges::copy(encoded({.opcode = WqeOpcode::nop, .signalled = false}), wr.raw.begin());

    decode(wr, model::hca::queue::QpType::rc, qpn, ring_index, limit);

    CHECK(wr.fault == WqeFault::none);
    CHECK(wr.length == 0);
    CHECK(wr.data().empty());
    CHECK(wr.completion == CompletionEvent::on_error);
}

TEST_CASE("a message without data segments is empty", "[unit][wqe]") {
    for (const auto opcode : {WqeOpcode::send, WqeOpcode::send_imm, WqeOpcode::rdma_write, WqeOpcode::rdma_write_imm,
                              WqeOpcode::rdma_read, WqeOpcode::nop}) {
        const auto wr = decoded(encoded({.opcode = opcode}));
        INFO(name(opcode));
        CHECK(wr.fault == WqeFault::none);
        CHECK(wr.length == 0);
        CHECK(wr.data().empty());
    }
}

TEST_CASE("a byte count of 0 means 2^31, and sums do not wrap", "[unit][wqe]") {
    CHECK(decoded(encoded({.sges = {{0, 0, abi::Key{1}}}})).length == 0x80000000u);
    CHECK(decoded(encoded({.sges = {{0, 0, abi::Key{1}}, {0, 0, abi::Key{1}}, {0, 5, abi::Key{1}}}})).length ==
          0xffffffffu);
}

TEST_CASE("inline data of every length is found in the WQE", "[unit][wqe]") {
    for (std::size_t length = 1; length <= 900; length += length < 80 ? 1 : 37) {
        Post post{.opcode = WqeOpcode::send, .inline_data = std::vector<std::byte>(length)};
        for (std::size_t i = 0; i < length; ++i)
            post.inline_data[i] = static_cast<std::byte>(i * 3 + 1);

        const auto wr = decoded(encoded(post));

        INFO("length " << length);
        CHECK(wr.fault == WqeFault::none);
        CHECK(wr.length == length);
        REQUIRE(wr.data().size() == 1);
        REQUIRE(wr.data()[0].is_inline());
        CHECK(std::ranges::equal(wr.bytes_of(wr.data()[0]), post.inline_data));
        CHECK(wr.wqebbs == (16 + (4 + length + 15) / 16 * 16 + 63) / 64);
    }
}

TEST_CASE("inline data and pointers may be mixed, in either order", "[unit][wqe]") {
    const auto inline_first =
        decoded(encoded({.opcode = WqeOpcode::send, .sges = {sge}, .inline_data = std::vector(13, std::byte{1})}));
    CHECK(inline_first.length == 113);
    REQUIRE(inline_first.data().size() == 2);
    CHECK(inline_first.data()[1].key == sge.key);

    auto wqe = encoded({.opcode = WqeOpcode::send, .sges = {sge, {}}});
    abi::View<abi::prm::WqeInline>(std::span(wqe).subspan(32)).set<"inline">(1).set<"byte_count">(12);
    const auto inline_last = decoded(wqe);
    CHECK(inline_last.fault == WqeFault::none);
    CHECK(inline_last.length == 112);
    REQUIRE(inline_last.data().size() == 2);
    CHECK(inline_last.data()[1].length == 12);
}

TEST_CASE("an inline segment without bytes adds nothing", "[unit][wqe]") {
    auto wqe = encoded({.opcode = WqeOpcode::send, .sges = {{}, sge}});
    abi::View<abi::prm::WqeInline>(std::span(wqe).subspan(16)).set<"inline">(1).set<"byte_count">(0);

    const auto wr = decoded(wqe);

    CHECK(wr.fault == WqeFault::none);
    CHECK(wr.length == 100);
    CHECK(wr.data().size() == 1);
}

TEST_CASE("as many segments as a WQE can name are decoded", "[unit][wqe]") {
    Post post{.opcode = WqeOpcode::send};
    for (std::uint32_t i = 0; i < 62; ++i)
        post.sges.push_back({i, i + 1, abi::Key{i}});

    const auto wr = decoded(encoded(post));

    CHECK(wr.fault == WqeFault::none);
    CHECK(wr.segments_16 == 63);
    CHECK(wr.wqebbs == 16);
    CHECK(wr.length == 62 * 63 / 2);
    REQUIRE(wr.data().size() == 62);
    CHECK(wr.data()[61].length == 62);
}

TEST_CASE("a WQE of another queue pair or another index is refused", "[unit][wqe]") {
    CHECK(decoded(Node::encode({.opcode = WqeOpcode::nop}, abi::Qpn{qpn.value + 1}, ring_index)).fault ==
          WqeFault::wrong_queue_pair);
    CHECK(decoded(Node::encode({.opcode = WqeOpcode::nop}, qpn, ring_index - 1)).fault == WqeFault::wrong_index);
    CHECK(decoded(Node::encode({.opcode = WqeOpcode::nop}, abi::Qpn{1}, 0)).fault == WqeFault::wrong_queue_pair);
}

TEST_CASE("a size of 0, or beyond the advertised limit, is refused", "[unit][wqe]") {
    auto wqe = encoded({.opcode = WqeOpcode::send, .sges = {sge, sge, sge}});
    CHECK(decoded(wqe, 64).fault == WqeFault::none);
    CHECK(decoded(wqe, 48).fault == WqeFault::bad_size);

    set_ds(wqe, 0);
    const auto empty = decoded(wqe);
    CHECK(empty.fault == WqeFault::bad_size);
    CHECK(empty.wqebbs == 1);
}

TEST_CASE("a size that does not hold the operation's segments is refused", "[unit][wqe]") {
    for (const auto opcode : {WqeOpcode::rdma_write, WqeOpcode::rdma_write_imm, WqeOpcode::rdma_read,
                              WqeOpcode::atomic_cs, WqeOpcode::atomic_fa}) {
        const unsigned needed = opcode == WqeOpcode::atomic_cs || opcode == WqeOpcode::atomic_fa ? 3 : 2;
        auto wqe = encoded({.opcode = opcode, .sges = {{0, 8, abi::Key{1}}}});
        for (unsigned ds = 1; ds < needed; ++ds) {
            set_ds(wqe, ds);
            INFO(name(opcode) << ", ds " << ds);
            CHECK(decoded(wqe).fault == WqeFault::bad_size);
        }
    }
}

TEST_CASE("operations of other queue types are refused", "[unit][wqe]") {
    for (unsigned code = 0; code < 256; ++code) {
        const auto opcode = static_cast<WqeOpcode>(code);
        auto wqe = encoded({.opcode = WqeOpcode::atomic_cs, .sges = {{0, 8, abi::Key{1}}}});
        wqe[3] = static_cast<std::byte>(code);
        INFO("opcode " << code);
        CHECK((decoded(wqe).fault == WqeFault::bad_opcode) ==
              (std::ranges::find(supported, opcode) == supported.end()));
    }
}

TEST_CASE("inline data that leaves the WQE is refused", "[unit][wqe]") {
    auto wqe = encoded({.opcode = WqeOpcode::send, .inline_data = std::vector(28, std::byte{1})});
    CHECK(decoded(wqe).fault == WqeFault::none);
    abi::View<abi::prm::WqeInline>(std::span(wqe).subspan(16)).set<"byte_count">(29);
    CHECK(decoded(wqe).fault == WqeFault::bad_segment);
    abi::View<abi::prm::WqeInline>(std::span(wqe).subspan(16)).set<"byte_count">(0x3ff);
    CHECK(decoded(wqe).fault == WqeFault::bad_segment);
}

TEST_CASE("a READ or an atomic cannot return its data into the WQE", "[unit][wqe]") {
    for (const auto opcode : {WqeOpcode::rdma_read, WqeOpcode::atomic_cs, WqeOpcode::atomic_fa}) {
        INFO(name(opcode));
        CHECK(decoded(encoded({.opcode = opcode, .inline_data = std::vector(8, std::byte{1})})).fault ==
              WqeFault::bad_segment);
    }
}

TEST_CASE("any bytes decode to a request within its bounds or to a fault", "[unit][wqe][random]") {
    std::mt19937_64 random(Catch::getSeed());
    INFO("seed " << Catch::getSeed());
    for (int round = 0; round < 20000; ++round) {
        std::vector<std::byte> bytes(1024);
        for (std::size_t i = 0; i < bytes.size(); i += 8)
            abi::store<std::uint64_t, abi::Endian::little>(bytes.data() + i, random() & random());
        // Half of them get far enough to matter.
        if (round % 2 == 0)
            abi::View<abi::prm::WqeCtrl>(std::span(bytes))
                .set<"wqe_index">(ring_index)
                .set<"qpn">(qpn.value)
                .set<"opcode">(supported[random() % supported.size()])
                .set<"ds">(static_cast<std::uint32_t>(random() % 64));

        const auto wr = decoded(bytes, round % 3 == 0 ? 512 : 1024);

        REQUIRE(wr.wqebbs >= 1);
        REQUIRE(wr.wqebbs <= 16);
        REQUIRE(wr.data().size() <= WorkRequest::max_segments);
        if (wr.fault != WqeFault::none)
            continue;
        std::uint64_t sum = 0;
        for (const auto& segment : wr.data()) {
            REQUIRE(segment.length != 0);
            sum += segment.length;
            if (segment.is_inline())
                REQUIRE(std::uint64_t{segment.inline_at} + segment.length <= std::uint64_t{wr.segments_16} * 16);
        }
        const bool sends = wr.opcode != WqeOpcode::umr; // its segment is where translations lie
        REQUIRE(wr.length == (sends ? std::min<std::uint64_t>(sum, 0xffffffff) : 0));
    }
}

TEST_CASE("an XRC message without data ends with the segment that names the receive queue", "[unit][wqe]") {
    for (const auto opcode : {WqeOpcode::send, WqeOpcode::rdma_write}) {
        auto bytes = encoded({.opcode = opcode, .remote = 0x20, .rkey = abi::Key{4}, .xrc_srq = 0x77});
        const auto decode_it = [&] {
            WorkRequest wr;
            std::ranges::copy(bytes, wr.raw.begin());
            decode(wr, model::hca::queue::QpType::xrc, qpn, ring_index, limit);
            return wr;
        };
        const auto segments = static_cast<unsigned>(bytes[7]);
        const auto whole = decode_it();
        INFO(name(opcode));
        CHECK(whole.fault == WqeFault::none);
        CHECK(whole.xrc_srq == 0x77);
        CHECK(whole.length == 0);
        CHECK(segments == (opcode == WqeOpcode::send ? 2 : 3));
        set_ds(bytes, segments - 1);
        CHECK(decode_it().fault == WqeFault::bad_size);
    }
}

TEST_CASE("a receive WQE ends with the terminator alone, and not with a segment of bytes that has its key",
          "[unit][wqe]") {
    std::vector<std::byte> bytes(64);
    const auto segment = [&](std::size_t number, std::uint32_t length, std::uint32_t key) {
        abi::View<abi::prm::WqeData>(
            std::span(bytes).subspan(number * abi::prm::WqeData::size, abi::prm::WqeData::size))
            .set<"byte_count">(length)
            .set<"lkey">(key);
    };
    segment(0, 8, 0x8a0b);
    segment(1, 16, 0x100); // a driver's key may have the terminator's number
    segment(2, 0, 0x100);
    segment(3, 32, 0x8a0b);
    model::hca::queue::ReceiveRequest request;

    request.decode(bytes);

    CHECK(request.count == 2);
    CHECK(request.room() == 24);
}
