#include "testbench/load/stage.h"

#include "model/tlm/kernel_clock.h"

#include <fmt/format.h>

#include <exception>

namespace load {

void Stage::for_each_thread(const std::function<void(std::string name, std::function<void()> body)>& add) {
    add("load", [this] { conduct(); });
    for (std::size_t node = 0; node < nodes_; ++node)
        for (std::uint32_t i = 0; i < cores_; ++i, ++running_)
            add(fmt::format("core{}_{}", node, i), [this, node, i] {
                if (!is_open_)
                    sc_core::wait(opened_);
                if (progress_.failure.empty())
                    guard([&] { act(node, i); });
                if (--running_ == 0)
                    model::tlm::notify_now(ended_);
            });
}

void Stage::guard(const std::function<void()>& body) {
    try {
        body();
    } catch (const std::exception& trouble) {
        progress_.fail(trouble.what());
    }
}

void Stage::perform(const std::function<void()>& open, const std::function<void()>& look,
                    const std::function<void()>& close) {
    guard(open);
    progress_.last_progress = model::tlm::kernel_now();
    if (progress_.failure.empty() && begins_when_open())
        begin();
    is_open_ = true;
    model::tlm::notify_now(opened_);
    sc_core::wait(ended_);
    if (on_end)
        on_end();
    if (progress_.failure.empty())
        guard(look);
    guard(close);
}

} // namespace load
