// An event stands in its queue before the interrupt that reports it (PRM "Event queues", "MSI-X"): an interrupt has an
// entry that no earlier one of its vector has reported, or that software has said it has not seen. Key: event queue.
#pragma once

#include "traces/monitor/rule.h"

#include <map>

namespace traces::monitor {

class Interrupts : public Rule {
public:
    Interrupts(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"event before interrupt", "PRM \"Event queue\"; PCIe 6.0 §2.4.1", "interrupts"}, findings, interfaces) {
    }
    void on(const EqeWritten& written);
    void on(const EqRung& rung);
    void on(const Interrupted& interrupt);
    void on(const ObjectGone& gone);

private:
    struct Queue {
        std::uint16_t vector = 0;
        bool has_news = false;
        std::uint64_t newest = 0; ///< record of the entry written last
    };
    std::map<ObjectKey, Queue> queues_;
    std::map<ObjectKey, std::uint64_t> reported_; ///< by vector: the interrupt before
};

} // namespace traces::monitor
