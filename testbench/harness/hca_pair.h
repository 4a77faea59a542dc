// Two HCA cores on one cable, without SystemC, with one connected pair of queue pairs.
#pragma once

#include "model/net/link.h"
#include "testbench/harness/hca_node.h"

namespace harness {

/// Node a and node b on one cable, with one pair of queue pairs.
class HcaPair {
public:
    static model::hca::HcaConfig untimed();
    static model::net::LinkConfig clean();
    /// With `sink` all that happens goes there, instead of into each node's own log.
    explicit HcaPair(model::net::LinkConfig link_config = clean(), model::hca::HcaConfig config = untimed(),
                     traces::Sink* sink = nullptr);
    HcaPair(model::net::LinkConfig link_config, model::hca::HcaConfig config, Quiet);
    ~HcaPair();
    /// Brings both queue pairs to RTS.
    void connect(std::uint32_t psn = 100);
    /// Both queue pairs with other attributes; `change(attributes)` is called for each. Before connect().
    template <class Change> void remake(Change&& change) {
        auto x = a.attributes(a_cq), y = b.attributes(b_cq);
        change(x);
        change(y);
        a_qp = a.make_qp(x);
        b_qp = b.make_qp(y);
    }
    void ring() {
        a.ring(a_qp, clock.now());
        settle();
    }
    /// Posts on a, rings, and lets everything happen that needs no time.
    void send(const Post& wr) {
        a.post(a_qp, wr);
        ring();
    }
    /// Lets everything happen that needs no time.
    void settle() { link.pump(clock.now()); }
    /// Lets time pass until nothing is due any more, or `limit` is reached.
    void run(Time limit = 10s);

    TestClock clock;
    model::net::Link link;
    Node a, b;
    TestCq a_cq, b_cq;
    TestQp a_qp, b_qp;

private:
    void furnish();
};

} // namespace harness
