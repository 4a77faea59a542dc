// dissector_trace OUT.pcapng: records an HCA from its probe to its first WRITE, at its ports and with what its rooms
// say, for dissector.py to read with tshark. Nothing is compressed, so that the script can damage it.
#include "platform/record/recorded_device.h"
#include "sw/mlx/verbs.h"
#include "testbench/harness/direct_host.h"
#include "traces/codec/event_record.h"
#include "traces/codec/writer.h"
#include "traces/codec/file.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

using namespace harness;
using namespace platform::record;
namespace codec = traces::codec;
namespace mlx = sw::mlx;

namespace {

constexpr std::uint32_t pcie = 0, ethernet = 1, events = 2; // interfaces of the trace
constexpr std::uint32_t message_bytes = 1000;
constexpr std::size_t memory_bytes = 64 << 20;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
}
template <class T> T must(sw::Result<T> result) {
    if (!result)
        fail(result.error().what);
    return std::move(*result);
}
void must(sw::Result<void> result) {
    if (!result)
        fail(result.error().what);
}

/// Writes events beside what passes the boundary.
class EventTap final : public traces::Sink {
public:
    explicit EventTap(codec::Writer& writer) : writer_(writer) {}
    void on(const traces::Stamp& stamp, const traces::Event& event) override {
        bytes_.clear();
        codec::put_event(bytes_, stamp, event);
        writer_.write(events, stamp.time_ps, {.kind = codec::RecordKind::event}, bytes_);
    }

private:
    codec::Writer& writer_;
    std::vector<std::byte> bytes_;
};

model::hca::HcaConfig neighbour(model::hca::HcaConfig config) {
    ++config.node_guid;
    return config;
}

/// What one program has on one host.
struct Side {
    Side(DirectHost& on, std::uint32_t ipv4)
        : host(on), context(must(mlx::Context::open(on))), pd(must(context->alloc_pd())),
          cq(must(context->create_cq({.entries = 64}))), buffer(must(context->allocate(4096))),
          region(must(context->reg_mr(pd, buffer, mlx::all_access))), gid(mlx::gid_of_ipv4(ipv4)),
          mac(must(context->query_port()).mac) {
        must(context->set_roce_address(0, {.gid = gid, .mac = mac}));
    }
    std::unique_ptr<mlx::QueuePair> queue_pair(mlx::DoorbellStyle doorbell) {
        return must(context->create_qp(
            {.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get(), .max_inline = 64, .doorbell = doorbell}));
    }
    void connect(mlx::QueuePair& own, const Side& side, const mlx::QueuePair& other) {
        const mlx::Peer peer{.path = {.remote_gid = side.gid, .remote_mac = side.mac},
                             .qpn = other.number(),
                             .psn = abi::Psn{77},
                             .reads = context->reads_answered()};
        must(context->connect(own, peer, abi::Psn{77}));
    }
    void wait() {
        mlx::Completion completion;
        const auto deadline = host.now() + 1s;
        while (cq->poll({&completion, 1}) == 0) {
            if (host.now() > deadline)
                fail("a work request has no completion");
            host.relax();
        }
        if (completion.status != mlx::CompletionStatus::success)
            fail("a work request does not succeed");
    }
    DirectHost& host;
    std::unique_ptr<mlx::Context> context;
    abi::Pd pd;
    std::unique_ptr<mlx::CompletionQueue> cq;
    sw::memory::Buffer buffer;
    mlx::MemoryRegion region;
    mlx::Gid gid;
    mlx::Mac mac;
};

/// Two queue pairs, one on each side.
struct Connection {
    Connection(Side& left, Side& right, mlx::DoorbellStyle doorbell)
        : a(left), b(right), left_qp(left.queue_pair(doorbell)), right_qp(right.queue_pair(doorbell)) {
        a.connect(*left_qp, b, *right_qp);
        b.connect(*right_qp, a, *left_qp);
    }
    /// The left side asks for something, with the beginning of its buffer and of the right one's.
    void post(mlx::SendOperation operation, std::uint32_t bytes, std::uint32_t flags = 0) {
        const bool is_inline = (flags & mlx::send_flag::inline_data) != 0;
        const mlx::Sge sge{is_inline ? reinterpret_cast<std::uintptr_t>(a.buffer.bytes().data())
                                     : a.region.iova().value,
                           bytes, a.region.lkey()};
        must(left_qp->post_send({.sge = &sge,
                                 .sge_count = 1,
                                 .operation = operation,
                                 .flags = mlx::send_flag::signaled | flags,
                                 .rkey = b.region.rkey(),
                                 .remote_address = b.region.iova().value,
                                 .swap_or_add = 1}));
    }
    void part() {
        must(left_qp->destroy());
        must(right_qp->destroy());
    }
    Side &a, &b;
    std::unique_ptr<mlx::QueuePair> left_qp, right_qp;
};

void first_write(codec::Writer& writer) {
    Journal journal(writer);
    const DeviceInterfaces interfaces{.functions = {pcie},
                                      .ports = {{ethernet, model::port::Encapsulation::roce_v2_ipv4}}};
    Boundary boundary(journal, interfaces);
    EventTap tap(writer);
    TestClock clock;
    const auto config = HcaPair::untimed();
    model::net::Link link(HcaPair::clean(), clock, {});
    DirectHost a(config, clock, link, 0, memory_bytes, {&tap, 0}, &boundary);
    DirectHost b(neighbour(config), clock, link, 1, memory_bytes, {});
    a.step = b.step = [&](Time until) {
        clock.set(until);
        link.wake(until);
        a.wake();
        b.wake();
    };
    Side left(a, 0x0a000001), right(b, 0x0a000002);
    Connection connection(left, right, mlx::DoorbellStyle::one_store);

    left.cq->request_notification();
    connection.post(mlx::SendOperation::write, message_bytes);
    if (left.context->get_cq_event(10ms) != left.cq.get())
        fail("the WRITE has no event");
    left.wait();
    // The line by which the script knows what happened.
    std::printf("%u %u %u %u %llu\n", connection.left_qp->number().value, message_bytes, right.region.rkey(),
                left.region.lkey(), static_cast<unsigned long long>(right.region.iova().value));

    connection.post(mlx::SendOperation::read, 200);
    left.wait();
    connection.post(mlx::SendOperation::fetch_add, 8);
    left.wait();
    connection.post(mlx::SendOperation::write, 13, mlx::send_flag::inline_data);
    left.wait();
    Connection back(right, left, mlx::DoorbellStyle::two_stores);
    const mlx::Sge target{left.region.iova().value + 2048, 2048, left.region.lkey()};
    must(back.right_qp->post_receive({.sge = &target, .sge_count = 1}));
    back.post(mlx::SendOperation::send, 300);
    left.wait();
    right.wait();
    for (const auto doorbell : {mlx::DoorbellStyle::two_stores, mlx::DoorbellStyle::blueflame}) {
        Connection other(left, right, doorbell);
        other.post(mlx::SendOperation::write, 64);
        left.wait();
        other.part();
    }
    back.part();
    connection.part();
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2)
        fail("usage: dissector_trace OUT.pcapng");
    auto file = codec::FileDestination::create(argv[1]);
    if (!file)
        fail(file.error());
    codec::Writer writer(*file,
                         {.identity = {.revision = "witness", .seed = 1},
                          .configuration = "mtu = 4096\n",
                          .names = {"left.hca"},
                          .interfaces = {{codec::InterfaceKind::pcie, "left.hca"},
                                         {codec::InterfaceKind::ethernet, "left.hca.port1"},
                                         {codec::InterfaceKind::events, "events"}}},
                         {.level = 0});
    first_write(writer);
    if (const auto outcome = writer.close(); !outcome)
        fail(outcome.error());
}
