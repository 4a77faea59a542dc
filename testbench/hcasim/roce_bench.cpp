#include "testbench/hcasim/roce_bench.h"

#include "model/net/link.h"
#include "model/wire/builder.h"
#include "model/wire/parser.h"
#include "platform/record/accesses.h"
#include "platform/topology/description.h"
#include "platform/topology/keys.h"
#include "sw/mlx/verbs.h"
#include "testbench/harness/direct_host.h"
#include "testbench/program/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>

namespace hcasim {

using namespace platform::importer;
using harness::DirectHost;
using harness::TestClock;
using model::port::Packet;
using model::port::Time;
namespace mlx = sw::mlx;
namespace wire = abi::wire;
using Error = std::unexpected<std::string>;

namespace {

constexpr std::uint64_t most_memory = std::uint64_t{1} << 30, driver_memory = 64 << 20, page_bytes = 4096;
constexpr std::uint64_t most_receive_memory = 256 << 20;
constexpr std::uint32_t most_receives = 64;
constexpr Time longest_pause = std::chrono::milliseconds{1}; ///< between two packets: a capture may be of hours
constexpr Time last_patience = std::chrono::milliseconds{10};

/// The requester's end of the cable.
class Player final : public model::port::Receiver {
public:
    Player(model::port::Wire& out, Answers& answers) : out_(out), answers_(answers) {}
    void send(const Packet& packet, Time at) {
        auto& next = out_.next();
        model::wire::build(packet, next.image);
        out_.send(at);
        ++answers_.sent;
    }
    bool can_send(Time now) { return out_.can_send(now); }

    void receive(Packet& packet, Time) override {
        if (packet.is_plain_frame() || !model::wire::unpack(packet, packet.path.encapsulation) ||
            packet.is_plain_frame())
            return;
        const auto& headers = packet.rdma();
        const auto& traits = packet.traits();
        using Kind = wire::OperationTraits::Kind;
        if (headers.service != wire::Service::rc)
            return;
        if (traits.kind == Kind::read_response)
            answers_.read_bytes += packet.payload.size();
        else if (traits.has_atomic_ack)
            ++answers_.atomics;
        else if (traits.kind == Kind::acknowledge)
            acknowledged(headers.aeth.syndrome);
    }
    void received_all(Time) override {}
    void ready(Time) override {}

private:
    void acknowledged(std::uint8_t syndrome) {
        switch (wire::kind_of(syndrome)) {
        case wire::SyndromeKind::acknowledge: ++answers_.acks; break;
        case wire::SyndromeKind::rnr_nak: ++answers_.rnr_naks; break;
        default: ++answers_.naks[wire::value_of(syndrome)];
        }
    }
    model::port::Wire& out_;
    Answers& answers_;
};

/// Where a driver's call fails, the whole attempt does.
struct Failure {
    std::string what;
};
template <class T> T must(sw::Result<T> result) {
    if (!result)
        throw Failure{result.error().what};
    return std::move(*result);
}
void must(sw::Result<void> result) {
    if (!result)
        throw Failure{result.error().what};
}

class Bench {
public:
    Bench(const Responder& responder, const Demand& demand, platform::record::Recording& recording, Answers& answers,
          WrittenBytes& written)
        : demand_(demand), answers_(answers), written_(written), link_(cable(), clock_, {}),
          host_(responder.core, clock_, link_, 0, memory_for(demand), {}, recording.boundary(responder.part)),
          player_(link_.end(1), answers) {
        link_.attach(1, player_);
        host_.step = [this](Time until) { run_until(until); };
        recording.watch(written_);
        recording.begin({});
    }

    void open() {
        context_ = must(mlx::Context::open(host_));
        pd_ = must(context_->alloc_pd());
        cq_ = must(context_->create_cq({.entries = 2 * most_receives}));
        const auto mac = must(context_->query_port()).mac;
        must(context_->set_roce_address(0, {.gid = demand_.flow.destination, .mac = mac}));
        rewriting_.destination_mac = mac;
        rewriting_.first_psn = demand_.first_psn;
        for (const auto& [key, range] : demand_.keys)
            add_memory(key, range);
        const bool is_reliable = demand_.service == wire::Service::rc;
        qp_ = must(context_->create_qp({.type = is_reliable ? abi::prm::QpType::rc : abi::prm::QpType::uc,
                                        .pd = pd_,
                                        .send_cq = cq_.get(),
                                        .receive_cq = cq_.get(),
                                        .max_receive = most_receives}));
        rewriting_.destination = qp_->number();
        // What the requester's queue pair is called no request says: only answers carry it.
        constexpr abi::Qpn requester{1};
        must(context_->connect(
            *qp_,
            {.path = {.remote_gid = demand_.flow.source, .remote_mac = mlx::mac_of(0x02'00'00'00'00'01)},
             .qpn = requester,
             .psn = demand_.first_psn,
             .reads = context_->reads_answered()},
            demand_.first_psn, {.path_mtu = static_cast<abi::prm::Mtu>(wire::mtu_code(demand_.mtu))}));
        post_receives();
    }

    Losses play(const OpenCapture& capture) {
        std::int64_t last_ns = 0;
        auto losses = each_request(capture, demand_, rewriting_, [&](CapturedRequest request) {
            const Time pause(std::max<std::int64_t>(0, request.time_ns - last_ns) * 1000);
            last_ns = request.time_ns;
            run_until(clock_.now() + std::min(pause, longest_pause));
            while (!player_.can_send(clock_.now()))
                host_.relax();
            player_.send(request.packet, clock_.now());
            wake(clock_.now());
            collect();
        });
        if (!losses)
            throw Failure{losses.error()};
        run_until(clock_.now() + last_patience);
        collect();
        return *losses;
    }

    void close() {
        must(qp_->destroy());
        must(cq_->destroy());
        for (auto& memory : memories_)
            must(memory.region.destroy());
        if (receives_.region)
            must(receives_.region->destroy());
        must(context_->dealloc_pd(pd_));
        must(context_->close());
    }

private:
    struct Memory {
        sw::memory::Buffer buffer;
        mlx::MemoryRegion region;
    };

    static model::net::LinkConfig cable() {
        model::net::LinkConfig link;
        link.timed = false;
        return link;
    }
    static std::uint64_t receive_bytes(const Demand& demand) {
        return std::max<std::uint64_t>(1, demand.most_receive_bytes) *
               std::min<std::uint64_t>(demand.receives, most_receives);
    }
    static std::size_t memory_for(const Demand& demand) {
        std::uint64_t bytes = driver_memory + receive_bytes(demand);
        for (const auto& [key, range] : demand.keys)
            bytes += range.bytes() + 2 * page_bytes;
        return bytes;
    }

    void wake(Time at) {
        clock_.set(at);
        link_.wake(at);
        host_.wake();
    }
    void run_until(Time until) {
        while (clock_.next() <= until)
            wake(std::max(clock_.next(), clock_.now()));
        clock_.set(until);
    }
    /// Memory in which addresses lie in their pages as they did.
    void add_memory(std::uint32_t key, const KeyRange& range) {
        const auto lead = range.begin % page_bytes;
        auto buffer = must(context_->allocate(range.bytes() + lead));
        auto region = must(context_->reg_mr(pd_, buffer, mlx::all_access));
        rewriting_.keys[key] = {abi::Key{region.rkey()}, region.iova().value + lead - range.begin};
        written_.ranges.push_back({buffer.bus(), buffer.bus() + buffer.size()});
        memories_.push_back({std::move(buffer), std::move(region)});
    }
    void post_receives() {
        if (demand_.receives == 0)
            return;
        receives_.bytes = std::max<std::uint64_t>(1, demand_.most_receive_bytes);
        receives_.buffer = must(context_->allocate(receive_bytes(demand_)));
        receives_.region.emplace(must(context_->reg_mr(pd_, receives_.buffer, mlx::all_access)));
        const auto count = std::min<std::uint64_t>(demand_.receives, most_receives);
        for (std::uint64_t slot = 0; slot < count; ++slot)
            post_receive(slot);
    }
    void post_receive(std::uint64_t slot) {
        const mlx::Sge sge{receives_.region->iova().value + slot * receives_.bytes,
                           static_cast<std::uint32_t>(receives_.bytes), receives_.region->lkey()};
        must(qp_->post_receive({.wr_id = slot, .sge = &sge, .sge_count = 1}));
    }
    void collect() {
        mlx::Completion completion;
        while (cq_->poll({&completion, 1}) != 0) {
            if (completion.status != mlx::CompletionStatus::success) {
                ++answers_.failed_receives;
                continue;
            }
            ++answers_.received;
            post_receive(completion.wr_id);
        }
    }

    const Demand& demand_;
    Answers& answers_;
    WrittenBytes& written_;
    TestClock clock_;
    model::net::Link link_;
    DirectHost host_;
    Player player_;
    Rewriting rewriting_;
    std::unique_ptr<mlx::Context> context_;
    abi::Pd pd_{};
    std::unique_ptr<mlx::CompletionQueue> cq_;
    std::list<Memory> memories_;
    struct {
        std::uint64_t bytes = 0;
        sw::memory::Buffer buffer;
        std::optional<mlx::MemoryRegion> region;
    } receives_;
    std::unique_ptr<mlx::QueuePair> qp_;
};

} // namespace

void WrittenBytes::on(const traces::codec::Record& record) {
    if (record.mark.direction != traces::codec::Direction::outbound || record.payload.empty())
        return;
    const auto request = platform::record::read_memory_request(record.head);
    const auto holds = [&](const KeyRange& range) {
        return request->piece.address >= range.begin && request->piece.address < range.end;
    };
    if (request && request->is_write && std::ranges::any_of(ranges, holds))
        bytes += request->piece.length;
}

Responder responder_for(const Demand& demand) {
    Responder responder;
    auto& config = responder.config;
    config.timed = false; // the capture has its own times
    config.link.encapsulation = demand.encapsulation;
    const auto description = platform::topology::describe(config).value(); // the default platform
    const auto& at = description.hcas.front();
    responder.part = description.path_of(at);
    responder.core = description.part(at).hca().core;
    responder.core.timed = config.timed;
    responder.core.is_managed = config.fabric.is_managed;
    responder.recording = {.revision = std::string(revision()),
                           .configuration = platform::topology::print_toml(config),
                           .subjects = {{.path = responder.part, .functions = 1, .ports = {demand.encapsulation}}},
                           .has_events = false};
    return responder;
}

std::expected<Answers, std::string> drive_responder(const Responder& responder, const OpenCapture& capture,
                                                    const Demand& demand, platform::record::Recording& recording,
                                                    WrittenBytes& written) {
    std::uint64_t bytes = 0;
    for (const auto& [key, range] : demand.keys)
        if (range.bytes() > most_memory || (bytes += range.bytes()) > most_memory)
            return Error(
                fmt::format("requests by key {:#x} reach from {:#x} to {:#x}: a responder here has memory of {} "
                            "bytes for them, so let the capture be of less",
                            key, range.begin, range.end, most_memory));
    if (demand.most_receive_bytes > most_receive_memory / most_receives)
        return Error(fmt::format("a SEND has {} bytes: receives here have at most {}", demand.most_receive_bytes,
                                 most_receive_memory / most_receives));
    Answers answers;
    try {
        Bench bench(responder, demand, recording, answers, written);
        bench.open();
        answers.losses = bench.play(capture);
        bench.close();
    } catch (const Failure& failure) {
        return Error(failure.what);
    }
    return answers;
}

} // namespace hcasim
