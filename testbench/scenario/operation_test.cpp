// Every operation of the RC transport between two hosts, from post to completion, with the bytes looked at on both
// sides.
#include "testbench/harness/cluster.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstring>

using namespace harness;
using sw::mlx::CompletionOperation;
using sw::mlx::CompletionStatus;
using sw::mlx::SendOperation;
using sw::mlx::SendRequest;
namespace send_flag = sw::mlx::send_flag;

namespace {

constexpr std::uint32_t length = 5000; ///< four full packets and a short one

bool is_same(const RegisteredMemory& x, const RegisteredMemory& y) { return std::ranges::equal(x.bytes(), y.bytes()); }
bool is_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{}; });
}

SendRequest request(SendOperation operation, std::uint64_t wr_id, std::uint32_t flags = send_flag::signaled) {
    return {.wr_id = wr_id, .operation = operation, .flags = flags};
}
SendRequest request(SendOperation operation, std::uint64_t wr_id, const RegisteredMemory& remote,
                    std::uint32_t flags = send_flag::signaled) {
    return {.wr_id = wr_id,
            .operation = operation,
            .flags = flags,
            .rkey = remote.rkey(),
            .remote_address = remote.address()};
}

void check_sent(Side& side, std::uint64_t wr_id, CompletionOperation operation, std::uint32_t bytes = 0) {
    const auto done = side.sent();
    CHECK(done.wr_id == wr_id);
    CHECK(done.status == CompletionStatus::success);
    CHECK(done.operation == operation);
    CHECK(done.byte_count == bytes);
}

void store(std::span<std::byte> into, std::uint64_t value) { std::memcpy(into.data(), &value, sizeof value); }
std::uint64_t value_of(std::span<const std::byte> from) {
    std::uint64_t value = 0;
    std::memcpy(&value, from.data(), sizeof value);
    return value;
}

} // namespace

TEST_CASE("a SEND places its bytes where the receive says and completes on both sides", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.vram(length), to = b.vram(length + 100);
        from->fill(1);
        const auto [qa, qb] = cluster.connect();
        post_receive(*qb, 7, {to->sge()});

        post(*qa, request(SendOperation::send, 5), {from->sge()});

        check_sent(a, 5, CompletionOperation::send);
        const auto received = b.received();
        CHECK(received.wr_id == 7);
        CHECK(received.status == CompletionStatus::success);
        CHECK(received.operation == CompletionOperation::receive);
        CHECK(received.byte_count == length);
        CHECK_FALSE(received.has_immediate);
        CHECK(received.qpn == qb->number());
        CHECK(std::ranges::equal(to->bytes(0, length), from->bytes()));
        CHECK(is_zero(to->bytes(length, 100)));
        CHECK(a.is_quiet());
        CHECK(b.is_quiet());
    });
}

TEST_CASE("a SEND with immediate brings 32 bits along", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(length), to = b.dram(length);
        from->fill(2);
        const auto [qa, qb] = cluster.connect();
        post_receive(*qb, 8, {to->sge()});
        auto send = request(SendOperation::send_imm, 6);
        send.immediate = 0x11223344;

        post(*qa, send, {from->sge()});

        check_sent(a, 6, CompletionOperation::send);
        const auto received = b.received();
        CHECK(received.wr_id == 8);
        CHECK(received.has_immediate);
        CHECK(received.immediate == 0x11223344);
        CHECK(received.byte_count == length);
        CHECK(is_same(*from, *to));
    });
}

TEST_CASE("a WRITE changes the peer's memory and nothing but it", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.vram(length), to = b.vram(length);
        from->fill(3);
        const auto [qa, qb] = cluster.connect();
        post_receive(*qb, 9, {to->sge()}); // not for a WRITE

        post(*qa, request(SendOperation::write, 1, *to), {from->sge()});

        check_sent(a, 1, CompletionOperation::write);
        CHECK(is_same(*from, *to));
        CHECK(b.is_quiet());
        CHECK(cluster.events<traces::PacketSent>("A.hca").size() == 5);
    });
}

TEST_CASE("a WRITE between VRAMs moves nothing through host DRAM", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.vram(length), to = b.vram(length);
        from->fill(3);
        const auto [qa, qb] = cluster.connect();

        post(*qa, request(SendOperation::write, 1, *to), {from->sge()});

        check_sent(a, 1, CompletionOperation::write);
        using model::pcie::TargetKind;
        CHECK(a.hca_card.endpoint().volume(TargetKind::peer).payload() == length);
        CHECK(b.hca_card.endpoint().volume(TargetKind::peer).payload() == length);
        CHECK(a.hca_card.endpoint().volume(TargetKind::host_memory).payload() == 0);
        CHECK(b.hca_card.endpoint().volume(TargetKind::host_memory).payload() == 0);
    });
}

TEST_CASE("a WRITE between hosts' DRAM moves nothing through VRAM", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(length), to = b.dram(length);
        from->fill(4);
        const auto [qa, qb] = cluster.connect();

        post(*qa, request(SendOperation::write, 1, *to), {from->sge()});

        check_sent(a, 1, CompletionOperation::write);
        CHECK(is_same(*from, *to));
        using model::pcie::TargetKind;
        CHECK(a.hca_card.endpoint().volume(TargetKind::host_memory).payload() == length);
        CHECK(b.hca_card.endpoint().volume(TargetKind::host_memory).payload() == length);
        CHECK(a.hca_card.endpoint().volume(TargetKind::peer).payload() == 0);
    });
}

TEST_CASE("a WRITE with immediate uses up a receive and leaves its buffer alone", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(length), to = b.dram(length), unused = b.dram(64);
        from->fill(5);
        const auto [qa, qb] = cluster.connect();
        post_receive(*qb, 4, {unused->sge()});
        auto write = request(SendOperation::write_imm, 2, *to);
        write.immediate = 0xdeadbeef;

        post(*qa, write, {from->sge()});

        check_sent(a, 2, CompletionOperation::write);
        const auto received = b.received();
        CHECK(received.wr_id == 4);
        CHECK(received.operation == CompletionOperation::receive_write_imm);
        CHECK(received.immediate == 0xdeadbeef);
        CHECK(received.byte_count == length);
        CHECK(is_same(*from, *to));
        CHECK(is_zero(unused->bytes()));
    });
}

TEST_CASE("a READ fetches the peer's memory without its knowing", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto into = a.vram(length), of = b.vram(length);
        of->fill(6);
        const auto [qa, qb] = cluster.connect();

        post(*qa, request(SendOperation::read, 3, *of), {into->sge()});

        check_sent(a, 3, CompletionOperation::read, length);
        CHECK(is_same(*into, *of));
        CHECK(b.is_quiet());
    });
}

TEST_CASE("a compare-and-swap swaps only what compares equal", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto before = a.dram(8), target = b.dram(8); // 8 bytes at a multiple of 8
        store(target->bytes(), 40);
        const auto [qa, qb] = cluster.connect();
        auto swap = request(SendOperation::compare_swap, 1, *target);
        swap.compare = 41;
        swap.swap_or_add = 77;

        post(*qa, swap, {before->sge()});
        check_sent(a, 1, CompletionOperation::compare_swap, 8);
        CHECK(value_of(before->bytes()) == 40);
        CHECK(value_of(target->bytes()) == 40);

        swap.compare = 40;
        post(*qa, swap, {before->sge()});
        check_sent(a, 1, CompletionOperation::compare_swap, 8);
        CHECK(value_of(before->bytes()) == 40);
        CHECK(value_of(target->bytes()) == 77);
        CHECK(b.is_quiet());
    });
}

TEST_CASE("a fetch-and-add adds once and brings the old value back", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto before = a.dram(8), target = b.vram(8);
        store(target->bytes(), ~std::uint64_t{0});
        const auto [qa, qb] = cluster.connect();
        auto add = request(SendOperation::fetch_add, 9, *target);
        add.swap_or_add = 43;

        post(*qa, add, {before->sge()});

        check_sent(a, 9, CompletionOperation::fetch_add, 8);
        CHECK(value_of(before->bytes()) == ~std::uint64_t{0});
        CHECK(value_of(target->bytes()) == 42); // modulo 2^64
        CHECK(b.is_quiet());
    });
}

TEST_CASE("inline data may be overwritten as soon as it is posted", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        constexpr std::size_t bytes = 200; // four basic blocks
        const auto to = b.dram(bytes);
        const auto [qa, qb] = cluster.connect(quick, {.max_inline = bytes});
        std::array<std::byte, bytes> data;
        std::ranges::fill(data, std::byte{0x77});

        post(*qa, request(SendOperation::write, 1, *to, send_flag::signaled | send_flag::inline_data),
             {{.address = reinterpret_cast<std::uintptr_t>(data.data()), .length = bytes, .lkey = 0}});
        std::ranges::fill(data, std::byte{});

        check_sent(a, 1, CompletionOperation::write);
        CHECK(std::ranges::all_of(to->bytes(), [](std::byte one) { return one == std::byte{0x77}; }));
    });
}

TEST_CASE("a message gathered from three places is scattered to three others", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto dram_a = a.dram(3000), vram_a = a.vram(3000), dram_b = b.dram(3000), vram_b = b.vram(3000);
        dram_a->fill(7);
        vram_a->fill(8);
        const auto [qa, qb] = cluster.connect(quick, {.max_send_sge = 3}, {.max_receive_sge = 4});
        post_receive(*qb, 1, {vram_b->sge(10, 1), dram_b->sge(500, 1700), vram_b->sge(1000, 2000), dram_b->sge(0, 0)});

        post(*qa, request(SendOperation::send, 2),
             {vram_a->sge(0, 1001), dram_a->sge(777, 1023), vram_a->sge(2000, 900)});

        check_sent(a, 2, CompletionOperation::send);
        CHECK(b.received().byte_count == 1001 + 1023 + 900);
        std::vector<std::byte> sent, arrived;
        const auto append = [](std::vector<std::byte>& to, std::span<const std::byte> piece) {
            to.insert(to.end(), piece.begin(), piece.end());
        };
        append(sent, vram_a->bytes(0, 1001));
        append(sent, dram_a->bytes(777, 1023));
        append(sent, vram_a->bytes(2000, 900));
        append(arrived, vram_b->bytes(10, 1));
        append(arrived, dram_b->bytes(500, 1700));
        append(arrived, vram_b->bytes(1000, 1223));
        CHECK(sent == arrived);
        CHECK(is_zero(vram_b->bytes(0, 10)));
        CHECK(is_zero(vram_b->bytes(11, 989)));
        CHECK(is_zero(vram_b->bytes(2223, 777)));
        CHECK(is_zero(dram_b->bytes(2200, 800)));
    });
}

TEST_CASE("a message without bytes completes and needs no key", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto to = b.dram(64);
        const auto [qa, qb] = cluster.connect();
        post_receive(*qb, 3, {to->sge()});

        post(*qa, {.wr_id = 1, .operation = SendOperation::write, .flags = send_flag::signaled}, {});
        post(*qa, {.wr_id = 2, .operation = SendOperation::read, .flags = send_flag::signaled}, {});
        post(*qa, request(SendOperation::send, 3), {});

        check_sent(a, 1, CompletionOperation::write);
        check_sent(a, 2, CompletionOperation::read);
        check_sent(a, 3, CompletionOperation::send);
        CHECK(b.received().byte_count == 0);
        CHECK(is_zero(to->bytes()));
    });
}

TEST_CASE("of a list only signalled requests complete, in order", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t count = 50, bytes = 100;
        const auto from = a.dram(count * bytes), to = b.dram(count * bytes);
        from->fill(9);
        const auto [qa, qb] = cluster.connect();
        std::array<sw::mlx::Sge, count> elements;
        std::array<SendRequest, count> list;
        for (std::uint32_t i = 0; i < count; ++i) {
            elements[i] = from->sge(i * bytes, bytes);
            list[i] = request(SendOperation::write, i, *to, i % 10 == 9 ? send_flag::signaled : 0);
            list[i].remote_address += i * bytes;
            list[i].sge = &elements[i];
            list[i].sge_count = 1;
            list[i].next = i + 1 < count ? &list[i + 1] : nullptr;
        }

        must(qa->post_send(list.data()));

        for (const std::uint64_t wr_id : {9, 19, 29, 39, 49})
            check_sent(a, wr_id, CompletionOperation::write);
        CHECK(a.is_quiet());
        CHECK(is_same(*from, *to));
        CHECK(cluster.events<traces::DoorbellRung>("A.hca").size() == 1);
    });
}

TEST_CASE("a fenced WRITE sends what the READ before it brought", "[scenario][operation]") {
    platform::topology::Config timed; // so that the READ is still under way when the WRITE could go
    Cluster cluster(timed);
    cluster.run([&](Side& a, Side& b) {
        const auto local = a.dram(length), source = b.dram(length), target = b.dram(length);
        source->fill(10);
        const auto [qa, qb] = cluster.connect();
        const auto element = local->sge();
        auto write = request(SendOperation::write, 2, *target, send_flag::signaled | send_flag::fence);
        auto read = request(SendOperation::read, 1, *source);
        read.sge = write.sge = &element;
        read.sge_count = write.sge_count = 1;
        read.next = &write;

        must(qa->post_send(&read));

        check_sent(a, 1, CompletionOperation::read, length);
        check_sent(a, 2, CompletionOperation::write);
        CHECK(is_same(*source, *target));
    });
}

TEST_CASE("a NOP completes in its place and sends nothing", "[scenario][operation]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side&) {
        const auto [qa, qb] = cluster.connect();

        post(*qa, request(SendOperation::nop, 1), {});

        check_sent(a, 1, CompletionOperation::nop);
        CHECK(cluster.events<traces::PacketSent>("A.hca").empty());
    });
}

TEST_CASE("both directions of a connection carry messages at once", "[scenario][operation]") {
    platform::topology::Config timed;
    Cluster cluster(timed);
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t bytes = 100'000;
        const auto from_a = a.vram(bytes), to_b = b.vram(bytes), from_b = b.dram(bytes), to_a = a.dram(bytes);
        from_a->fill(11);
        from_b->fill(12);
        const auto [qa, qb] = cluster.connect();
        post_receive(*qa, 1, {to_a->sge()});
        post_receive(*qb, 2, {to_b->sge()});

        post(*qa, request(SendOperation::send, 3), {from_a->sge()});
        post(*qb, request(SendOperation::send, 4), {from_b->sge()});

        check_sent(a, 3, CompletionOperation::send);
        check_sent(b, 4, CompletionOperation::send);
        CHECK(a.received().byte_count == bytes);
        CHECK(b.received().byte_count == bytes);
        CHECK(is_same(*from_a, *to_b));
        CHECK(is_same(*from_b, *to_a));
    });
}

TEST_CASE("who sees a WRITE's bytes finds the completion of the SEND ahead of it", "[scenario][operation][order]") {
    Cluster cluster{platform::topology::Config{}}; // timed
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(2000), message = b.dram(2000), target = b.dram(2000);
        const auto [qa, qb] = cluster.connect();
        for (unsigned turn = 1; turn <= 20; ++turn) {
            from->fill(turn);
            const std::uint32_t bytes = 100 * turn;
            store(from->bytes(bytes - 8, 8), turn);
            post_receive(*qb, turn, {message->sge()});

            post(*qa, request(SendOperation::send, turn), {from->sge(0, bytes)});
            post(*qa, request(SendOperation::write, turn, *target), {from->sge(0, bytes)});
            while (value_of(target->bytes(bytes - 8, 8)) != turn)
                cluster.let(std::chrono::nanoseconds{10});

            const auto received = b.wait(*b.receive_cq, 1, {});
            REQUIRE(received.size() == 1);
            CHECK(received[0].wr_id == turn);
            CHECK(std::ranges::equal(message->bytes(0, bytes), from->bytes(0, bytes)));
            CHECK(a.wait(*a.send_cq, 2).size() == 2);
        }
    });
}
