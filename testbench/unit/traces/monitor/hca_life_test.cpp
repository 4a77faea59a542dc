// An HCA's life with everything in it that may go wrong and is allowed to: packets lost, repeated, late and broken,
// receivers that are not ready, pages that are not there, keys that change and go. Nothing of it breaks a rule, and no
// rule has nothing to judge.
#include "testbench/unit/traces/monitor/good_trace.h"

#include "testbench/unit/traces/monitor/side.h"

#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstdlib>

using namespace harness;
using namespace monitor_bench;
using Status = Side::Status;

namespace {

struct Life {
    trace_bench::MemoryDestination destination;
    codec::Writer writer{destination,
                         {.identity = {.revision = "test"},
                          .configuration = {},
                          .names = {},
                          .interfaces = {{codec::InterfaceKind::pcie, "left.hca"},
                                         {codec::InterfaceKind::ethernet, "left.hca.port1"},
                                         {codec::InterfaceKind::pcie, "right.hca"},
                                         {codec::InterfaceKind::ethernet, "right.hca.port1"}}},
                         {}};
    platform::record::Journal journal{writer};
    platform::record::Boundary left{journal,
                                    {.functions = {0}, .ports = {{1, model::port::Encapsulation::roce_v2_ipv4}}}};
    platform::record::Boundary right{journal,
                                     {.functions = {2}, .ports = {{3, model::port::Encapsulation::roce_v2_ipv4}}}};
};

struct Hosts {
    TestClock clock;
    model::net::Link link;
    DirectHost a, b;

    Hosts(const model::hca::HcaConfig& config, const model::net::LinkConfig& cable, Life& life)
        : link(cable, clock, {}), a(config, clock, link, 0, 64 << 20, {}, &life.left),
          b(neighbour(config), clock, link, 1, 64 << 20, {}, &life.right) {
        a.step = b.step = [this](Time until) {
            while (clock.next() <= until)
                wake(std::max(clock.next(), clock.now()));
            wake(until);
        };
    }
    void wake(Time at) {
        clock.set(at);
        link.wake(at);
        a.wake();
        b.wake();
    }
    static model::hca::HcaConfig neighbour(model::hca::HcaConfig config) {
        ++config.node_guid;
        return config;
    }
};

const sw::mlx::ConnectOptions impatient{.ack_timeout = 6}; // 262 us

/// Messages of all kinds by several queue pairs at once, over a cable that loses, repeats, holds up and breaks some.
void talk(Side& from, Side& to, std::uint32_t psn) {
    std::vector<std::size_t> qps;
    for (unsigned i = 0; i < 3; ++i)
        qps.push_back(connect(from, to, psn + 1000 * i, impatient));
    for (unsigned round = 0; round < 6; ++round) {
        for (const auto qp : qps) {
            to.receive(10000, qp);
            from.post(to, SendOperation::write, 9001, qp);
            from.post(to, SendOperation::read, 9001, qp);
            from.post(to, SendOperation::fetch_add, 8, qp);
            from.post(to, SendOperation::send, 9001, qp);
            from.post(to, SendOperation::fetch_add, 8, qp);
        }
        to.cq->request_notification();
        from.take(15);
        to.take(3);
    }
}

/// A receiver that is not ready: the sender waits, and sends again.
void wait_for_receiver(Side& from, Side& to) {
    const auto qp = connect(from, to, 50'000, impatient);
    for (const std::uint32_t length : {100u, 9001u}) {
        from.post(to, SendOperation::send, length, qp);
        from.host.step(from.host.now() + 1ms);
        to.receive(10000, qp);
        from.take();
        to.take();
    }
}

/// Keys that a work request changes, that go, and that never were: what may not be is refused.
void change_keys(Side& from, Side& to) {
    auto changing = must(to.context->reg_mr(to.pd, to.buffer.memory(), 0x1000, 0x3000,
                                            {.access = sw::mlx::all_access, .takes_umr = true}));
    const auto attempt = [&](SendOperation operation, std::uint32_t rkey, std::uint64_t at, Status expected) {
        const auto qp = connect(from, to, 60'000, impatient);
        from.post(qp, operation, 8, rkey, at);
        // Whoever has refused is silent then: where the cable loses that word, nobody says why.
        if (expected == Status::success)
            from.take();
        else
            from.take(1, expected, Status::transport_retry_exceeded);
    };
    const auto rkey = changing.rkey();
    const auto begin = changing.iova().value;
    attempt(SendOperation::write, rkey, begin, Status::success);
    must(changing.rereg_access(to.pd, sw::mlx::Access::local_write | sw::mlx::Access::remote_read));
    attempt(SendOperation::read, rkey, begin, Status::success);
    attempt(SendOperation::write, rkey, begin, Status::remote_access_error);
    attempt(SendOperation::read, rkey, begin + 0x3000 - 4, Status::remote_access_error);
    must(changing.destroy());
    attempt(SendOperation::read, rkey, begin, Status::remote_access_error);
}

/// Memory whose pages come when somebody needs them, and go again.
void page(Side& from, Side& to) {
    sw::memory::PageableMemory memory(to.host, 1 << 16);
    auto region = must(to.context->reg_mr(to.pd, memory, 0, memory.size(), {.access = sw::mlx::all_access}));
    const auto qp = connect(from, to, 70'000, impatient);
    for (unsigned round = 0; round < 2; ++round) {
        for (const auto operation : {SendOperation::write, SendOperation::read}) {
            from.post(qp, operation, 9001, region.rkey(), region.iova().value + 0x80);
            from.take();
        }
        const sw::mlx::Sge sge{region.iova().value + 0x5080, 10000, region.lkey()};
        must(to.qps[qp]->post_receive({.sge = &sge, .sge_count = 1}));
        from.post(to, SendOperation::send, 9001, qp);
        from.take();
        to.take();
        must(memory.evict(0, 16));
        // What answers a READ is dropped for want of a page, and asked for again from there.
        for (const std::uint32_t length : {10000u, 8u}) {
            const sw::mlx::Sge place{sge.address, length, sge.lkey};
            must(to.qps[qp]->post_send({.sge = &place,
                                        .sge_count = 1,
                                        .operation = SendOperation::read,
                                        .flags = sw::mlx::send_flag::signaled,
                                        .rkey = from.region.rkey(),
                                        .remote_address = from.region.iova().value + 0x200}));
            to.take();
            must(memory.evict(0, 16));
        }
    }
    must(region.destroy());
}

/// Which packets the cable harms. HCA_SEED=N lives another life.
unsigned seed_or(unsigned usual) {
    const char* given = std::getenv("HCA_SEED");
    return given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 0)) : usual;
}

Trace live(bool is_timed, unsigned seed = seed_or(5)) {
    Life life;
    {
        auto config = HcaPair::untimed();
        config.timed = is_timed;
        auto cable = HcaPair::clean();
        cable.timed = is_timed;
        cable.loss = cable.duplicate = cable.reorder = cable.corrupt = 0.02;
        cable.seed = seed;
        Hosts hosts(config, cable, life);
        Side left(hosts.a, 0x0a000001, {.page_faults = true}), right(hosts.b, 0x0a000002, {.page_faults = true});
        left.other = &right, right.other = &left;
        talk(left, right, 77);
        talk(right, left, 0xfffff0); // across the end of the numbers
        wait_for_receiver(left, right);
        change_keys(right, left);
        page(left, right);
        left.close();
        right.close();
    }
    REQUIRE(life.writer.close());
    const auto story = trace_bench::read_all(life.destination.bytes);
    REQUIRE(story.why() == "");
    Trace trace{story.head, {}};
    for (const auto& kept : story.records)
        trace.records.push_back({trace.records.size() + 1, kept});
    return trace;
}

} // namespace

TEST_CASE("an HCA that lives through loss, faults and changing keys breaks no rule", "[unit][monitor]") {
    const auto is_timed = GENERATE(false, true);
    // In the second life answers of a READ overtake each other; in the third the address of an ACK is broken.
    const auto seed = seed_or(GENERATE(5u, 2u, 7u));
    INFO("seed " << seed);
    const auto trace = live(is_timed, seed);

    monitor::Monitor monitor(trace.head);
    for (const auto& one : trace.records)
        monitor.on(one.record());
    monitor.on_end();

    for (const auto& violation : monitor.findings().kept())
        UNSCOPED_INFO(violation.text());
    CHECK(monitor.findings().count() == 0);
    for (const auto& verdict : monitor.verdicts()) {
        INFO(verdict.rule.name << ": " << verdict.judgements);
        CHECK((verdict.judgements == 0) == verdict.rule.name.starts_with("NVMe")); // which is another device
    }
}

TEST_CASE("a READ by a key that a work request has taken the right from breaks the rule of keys, and only it",
          "[unit][monitor]") {
    auto trace = live(false);
    const auto change = places<monitor::UmrFetched>(trace, [](const auto&) { return true; }).at(0);
    // The work request, or where the device has read it in two, its second half.
    const std::span<std::byte> bytes(trace.records[change].kept.payload);
    std::size_t begin = 0, control = abi::prm::WqeCtrl::size + abi::prm::WqeUmrCtrl::size;
    for (; begin + control + abi::prm::Mkc::size <= bytes.size(); begin += abi::prm::wqe_bb_bytes)
        if (abi::ConstView<abi::prm::WqeCtrl>(bytes.subspan(begin)).get<"opcode">() == abi::prm::WqeOpcode::umr)
            break;
    if (bytes.size() < control + abi::prm::Mkc::size)
        control = 0;
    const abi::View<abi::prm::Mkc> context(bytes.subspan(begin + control));
    REQUIRE(context.get<"rr">() == 1);
    context.set<"rr">(0);

    const auto found = findings(trace);

    CHECK(broken(trace) == "rkey valid");
    REQUIRE(found.count() != 0);
    CHECK_THAT(found.kept().front().text(), Catch::Matchers::ContainsSubstring("does not have this right"));
}
