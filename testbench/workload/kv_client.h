// A client of a key-value store: draws operations, has as many under way as its queue pairs hold, and looks at what it
// is given. The body of a thread of the simulation.
#pragma once

#include "testbench/workload/kv_link.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace workload {

class KvClient {
public:
    /// `links` by wr_id.
    KvClient(load::Device& device, std::size_t number, std::vector<KvLink*> links, KvShared& shared);
    void run();

private:
    struct Operation {
        KvDraw::Operation what{};
        model::port::Time since{};
        std::uint64_t least = 0; ///< the version that it must see at least
        bool is_under_way = false;
    };
    bool start_all();
    void start(std::size_t link, std::uint32_t slot);
    void read(std::size_t link, std::uint32_t slot);
    void ask(std::size_t link, std::uint32_t slot);
    void post(std::size_t link, sw::verbs::SendRequest& request, const KvLink::Posted& posted);
    std::size_t poll_sent();
    std::size_t poll_received();
    void take_read(std::size_t link, std::uint32_t slot);
    void take_value(std::size_t link, std::uint32_t slot, std::span<const std::byte> bytes);
    void take_acknowledgement(std::size_t link, std::uint32_t slot, std::span<const std::byte> bytes);
    void end(std::size_t link, std::uint32_t slot, std::uint32_t bytes);

    load::Device& device_;
    const std::size_t number_;
    std::vector<KvLink*> links_;
    KvShared& shared_;
    const KvPlan& plan_;
    load::Core& core_;
    KvDraw draw_;
    std::optional<KvDraw::Operation> next_;          ///< has been drawn, and its server's queue pairs are full
    std::vector<std::vector<Operation>> operations_; ///< by link and slot
    std::vector<std::vector<std::uint32_t>> free_;   ///< slots of each link
    std::vector<std::size_t> turn_;                  ///< of each server, among its queue pairs
    std::uint64_t under_way_ = 0, puts_ = 0;
    std::vector<load::Done> done_;
};

} // namespace workload
