// The cables of a platform whose ends are in two processes. What the half that is here has for the other one goes by
// post; what comes from there is told to it.
#pragma once

#include "model/net/link.h"
#include "platform/ranks/partition.h"
#include "platform/ranks/post.h"
#include "platform/topology/platform_module.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace platform::ranks {

class CutCables {
public:
    /// Cuts those of `platform` of which this process has one end. All outlive this. `now`: of the simulation.
    CutCables(topology::Platform& platform, const Partition& partition, Post& post,
              std::function<model::port::Time()> now);

    /// What went wrong, for a person: what no half of a cable can know in time. Empty: nothing.
    const std::string& trouble() const { return trouble_; }

private:
    class Half final : public model::net::FarEnd {
    public:
        Half(CutCables& owner, std::size_t cable, unsigned to) : owner_(owner), cable_(cable), to_(to) {}
        void on_packet(const model::port::Packet& packet, model::port::Time arrival) override;
        void on_credit(std::uint64_t bytes, model::port::Time at) override;
        void on_pause(std::uint8_t priorities, model::port::Time at) override;
        void on_turned(bool is_on) override;

    private:
        CutCables& owner_;
        std::size_t cable_;
        unsigned to_; ///< rank of the other half
    };

    /// The cable of a message from `from`; nullptr: there is none of that number between the two processes.
    model::net::Link* cable_of(unsigned from, Reader& message);
    /// Whether what comes counts late enough.
    bool is_in_time(model::port::Time at, std::size_t cable);
    void fail(std::string why);

    topology::Platform& platform_;
    Post& post_;
    std::function<model::port::Time()> now_;
    std::vector<unsigned> others_; ///< by cable: rank of the other half; none: it is not cut here
    std::deque<Half> halves_;
    model::port::Packet packet_;
    std::string trouble_;
};

} // namespace platform::ranks
