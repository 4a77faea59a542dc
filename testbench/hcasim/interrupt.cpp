#include "testbench/hcasim/interrupt.h"

namespace hcasim {

Interrupt::Interrupt(scenario::Stop& stop) : stop_(stop) {
    arrived_ = 0;
    struct sigaction once{};
    once.sa_handler = note;
    once.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &once, &interrupt_);
    sigaction(SIGTERM, &once, &terminate_);
    // A reader that goes away is an output that cannot be written, and is told as such.
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &pipe_);
}

Interrupt::~Interrupt() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
    sigaction(SIGPIPE, &pipe_, nullptr);
}

void Interrupt::look() {
    if (arrived_ == 0 || stop_.is_requested())
        return;
    number_ = arrived_;
    stop_.request(number_ == SIGINT ? "interrupted (SIGINT)" : "terminated (SIGTERM)");
}

} // namespace hcasim
