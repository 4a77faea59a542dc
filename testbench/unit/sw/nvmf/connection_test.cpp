// How connections of hosts to a target begin and end; what each end makes of an other that misbehaves or goes.
#include "testbench/unit/sw/nvmf/fabric_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <map>

using namespace sw::nvmf;
using namespace std::chrono_literals;
using abi::nvme::RdmaRejection;
using abi::nvme::Status;
using testbench::Fabric;
using testbench::has;
using testbench::must;

namespace {

/// Takes all that has ended, by identifier; how often each did, and how.
std::map<std::uint16_t, std::vector<Status>> drain(HostQueue& queue) {
    std::map<std::uint16_t, std::vector<Status>> ended;
    std::array<Response, 4> found;
    for (std::size_t count = 1; count != 0;) {
        count = queue.poll(found);
        for (const auto& one : std::span(found).first(count))
            ended[one.id].push_back(one.status);
    }
    return ended;
}

/// Commands that the drive never ends.
void submit_silent(Fabric& fabric, Host& host, unsigned count) {
    const auto space = must(host.open_namespace(1));
    fabric.medium->make_silent({0, 1 << 20});
    for (std::uint64_t i = 0; i < count; ++i) {
        auto command = i % 2 == 0 ? space.read({i * 16, 16}) : space.write({i * 16, 16});
        must(host.queue(0).submit(command, fabric.data(i * 8192, 8192)));
    }
    fabric.let();
    REQUIRE(fabric.target->under_way() == count);
}

} // namespace

TEST_CASE("a connection request that says what cannot be is rejected with its reason", "[unit][nvmf]") {
    Fabric fabric({.target = {.entries = 16}});
    auto queue = must(HostQueue::make(fabric.host_end.port, 0, 16, 0));
    const auto rejected = [&](auto&& change) {
        auto request = queue->request(0);
        change(request.data.view());
        const auto reply = must(fabric.dial(request));
        CHECK(!reply.is_accepted);
        return static_cast<RdmaRejection>(abi::ConstView<abi::nvme::RdmaReject>(reply.rejected.bytes).get<"sts">());
    };
    CHECK(rejected([](auto view) { view.template set<"recfmt">(1); }) == RdmaRejection::invalid_recfmt);
    CHECK(rejected([](auto view) { view.template set<"qid">(8); }) == RdmaRejection::invalid_qid);
    CHECK(rejected([](auto view) { view.template set<"hsqsize">(64); }) == RdmaRejection::invalid_hsqsize);
    CHECK(rejected([](auto view) { view.template set<"hsqsize">(0); }) == RdmaRejection::invalid_hsqsize);
    CHECK(rejected([](auto view) { view.template set<"hrqsize">(15); }) == RdmaRejection::invalid_hrqsize);
    CHECK(rejected([](auto view) { view.template set<"qid">(1).template set<"hsqsize">(16); }) ==
          RdmaRejection::invalid_hsqsize);
    CHECK(rejected([](auto view) { view.template set<"qid">(1).template set<"cntlid">(5); }) ==
          RdmaRejection::invalid_cntlid);
    CHECK(fabric.target->queues() == 0);

    auto request = queue->request(0);
    request.data.view().set<"recfmt">(9);
    const auto refused = queue->connect(must(fabric.dial(request)));
    REQUIRE(!refused);
    CHECK(refused.error().code == ECONNREFUSED);
    CHECK(has(refused.error().what, "invalid record format"));
}

TEST_CASE("nothing but Connect is carried out before it, nor I/O while the controller is disabled", "[unit][nvmf]") {
    Fabric fabric;
    auto queue = must(HostQueue::make(fabric.host_end.port, 0, 8, 0));
    must(queue->connect(must(fabric.dial(queue->request(0)))));
    HostQueue::Command command;
    command.view().set<"opcode">(0x18);
    CHECK(must(queue->execute(command)).status == Status::command_sequence_error);

    auto host = must(fabric.connect());
    HostQueue::Command connect;
    abi::View<abi::nvme::FabricsCommand>(connect.bytes).set<"opcode">(0x7f).set<"fctype">(0x01);
    CHECK(must(host->admin().execute(connect, fabric.data(0, 1024))).status == Status::command_sequence_error);
    must(host->set_property(abi::nvme::Register::cc, 0));
    CHECK(must(host->admin().execute(command)).status == Status::command_sequence_error);
}

TEST_CASE("a key that the host has not given ends the connection, and every command is answered once", "[unit][nvmf]") {
    for (const bool is_write : {false, true}) {
        CAPTURE(is_write);
        Fabric fabric({.target = {.in_capsule_bytes = 0}});
        auto host = must(fabric.connect());
        const auto space = must(host->open_namespace(1));
        submit_silent(fabric, *host, 6);
        auto data = fabric.data(0, 512);
        data.rkey ^= 0x5500;
        auto bad = is_write ? space.write({4096, 1}) : space.read({4096, 1});

        must(host->queue(0).submit(bad, data));
        fabric.let();

        CHECK(fabric.target->queues() == 1); // the admin queue
        CHECK(has(fabric.target->last_end(), "remote access error"));
        CHECK(fabric.target->under_way() == 0);
        CHECK(fabric.target->counters().dropped == (is_write ? 7 : 6));
        CHECK(fabric.target->payload().free() == fabric.target->payload().pieces());
        const auto ended = drain(host->queue(0));
        CHECK(ended.size() == 7);
        for (const auto& [id, statuses] : ended)
            CHECK(statuses == std::vector{Status::host_path_error});
        CHECK(host->queue(0).submit(bad, data).error().code == ENOTCONN);
        CHECK(host->keep_alive().has_value());
    }
}

TEST_CASE("a capsule that is no command ends its connection", "[unit][nvmf]") {
    Fabric fabric;
    auto host = must(fabric.connect());
    auto& queue = host->queue(0);
    const sw::mlx::Sge sge{fabric.region->iova().value, 63, fabric.region->lkey()};

    must(queue.channel().post(
        {.sge = &sge, .sge_count = 1, .operation = sw::mlx::SendOperation::send, .flags = sw::mlx::send_flag::signaled},
        1));
    fabric.let();

    CHECK(fabric.target->queues() == 1);
    CHECK(has(fabric.target->last_end(), "63 bytes is no command"));
}

TEST_CASE("a host that sends more commands than its queue holds is held back, and each is answered", "[unit][nvmf]") {
    Fabric fabric;
    auto host = must(fabric.connect({.entries = 4}));
    auto& queue = host->queue(0);
    const auto answers = fabric.target->counters().answers;
    fabric.is_served = false;
    for (std::uint16_t id = 100; id < 106; ++id) {
        HostQueue::Command flush;
        flush.view().set<"nsid">(1).set<"cid">(id);
        const sw::mlx::Sge sge{reinterpret_cast<std::uintptr_t>(flush.bytes.data()), 64, 0};
        must(queue.channel().post({.wr_id = Channel::tag(Channel::Purpose::send, 0),
                                   .sge = &sge,
                                   .sge_count = 1,
                                   .operation = sw::mlx::SendOperation::send,
                                   .flags = sw::mlx::send_flag::signaled | sw::mlx::send_flag::inline_data},
                                  1));
    }
    fabric.let();

    fabric.is_served = true;
    for (int i = 0; i < 10'000 && queue.strays() != 6; ++i) {
        fabric.machines.b.relax();
        CHECK(drain(queue).empty()); // none of them is a command of the queue
    }

    CHECK(queue.strays() == 6);
    CHECK(fabric.target->counters().answers - answers == 6);
    HostQueue::Command flush;
    flush.view().set<"nsid">(1);
    CHECK(must(queue.execute(flush)).is_ok());
}

TEST_CASE("a host that goes leaves nothing at the target, and its place is for others", "[unit][nvmf]") {
    Fabric fabric({.drive_queues = 3});
    for (int turn = 0; turn < 4; ++turn) {
        CAPTURE(turn);
        auto host = must(fabric.connect({.queues = 2}));
        CHECK(fabric.connect({.queues = 1}).error().what.find("Connect Controller Busy") != std::string::npos);
        fabric.let();
        submit_silent(fabric, *host, 8);

        host->disconnect();

        CHECK(fabric.is_idle());
        const auto ended = drain(host->queue(0));
        CHECK(ended.size() == 8);
        for (const auto& [id, statuses] : ended)
            CHECK(statuses == std::vector{Status::host_path_error});
        fabric.medium->heal();
        fabric.target->disconnect({.qpn = abi::Qpn{0xabcdef}}); // nobody's
    }
}

TEST_CASE("an admin queue that ends takes its controller and its other queues with it", "[unit][nvmf]") {
    Fabric fabric;
    auto host = must(fabric.connect({.queues = 2}));
    auto other = must(fabric.connect());
    CHECK(fabric.target->controllers() == 2);
    submit_silent(fabric, *host, 4);

    fabric.target->disconnect(host->admin().self());
    fabric.let();

    CHECK(fabric.target->controllers() == 1);
    CHECK(fabric.target->queues() == 2);
    CHECK(fabric.target->under_way() == 0);
    CHECK(other->keep_alive().has_value());
    fabric.target->disconnect(other->admin().self());
    fabric.let();
    CHECK(fabric.is_idle());
}

TEST_CASE("a host whose queue pairs are gone is noticed when it is answered", "[unit][nvmf]") {
    Fabric fabric;
    auto host = must(fabric.connect());
    const auto space = must(host->open_namespace(1));
    fabric.is_served = false;
    auto command = space.read({0, 8});
    must(host->queue(0).submit(command, fabric.data(0, 4096)));
    fabric.let(20);

    host->queue(0).end("the test says so");
    fabric.is_served = true;
    for (int i = 0; i < 100'000 && fabric.target->queues() == 2; ++i)
        fabric.machines.b.relax();

    CHECK(fabric.target->queues() == 1);
    CHECK(fabric.target->payload().free() == fabric.target->payload().pieces());
}

TEST_CASE("a host that does not hear of its command gives up its queue", "[unit][nvmf]") {
    Fabric fabric;
    auto host = must(fabric.connect());
    const auto space = must(host->open_namespace(1));
    fabric.medium->make_silent({0, 512});
    auto command = space.read({0, 1});

    const auto done = must(host->queue(0).execute(command, fabric.data(0, 512), 1ms));

    CHECK(done.status == Status::host_path_error);
    CHECK(!host->queue(0).is_connected());
    CHECK(has(host->queue(0).why(), "was not answered"));
}

TEST_CASE("a controller that is reset lets its I/O queues go, and others come", "[unit][nvmf]") {
    Fabric fabric({.drive_queues = 2});
    auto host = must(fabric.connect());
    submit_silent(fabric, *host, 4);

    must(host->set_property(abi::nvme::Register::cc, 0));
    fabric.let();

    CHECK(fabric.target->queues() == 1);
    CHECK(has(fabric.target->last_end(), "reset"));
    CHECK(fabric.target->payload().free() == fabric.target->payload().pieces());
    CHECK((must(host->property(abi::nvme::Register::csts)) & 1) == 0);
    must(host->set_property(abi::nvme::Register::cc, 0x460001));
    CHECK((must(host->property(abi::nvme::Register::csts)) & 1) == 1);
    CHECK(must(host->active_namespaces()).size() == 1);
}

TEST_CASE("a shutdown makes durable what was written", "[unit][nvmf]") {
    Fabric fabric;
    auto host = must(fabric.connect());
    const auto space = must(host->open_namespace(1));
    auto command = space.write({0, 8});
    CHECK(must(host->queue(0).execute(command, fabric.data(0, 4096))).is_ok());
    REQUIRE(fabric.medium->unsafe_units() != 0);

    CHECK(host->shut_down().has_value());

    CHECK(fabric.medium->unsafe_units() == 0);
}

TEST_CASE("a host that has promised to be heard of and is not loses its controller", "[unit][nvmf]") {
    Fabric fabric;
    auto host = must(fabric.connect({.keep_alive_ms = 2}));
    for (int i = 0; i < 10; ++i) {
        fabric.let(1000);
        REQUIRE(host->keep_alive().has_value());
    }
    fabric.let(2500);

    CHECK(fabric.is_idle());
    CHECK(has(fabric.target->last_end(), "keep alive"));
}

TEST_CASE("a host that goes does not take with it another's queue whose queue pair has the same number",
          "[unit][nvmf]") {
    Fabric fabric;
    const auto host = must(fabric.connect());
    auto other = host->queue(0).self();
    other.path.remote_gid = sw::mlx::gid_of_ipv4(0x0a000003);

    fabric.target->disconnect(other);
    CHECK(fabric.target->queues() == 2);
    fabric.target->disconnect(host->queue(0).self());
    CHECK(fabric.target->queues() == 1);
}

TEST_CASE("a connection that was accepted and that its host cannot use is not kept", "[unit][nvmf]") {
    Fabric fabric;
    const auto host =
        Host::connect(fabric.host_end.port, {.connect =
                                                 [&](const auto& request) {
                                                     auto reply = fabric.dial(request);
                                                     reply->peer.path.source_gid_index = 0xff;
                                                     return reply;
                                                 },
                                             .disconnect = [&](const auto& self) { fabric.target->disconnect(self); }});

    CHECK(!host);
    CHECK(fabric.is_idle());
}

TEST_CASE("a connection without a Connect command ends, and its place is for others", "[unit][nvmf]") {
    Fabric fabric({.target = {.patience = 2ms}});
    const auto host = must(fabric.connect());
    auto silent = must(HostQueue::make(fabric.host_end.port, 0, 8, 0));
    must(silent->connect(must(fabric.dial(silent->request(0)))));
    fabric.let(1000);
    CHECK(fabric.target->queues() == 3);

    fabric.let(1500);

    CHECK(fabric.target->queues() == 2);
    CHECK(has(fabric.target->last_end(), "no Connect"));
    CHECK(host->keep_alive().has_value());
}

TEST_CASE("a command that would point to more data than it can is not sent", "[unit][nvmf]") {
    Fabric fabric;
    const auto host = must(fabric.connect());
    auto command = must(host->open_namespace(1)).read({0, 1});

    CHECK(host->queue(0).submit(command, {.bytes = 1 << 24}).error().code == EINVAL);
    CHECK(host->queue(0).under_way() == 0);
}
