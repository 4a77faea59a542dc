// Pages the device asks for to keep its contexts in. Answers QUERY_PAGES and page request events with host memory,
// remembers what the device holds, and takes everything back at the end (PRM "MANAGE_PAGES").
#pragma once

#include "abi/prm/pages.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/mlx/command/command.h"
#include "sw/transport/transport.h"

#include <cstddef>
#include <cstdint>
#include <map>

namespace sw::mlx {

class PageSupply {
public:
    PageSupply(transport::Transport& transport, CommandChannel& commands)
        : transport_(transport), commands_(commands) {}

    /// Asks how many pages the device wants in `phase`, and gives them.
    Result<void> supply(abi::prm::PageQuery phase);
    /// A page request event: positive asks for pages, negative offers some back. Only noted; service() answers it.
    void request(std::int32_t pages) { wanted_ += pages; }
    /// Answers what request() noted. May be called while another command is in flight.
    Result<void> service();
    /// Takes back every page; fails when the device keeps any.
    Result<void> reclaim_all();

    /// Pages the device holds now.
    std::size_t held() const { return held_.size(); }

private:
    Result<void> give(std::uint32_t count);
    Result<std::uint32_t> take(std::uint32_t at_most);
    Result<void> refuse();

    transport::Transport& transport_;
    CommandChannel& commands_;
    std::map<std::uint64_t, memory::Buffer> held_; // by bus address
    std::int64_t wanted_ = 0;
    bool is_servicing_ = false;
};

} // namespace sw::mlx
