// Cards that write to one at an Ethernet switch, without pauses: what windows by round trips do to its queue, to what
// it has to drop, to the line, and to the shares of the cards.
#include "model/net/ethernet_switch.h"
#include "model/net/link.h"
#include "testbench/harness/hca_node.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <deque>
#include <vector>

using namespace harness;
using model::hca::congestion::Algorithm;

namespace {

constexpr std::uint32_t mtu = 4096;
constexpr std::uint8_t mtu_code = 5;
constexpr double line = 12.5e9 / 1e12; ///< bytes a picosecond of 100 Gbit/s
constexpr double payload = 0.97;       ///< of it, beside headers, preambles and gaps of packets of 4 KiB

model::net::EthernetSwitchConfig switch_of(unsigned ports, std::uint64_t buffer) {
    model::net::EthernetSwitchConfig config;
    config.ports = ports;
    config.latency = 130ns;
    config.buffer.bytes = buffer;
    config.buffer.has_pfc = false;
    return config;
}

/// So many senders, and at the next port who receives. Each has 48 messages to send.
class Incast {
public:
    static constexpr std::uint32_t message = 256 << 10, messages = 48;
    static constexpr std::uint32_t first_psn = 100;

    Incast(unsigned senders, Algorithm algorithm, std::uint64_t buffer = 1 << 20)
        : middle_(switch_of(senders + 1, buffer), clock_, {}) {
        model::hca::HcaConfig config;
        config.congestion_control = algorithm;
        for (unsigned port = 1; port <= senders + 1; ++port) {
            auto& link = links_.emplace_back(model::net::LinkConfig{}, clock_, traces::Events{});
            auto& node = nodes_.emplace_back(config, clock_, link.end(0), static_cast<std::uint16_t>(port), Quiet{});
            link.attach(0, node.hca);
            link.attach(1, middle_.receiver(port));
            middle_.connect(port, link.end(1));
            middle_.set_ways(mac_of_node(static_cast<std::uint16_t>(port)), {static_cast<std::uint8_t>(port)});
            node.make_eq();
        }
        auto& target = nodes_.back();
        const auto region = target.make_region(message);
        for (unsigned i = 0; i < senders; ++i) {
            auto& node = nodes_[i];
            const auto make = [](Node& at) {
                auto attributes = at.attributes(at.make_cq());
                attributes.mtu = mtu_code;
                attributes.path.ack_timeout = 8; // 1 ms
                return at.make_qp(attributes);
            };
            auto& qp = qps_.emplace_back(make(node));
            const auto other = make(target);
            node.peer = static_cast<std::uint16_t>(senders + 1);
            target.peer = static_cast<std::uint16_t>(i + 1);
            node.connect(qp, other.number, first_psn, 5000, {});
            target.connect(other, qp.number, 5000, first_psn, {});
            const auto own = node.make_region(message, i + 1);
            for (unsigned n = 0; n < messages; ++n)
                node.post(qp, {.sges = {own.sge()}, .remote = region.address, .rkey = region.key, .signalled = false});
        }
    }
    void start(unsigned sender) { nodes_[sender].ring(qps_[sender], clock_.now()); }
    void start_all() {
        for (unsigned i = 0; i < qps_.size(); ++i)
            start(i);
    }
    void run(Time until) {
        settle();
        while (clock_.next() <= until) {
            const auto now = std::max(clock_.next(), clock_.now());
            clock_.set(now);
            middle_.wake(now);
            for (auto& link : links_)
                link.wake(now);
            for (auto& node : nodes_)
                node.hca.wake(now);
            settle();
        }
        clock_.set(until);
    }
    std::uint64_t dropped() const {
        std::uint64_t sum = 0;
        for (unsigned port = 1; port <= middle_.ports(); ++port)
            sum += middle_.counters(port).dropped;
        return sum;
    }
    /// Bytes of a sender that were acknowledged.
    double done(unsigned sender) {
        const auto& window = nodes_[sender].core(qps_[sender]).requester.window;
        return static_cast<double>(window.oldest_psn - abi::Psn{first_psn}) * mtu;
    }
    std::vector<double> done() {
        std::vector<double> all;
        for (unsigned i = 0; i < qps_.size(); ++i)
            all.push_back(done(i));
        return all;
    }
    /// Mean of what the senders have measured, from the beginning or since `before`.
    struct Measured {
        std::uint64_t count = 0, sum_ps = 0;
    };
    Measured measured() const {
        Measured all;
        for (const auto& node : nodes_) {
            all.count += node.hca.counters().round_trips;
            all.sum_ps += node.hca.counters().round_trips_ps;
        }
        return all;
    }

private:
    void settle() {
        for (auto& link : links_)
            link.pump(clock_.now());
    }

    TestClock clock_;
    model::net::EthernetSwitch middle_;
    std::deque<model::net::Link> links_;
    std::deque<Node> nodes_;
    std::vector<TestQp> qps_;
};

/// Jain's index of what was done between two moments, in 1/n to 1.
double fairness(const std::vector<double>& before, const std::vector<double>& after) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
        const auto bytes = after[i] - before[i];
        sum += bytes;
        squares += bytes * bytes;
    }
    return sum * sum / squares / static_cast<double>(after.size());
}

double sum(const std::vector<double>& values) {
    double all = 0;
    for (const auto value : values)
        all += value;
    return all;
}

} // namespace

TEST_CASE("windows drop far less of an incast of 16, and keep its queue near the target", "[unit][congestion][swift]") {
    Incast free(16, Algorithm::none), windows(16, Algorithm::swift);
    for (auto* one : {&free, &windows}) {
        one->start_all();
        one->run(2ms);
    }
    CHECK(free.dropped() > 200);
    CHECK(windows.dropped() < free.dropped() / 20);

    const auto begin = windows.measured();
    const auto before = windows.done();
    windows.run(4ms);
    const auto end = windows.measured();
    const auto after = windows.done();

    REQUIRE(end.count > begin.count);
    const auto mean = (end.sum_ps - begin.sum_ps) / (end.count - begin.count);
    INFO("a round trip took " << mean << " ps on average");
    CHECK(mean > 25'000'000); // of few flows
    CHECK(mean < 60'000'000); // and with flow scaling at windows of some packets
    CHECK(sum(after) - sum(before) > 0.95 * payload * line * 2e9);
    CHECK(fairness(before, after) > 0.9);
}

TEST_CASE("one flow with a window has the line for itself", "[unit][congestion][swift]") {
    Incast alone(1, Algorithm::swift);
    alone.start_all();
    alone.run(200us);
    const auto before = alone.done();
    alone.run(800us);
    CHECK(sum(alone.done()) - sum(before) > 0.95 * payload * line * 600e6);
    CHECK(alone.dropped() == 0);
}

TEST_CASE("a flow that joins later has the same share soon", "[unit][congestion][swift]") {
    Incast two(2, Algorithm::swift);
    two.start(0);
    two.run(300us);
    two.start(1);
    two.run(1ms);
    const auto before = two.done();
    two.run(1500us);
    const auto after = two.done();
    INFO("the first has " << after[0] - before[0] << " bytes, the second " << after[1] - before[1]);
    CHECK(fairness(before, after) > 0.98);
    CHECK(sum(after) - sum(before) > 0.95 * payload * line * 500e6);
    CHECK(two.dropped() == 0);
}
