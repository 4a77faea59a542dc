#include "traces/tool/work.h"

#include "abi/prm/cqe.h"

#include <algorithm>

namespace traces::tool {

using namespace abi::prm;

namespace {

/// A queue has at most 2^15 entries; more are of a driver that rings for nothing.
constexpr std::size_t most_waiting = 65536;

/// Whether `a` is not behind `b`, of counters modulo 2^16.
bool is_at_or_after(std::uint32_t a, std::uint32_t b) { return ((a - b) & 0xffff) < 0x8000; }

template <class T> void push(std::deque<T>& queue, const T& value) {
    queue.push_back(value);
    if (queue.size() > most_waiting)
        queue.pop_front();
}

} // namespace

const WorkBoard::News& WorkBoard::take(const codec::Record& record, const Seen& seen) {
    news_.clear();
    for (const auto& item : seen.items) {
        if (item.what == What::send_doorbell) {
            news_.rung = Doorbell{record.number, record.time_ps, item.index, item.opcode};
            push(queues_[{record.interface, item.qpn}].doorbells, *news_.rung);
        } else if (item.what == What::send_wqe) {
            auto& queue = queues_[{record.interface, item.qpn}];
            Work work{.interface = record.interface,
                      .qpn = item.qpn,
                      .index = item.index,
                      .opcode = item.opcode,
                      .fetched = record.number,
                      .fetched_ps = record.time_ps};
            // The doorbell that posted it is the first one that says as much.
            const auto rung = std::ranges::find_if(
                queue.doorbells, [&](const Doorbell& doorbell) { return is_at_or_after(doorbell.index, work.index); });
            if (rung != queue.doorbells.end())
                work.doorbell = rung->record, work.doorbell_ps = rung->time_ps;
            const auto again = std::ranges::find(queue.works, work.index, &Work::index);
            if (again != queue.works.end()) { // it is read once more, to be sent again
                work.fetched = again->fetched, work.fetched_ps = again->fetched_ps;
                *again = work;
            } else {
                push(queue.works, work);
            }
            news_.fetched.push_back(work);
        } else if (item.what == What::cqe) {
            const auto opcode = static_cast<CqeOpcode>(item.opcode);
            if (opcode != CqeOpcode::req && opcode != CqeOpcode::req_err)
                continue;
            const auto found = queues_.find({record.interface, item.qpn});
            if (found == queues_.end())
                continue;
            auto& [doorbells, works] = found->second;
            // Those before it that asked for no completion are done, too.
            while (!works.empty() && is_at_or_after(item.index, works.front().index)) {
                news_.completed.push_back(works.front());
                works.pop_front();
            }
            const auto rung = std::ranges::find(doorbells, item.index, &Doorbell::index);
            const bool is_fetched = !news_.completed.empty() && news_.completed.back().index == item.index;
            if (!is_fetched && rung != doorbells.end()) // it came with its doorbell, or was read from an unknown place
                news_.completed.push_back({.interface = record.interface,
                                           .qpn = item.qpn,
                                           .index = item.index,
                                           .opcode = rung->opcode,
                                           .doorbell = rung->record,
                                           .doorbell_ps = rung->time_ps});
            while (!doorbells.empty() && is_at_or_after(item.index, doorbells.front().index))
                doorbells.pop_front();
        } else if (item.what == What::command_done && seen.command != nullptr && seen.command->is_good() &&
                   (seen.command->opcode() == Opcode::destroy_qp || seen.command->opcode() == Opcode::qp_2rst)) {
            news_.gone = item.qpn;
            if (const auto found = queues_.find({record.interface, item.qpn}); found != queues_.end()) {
                news_.dropped.assign(found->second.works.begin(), found->second.works.end());
                queues_.erase(found);
            }
        }
    }
    return news_;
}

std::size_t WorkBoard::depth(std::uint32_t interface, std::uint32_t qpn) const {
    const auto found = queues_.find({interface, qpn});
    return found != queues_.end() ? found->second.works.size() : 0;
}

bool WorkBoard::is_open(std::uint32_t interface, std::uint32_t qpn, std::uint64_t fetched) const {
    const auto found = queues_.find({interface, qpn});
    return found != queues_.end() && std::ranges::binary_search(found->second.works, fetched, {}, &Work::fetched);
}

std::vector<Work> WorkBoard::open() const {
    std::vector<Work> works;
    for (const auto& [key, queue] : queues_)
        works.insert(works.end(), queue.works.begin(), queue.works.end());
    return works;
}

} // namespace traces::tool
