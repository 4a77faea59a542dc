#include "sw/mlx/event/eq.h"

#include "abi/prm/eq.h"

#include <fmt/format.h>

#include <cerrno>

namespace sw::mlx {

using namespace abi::prm;

Result<std::unique_ptr<EventQueue>> EventQueue::create(transport::Transport& transport, CommandChannel& commands,
                                                       const Uar& uar, const EqOptions& options) {
    if (options.log_size > 22)
        return failure(EINVAL, fmt::format("create event queue: 2^{} entries", options.log_size));
    std::unique_ptr<EventQueue> queue(new EventQueue);
    queue->commands_ = &commands;
    queue->uar_ = &uar;
    queue->vector_ = options.vector;
    queue->log_size_ = options.log_size;
    queue->mask_ = (1u << options.log_size) - 1;
    auto ring = memory::Buffer::allocate(transport, Eqe::size << options.log_size);
    if (!ring)
        return failure(ring.error().code, "create event queue: " + ring.error().what);
    queue->ring_ = std::move(*ring);
    for (std::uint32_t i = 0; i <= queue->mask_; ++i) // the device's on the first lap writes 0
        queue->entry(i)[eqe_owner_offset] = std::byte{1};

    constexpr unsigned page = 4096;
    const auto pages = (queue->ring_.size() + page - 1) / page;
    Input<CreateEqIn> in(Opcode::create_eq, 0, pages * sizeof(std::uint64_t));
    const auto context = in.view().sub<"eq_context_entry">();
    context.set<"log_eq_size">(options.log_size);
    context.set<"uar_page">(uar.index());
    context.set<"intr">(options.vector);
    context.set<"log_page_size">(0); // 4 KiB
    std::uint64_t events = 0;
    for (const auto event : options.events)
        events |= std::uint64_t{1} << static_cast<unsigned>(event);
    in.view().set<"event_bitmask">(events);
    for (std::size_t i = 0; i < pages; ++i)
        in.set_tail64(i, queue->ring_.bus() + i * page);
    const auto out = run<CreateEqOut>(commands, in);
    if (!out)
        return std::unexpected(out.error());
    queue->number_ = abi::Eqn{out->get<"eq_number">()};
    return queue;
}

Result<void> EventQueue::destroy() {
    Input<DestroyEqIn> in(Opcode::destroy_eq);
    in.view().set<"eq_number">(number_.value);
    if (const auto out = run<DestroyEqOut>(*commands_, in); !out)
        return std::unexpected(out.error());
    return {};
}

} // namespace sw::mlx
