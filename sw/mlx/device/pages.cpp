#include "sw/mlx/device/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace sw::mlx {
namespace {

using namespace abi::prm;

constexpr std::uint16_t op_mod(PageAction action) { return static_cast<std::uint16_t>(action); }

constexpr std::uint32_t take_at_most = 768; // a command; as the stock driver has it
constexpr std::int64_t request_at_most = 50'000;
constexpr unsigned patience = 100; // answers of 0 pages in a row before the device is said to keep the rest

} // namespace

Result<void> PageSupply::supply(PageQuery phase) {
    const Input<QueryPagesIn> in(Opcode::query_pages, static_cast<std::uint16_t>(phase));
    const auto out = run<QueryPagesOut>(commands_, in);
    if (!out)
        return std::unexpected(out.error());
    const auto wanted = static_cast<std::int32_t>(out->get<"num_pages">());
    if (wanted < 0 || wanted > request_at_most)
        return failure(EPROTO, fmt::format("QUERY_PAGES: device wants {} pages", wanted));
    return wanted ? give(static_cast<std::uint32_t>(wanted)) : Result<void>{};
}

Result<void> PageSupply::give(std::uint32_t count) {
    std::vector<memory::Buffer> pages;
    Input<ManagePagesIn> in(Opcode::manage_pages, op_mod(PageAction::give), count * sizeof(std::uint64_t));
    in.view().set<"input_num_entries">(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        auto page = memory::Buffer::allocate(transport_, page_bytes);
        if (!page) {
            if (auto told = refuse(); !told)
                return told;
            return failure(page.error().code, fmt::format("give the device {} pages: {}", count, page.error().what));
        }
        in.set_tail64(i, page->bus());
        pages.push_back(std::move(*page));
    }
    // Entered before the command runs: a device that answers late may already use them.
    for (auto& page : pages)
        held_.emplace(page.bus(), std::move(page));
    const auto out = run<ManagePagesOut>(commands_, in, 0, SlotClass::pages);
    if (out)
        return {};
    if (out.error().code != ETIMEDOUT) // refused: the device does not know them
        for (std::uint32_t i = 0; i < count; ++i)
            held_.erase(abi::load<std::uint64_t, abi::Endian::big>(in.tail().data() + std::size_t{i} * 8));
    return std::unexpected(out.error());
}

Result<void> PageSupply::refuse() {
    const Input<ManagePagesIn> in(Opcode::manage_pages, op_mod(PageAction::cannot_give));
    if (const auto out = run<ManagePagesOut>(commands_, in, 0, SlotClass::pages); !out)
        return std::unexpected(out.error());
    return {};
}

Result<std::uint32_t> PageSupply::take(std::uint32_t at_most) {
    Input<ManagePagesIn> in(Opcode::manage_pages, op_mod(PageAction::take));
    in.view().set<"input_num_entries">(at_most);
    const auto out = run<ManagePagesOut>(commands_, in, at_most * sizeof(std::uint64_t), SlotClass::pages);
    if (!out)
        return std::unexpected(out.error());
    const auto count = out->get<"output_num_entries">();
    if (count > at_most)
        return failure(EPROTO, fmt::format("MANAGE_PAGES: {} pages taken, device returns {}", at_most, count));
    for (std::uint32_t i = 0; i < count; ++i)
        if (held_.erase(out->tail64(i)) == 0)
            return failure(EPROTO, fmt::format("MANAGE_PAGES: device returns page {:#x}, which it was never given",
                                               out->tail64(i)));
    return count;
}

Result<void> PageSupply::service() {
    if (is_servicing_) // a request met while one is answered waits for its turn
        return {};
    is_servicing_ = true;
    Result<void> result;
    while (result && wanted_ != 0) {
        const auto now = std::clamp<std::int64_t>(std::exchange(wanted_, 0), -request_at_most, request_at_most);
        if (now > 0)
            result = give(static_cast<std::uint32_t>(now));
        else
            for (auto left = static_cast<std::uint32_t>(-now); result && left;) {
                const auto taken = take(std::min(left, take_at_most));
                if (!taken)
                    result = std::unexpected(taken.error());
                else if (*taken == 0) // the wish was withdrawn
                    break;
                else
                    left -= *taken;
            }
    }
    is_servicing_ = false;
    return result;
}

Result<void> PageSupply::reclaim_all() {
    unsigned without_progress = 0;
    while (!held_.empty()) {
        const auto taken = take(static_cast<std::uint32_t>(std::min<std::size_t>(held_.size(), take_at_most)));
        if (!taken)
            return std::unexpected(taken.error());
        without_progress = *taken ? 0 : without_progress + 1;
        if (without_progress == patience)
            return failure(EBUSY, fmt::format("reclaim pages: device keeps {} of them", held_.size()));
        if (*taken == 0)
            transport_.relax();
    }
    return {};
}

} // namespace sw::mlx
