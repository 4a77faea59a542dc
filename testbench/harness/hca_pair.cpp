#include "testbench/harness/hca_pair.h"

namespace harness {

model::hca::HcaConfig HcaPair::untimed() {
    model::hca::HcaConfig config;
    config.timed = false;
    return config;
}

model::net::LinkConfig HcaPair::clean() {
    model::net::LinkConfig config;
    config.timed = false;
    return config;
}

HcaPair::HcaPair(model::net::LinkConfig link_config, model::hca::HcaConfig config, traces::Sink* sink)
    : link(link_config, clock, {sink, 0}), a(config, clock, link.end(0), 1, nullptr, sink),
      b(config, clock, link.end(1), 2, nullptr, sink) {
    furnish();
}

HcaPair::HcaPair(model::net::LinkConfig link_config, model::hca::HcaConfig config, Quiet quiet)
    : link(link_config, clock, {}), a(config, clock, link.end(0), 1, quiet), b(config, clock, link.end(1), 2, quiet) {
    furnish();
}

void HcaPair::furnish() {
    link.attach(0, a.hca);
    link.attach(1, b.hca);
    for (auto* node : {&a, &b})
        node->make_eq();
    a_cq = a.make_cq();
    b_cq = b.make_cq();
    a_qp = a.make_qp(a.attributes(a_cq));
    b_qp = b.make_qp(b.attributes(b_cq));
}

HcaPair::~HcaPair() = default;

void HcaPair::connect(std::uint32_t psn) {
    a.connect(a_qp, b_qp.number, psn, psn + 5000, clock.now());
    b.connect(b_qp, a_qp.number, psn + 5000, psn, clock.now());
}

void HcaPair::run(Time limit) {
    settle();
    while (clock.next() <= limit) {
        const auto now = std::max(clock.next(), clock.now());
        clock.set(now);
        link.wake(now);
        a.hca.wake(now);
        b.hca.wake(now);
        settle();
    }
}

} // namespace harness
