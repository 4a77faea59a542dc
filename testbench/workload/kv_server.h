// A server of a key-value store: answers GETs that come as SENDs, and writes what is PUT. It knows nothing of GETs by
// READ. The body of a thread of the simulation.
#pragma once

#include "testbench/workload/kv_link.h"

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace workload {

class KvServer {
public:
    /// `links` by wr_id; `values` has a place for each key.
    KvServer(load::Device& device, std::size_t node, const load::Memory& values, std::vector<KvLink*> links,
             KvShared& shared);
    void run();

private:
    std::size_t poll_sent();
    std::size_t poll_received();
    bool answer_next();
    void put(const KvRequest& request, std::span<const std::byte> bytes);
    void copy(std::span<std::byte> to, std::span<const std::byte> from);
    void answer(KvLink& link, std::size_t number, const KvRequest& request);

    load::Device& device_;
    const std::size_t node_;
    const load::Memory& values_;
    std::vector<KvLink*> links_;
    KvShared& shared_;
    const KvPlan& plan_;
    load::Core& core_;
    std::deque<std::pair<std::size_t, load::Place>> asked_; ///< link, and where the request is
    std::vector<std::byte> made_;                           ///< a value on its way to its place
    std::vector<load::Done> done_;
};

} // namespace workload
