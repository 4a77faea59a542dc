// Two hosts on one cable with a driver stack on each, for scenario tests: builds a platform, brings both sides up, runs
// the test's body as a thread of the simulation, takes everything down again and looks whether anything was left
// behind. SystemC elaborates once in a process, so a test case has one cluster, and neither sections nor generators.
#pragma once

#include "platform/observe/event.h"
#include "platform/observe/fanout.h"
#include "platform/topology/platform_module.h"
#include "sw/gpu/gpu.h"
#include "sw/mlx/verbs.h"
#include "testbench/harness/host_functions.h"
#include "testbench/harness/monitored.h"
#include "testbench/harness/must.h"
#include "testbench/harness/page_service.h"
#include "testbench/harness/test_ports.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace harness {

/// AddressSanitizer takes the main stack for that of the thread that ran last, and leaves the marks of frames that an
/// exception unwinds there. Called first in a handler, this keeps what is called next from tripping over them.
void forget_left_frames();

class Side;
class Cluster;

/// Memory the HCA may reach, in the middle of a page and of something larger. Guards on both sides tell whether anybody
/// wrote there; when it goes, a touched guard is a finding of its side.
class RegisteredMemory {
public:
    static constexpr std::uint64_t guard = 64, offset_in_buffer = 0xdc8;

    RegisteredMemory(const RegisteredMemory&) = delete;
    RegisteredMemory& operator=(const RegisteredMemory&) = delete;
    ~RegisteredMemory();

    std::span<std::byte> bytes() const { return bytes_; }
    std::span<std::byte> bytes(std::uint64_t offset, std::uint64_t length) const {
        return bytes_.subspan(offset, length);
    }
    std::uint64_t address(std::uint64_t offset = 0) const { return region_->iova().value + offset; }
    std::uint32_t lkey() const { return region_->lkey(); }
    std::uint32_t rkey() const { return region_->rkey(); }
    sw::mlx::Sge sge() const { return sge(0, static_cast<std::uint32_t>(bytes_.size())); }
    sw::mlx::Sge sge(std::uint64_t offset, std::uint32_t length) const { return {address(offset), length, lkey()}; }
    /// Bytes that no other seed gives.
    void fill(unsigned seed);
    bool has_guards() const;
    /// Takes the key away early; the memory stays.
    sw::Result<void> deregister() { return region_->destroy(); }

private:
    friend class Side;
    RegisteredMemory(Side& side, std::uint64_t length) : side_(side), length_(length) {}
    void set_guards();
    std::span<std::byte> around() const { return {bytes_.data() - guard, bytes_.size() + 2 * guard}; }

    Side& side_;
    std::uint64_t length_;
    std::span<std::byte> bytes_;
    std::optional<sw::memory::Buffer> dram_;
    std::optional<sw::gpu::VramBuffer> vram_;
    std::optional<sw::mlx::MemoryRegion> region_;
};

/// One host, its drivers, and what every test needs of them.
class Side {
public:
    Side(platform::topology::Seat seat, Cluster& cluster)
        : machine(seat.machine), hca_card(seat.hca), gpu_card(seat.gpu), cluster_(cluster) {}

    /// Brings HCA and GPU up and makes PD, completion queues and the port's address.
    void open(sw::mlx::DeviceOptions options = {});
    /// Takes everything down and writes down what was left behind.
    void close();
    /// The same without any question: the device does not answer any more, or the test has failed.
    void abandon();
    /// Gives the functions back to the host. What its remapping unit has refused meanwhile is a finding.
    void let_go();
    /// Forgets everything, outside of the simulation.
    void leak();

    std::unique_ptr<RegisteredMemory> dram(std::uint64_t length, sw::mlx::Access access = sw::mlx::all_access) {
        return dram(length, {.access = access}, pd);
    }
    std::unique_ptr<RegisteredMemory> dram(std::uint64_t length, const sw::mlx::RegionOptions& options, abi::Pd owner);
    std::unique_ptr<RegisteredMemory> vram(std::uint64_t length, sw::mlx::Access access = sw::mlx::all_access);
    /// With the side's PD and completion queues where `options` has none.
    std::unique_ptr<sw::mlx::QueuePair> make_qp(sw::mlx::QpOptions options = {});

    /// Up to `count` completions; fewer when they do not come in time.
    std::vector<sw::mlx::Completion> wait(sw::mlx::CompletionQueue& cq, std::size_t count,
                                          std::chrono::nanoseconds timeout = std::chrono::seconds{1});
    /// The next completion; it has to come.
    sw::mlx::Completion next(sw::mlx::CompletionQueue& cq);
    sw::mlx::Completion sent() { return next(*send_cq); }
    sw::mlx::Completion received() { return next(*receive_cq); }
    /// The next asynchronous event; it has to come.
    sw::mlx::AsyncEvent event();
    /// Nothing is there to be polled.
    bool is_quiet();

    std::string_view name() const { return machine.name; }
    std::string source() const { return hca_card.name; } ///< of its HCA's events
    firmware::Device& firmware() { return hca_card.mlx5().firmware(); }
    void find(std::string what);

    platform::topology::Machine& machine;
    platform::topology::PlacedCard &hca_card, &gpu_card;
    std::unique_ptr<HostFunctions> functions;
    std::unique_ptr<sw::transport::Transport> hca_function, gpu_function;
    std::unique_ptr<sw::mlx::Context> context;
    std::optional<sw::gpu::Gpu> gpu;
    abi::Pd pd{};
    std::unique_ptr<PageService> pages; ///< where regions may be on demand
    std::unique_ptr<sw::mlx::CompletionQueue> send_cq, receive_cq;
    sw::mlx::AddressPath path; ///< as the peer addresses this side
    std::uint32_t cq_entries = 4096;

private:
    void check_objects();
    void check_commands(std::size_t first_event);

    Cluster& cluster_;
    std::uint64_t dram_before_ = 0;
    std::size_t first_event_ = 0;
};

/// Posts one request with these elements.
inline void post(sw::mlx::QueuePair& qp, sw::mlx::SendRequest request, std::vector<sw::mlx::Sge> elements) {
    request.sge = elements.data();
    request.sge_count = static_cast<std::uint32_t>(elements.size());
    must(qp.post_send(request));
}
inline void post_receive(sw::mlx::QueuePair& qp, std::uint64_t wr_id, std::vector<sw::mlx::Sge> elements) {
    must(qp.post_receive(
        {.wr_id = wr_id, .sge = elements.data(), .sge_count = static_cast<std::uint32_t>(elements.size())}));
}

/// A queue pair of each side.
struct Connection {
    std::unique_ptr<sw::mlx::QueuePair> a, b;
};

/// Sequence numbers that a connection starts with; those of A wrap early.
inline constexpr abi::Psn first_psn_a{0xfffffd}, first_psn_b{0x000100};

/// What connections of tests have: packets of 1024 bytes, and time-outs that a test can wait for.
inline constexpr sw::mlx::ConnectOptions quick{
    .path_mtu = abi::prm::Mtu::bytes_1024, .min_rnr_timer = 1, .ack_timeout = 8};

/// Nobody holds what the devices do against the rules of the specifications.
struct Unmonitored {
    std::string_view why;
};
/// Where the records of a cluster's devices go: to the monitor of rules (traces/monitor), or nowhere, or to somebody
/// else's recording, which outlives the cluster; nullptr: to nobody.
using Records = std::variant<std::monostate, Unmonitored, platform::record::Recording*>;

class Cluster {
public:
    /// The defaults of a configuration, without the timing model.
    static platform::topology::Config untimed();
    /// With the detector of stale mappings and the monitor: what they find has failed the test.
    explicit Cluster(const platform::topology::Config& config = untimed(), bool detects_stale_mappings = true,
                     Records records = {});

    /// Brings both sides up, runs `body` as a thread, takes both down. What the body throws, and what was found
    /// afterwards, is thrown out of here. A body that still waits after `limit` of simulated time has failed.
    /// To be called once.
    void run(std::function<void(Side& a, Side& b)> body, std::chrono::seconds limit = std::chrono::seconds{30});

    /// A queue pair on each side, connected; `first` and `second` say how A's and B's are made.
    Connection connect(const sw::mlx::ConnectOptions& options = quick, sw::mlx::QpOptions first = {},
                       sw::mlx::QpOptions second = {});
    /// Connects what connect() would; each side with options of its own.
    void connect(Connection& connection, const sw::mlx::ConnectOptions& a_options,
                 const sw::mlx::ConnectOptions& b_options);

    /// Events of one kind from one component ("B.hca", "cable") so far.
    template <class E> std::vector<E> events(std::string_view source) const {
        std::vector<E> found;
        for (const auto& [stamp, event] : log.entries)
            if (const auto* e = std::get_if<E>(&event); e && sources.name(stamp.source) == source)
                found.push_back(*e);
        return found;
    }
    void let(std::chrono::nanoseconds time); ///< pass

    /// The test has this rule broken on purpose ("payload before completion"), and says why. That nothing breaks it is
    /// a finding, too.
    void breaks(std::string_view rule, std::string_view why) { broken_.push_back({rule, why}); }
    /// What the monitor is told; nullptr: there is none.
    platform::record::Recording* recording() { return monitored_ ? &monitored_->recording() : nullptr; }
    /// The test has commands refused on purpose.
    bool expects_refusals = false;
    /// The test takes the faults of the remapping units itself, as far as it wants.
    bool expects_faults = false;
    /// How run() opens both devices.
    sw::mlx::DeviceOptions device_options;
    /// The test has stale mappings used on purpose, and takes what was found itself, as far as it wants.
    bool expects_stale_mappings = false;
    /// How the drivers use the hosts' remapping units, where there are any.
    sw::memory::iommu::UnitOptions unit_options;

    platform::observe::Sources sources;
    EventLog log;

private:
    std::optional<Monitored> monitored_; ///< goes after the platform

public:
    platform::observe::Fanout sinks; ///< the log, and the recording
    platform::topology::Platform platform;
    Side a, b;

private:
    friend class Side;
    platform::record::Recording* recording_of(const Records& records, const platform::topology::Config& config);
    void check_rules();

    struct Broken {
        std::string_view rule, why;
    };
    std::vector<Broken> broken_;
    std::vector<std::string> findings_;
};

} // namespace harness
