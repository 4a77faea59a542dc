// What an NVMe controller does with its queues (NVMe base 2.0 "Queue Mechanism", "Completion Queue Entry"). Key: queue.
#pragma once

#include "traces/monitor/rule.h"

#include <map>
#include <tuple>

namespace traces::monitor {

/// Link, number: of queues of one kind.
using NvmeKey = std::pair<std::uint32_t, std::uint16_t>;

/// A command is read after software has said that it is there, and in the order of the queue.
class NvmeFetches : public Rule {
public:
    NvmeFetches(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"NVMe fetch behind doorbell", "NVMe base 2.0 \"Submission Queue\"", "fetched commands"}, findings,
               interfaces) {}
    void on(const NvmeRung& rung);
    void on(const NvmeFetched& fetched);
    void on(const NvmeQueueGone& gone);

private:
    struct Queue {
        std::uint32_t tail = 0, next = 0;
        std::uint64_t rung = 0; ///< record that told of the tail
    };
    std::map<NvmeKey, Queue> queues_;
};

/// Each command that was read has one completion, and nothing else has.
class NvmeOnce : public Rule {
public:
    NvmeOnce(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"NVMe completion once", "NVMe base 2.0 \"Completion Queue Entry\"", "completions of commands"},
               findings, interfaces) {}
    void on(const NvmeFetched& fetched);
    void on(const NvmeCompleted& completed);
    void on(const NvmeQueueGone& gone);

private:
    /// Link, submission queue, identifier; how many there are, since software may give one twice.
    std::map<std::tuple<std::uint32_t, std::uint16_t, std::uint16_t>, std::pair<unsigned, std::uint64_t>> under_way_;
};

/// Completions stand in the order of the queue, with the phase of its pass; the head of submissions that they tell does
/// not fall.
class NvmePhase : public Rule {
public:
    NvmePhase(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"NVMe phase", "NVMe base 2.0 \"Phase Tag\"", "completion entries"}, findings, interfaces) {}
    void on(const NvmeFetched& fetched);
    void on(const NvmeCompleted& completed);
    void on(const NvmeQueueGone& gone);

private:
    struct Completions {
        std::uint32_t next = 0;
        bool phase = true;
        std::uint64_t last = 0; ///< record of the entry before
    };
    struct Submissions {
        std::uint32_t head = 0, fetched = 0; ///< told last; behind the last command that was read
    };
    std::map<NvmeKey, Completions> completions_;
    std::map<NvmeKey, Submissions> submissions_;
};

/// A completion is not written over one that software has not taken.
class NvmeRoom : public Rule {
public:
    NvmeRoom(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"NVMe room for completion", "NVMe base 2.0 \"Full Queue\"", "completions where there is room"},
               findings, interfaces) {}
    void on(const NvmeRung& rung);
    void on(const NvmeCompleted& completed);
    void on(const NvmeQueueGone& gone);

private:
    struct Queue {
        std::uint32_t head = 0;
        std::uint64_t rung = 0;
    };
    std::map<NvmeKey, Queue> queues_;
};

/// An interrupt has a completion that none before it has reported, or that software has said it has not taken.
class NvmeInterrupts : public Rule {
public:
    NvmeInterrupts(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"NVMe interrupt has entry", "NVMe base 2.0 \"Interrupts\"", "interrupts of a controller"}, findings,
               interfaces) {}
    void on(const NvmeRung& rung);
    void on(const NvmeCompleted& completed);
    void on(const Interrupted& interrupt);
    void on(const NvmeQueueGone& gone);

private:
    struct Queue {
        std::uint16_t vector = 0;
        bool has_news = false;
        std::uint32_t end = 0;    ///< slot behind the newest entry
        std::uint64_t newest = 0; ///< its record
    };
    std::map<NvmeKey, Queue> queues_;
};

} // namespace traces::monitor
