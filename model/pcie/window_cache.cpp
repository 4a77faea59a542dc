#include "model/pcie/window_cache.h"

#include <algorithm>

namespace model::pcie {

Window* WindowCache::search(std::uint64_t address, port::Purpose purpose) {
    const auto after = std::ranges::upper_bound(windows_, address, {}, [](const auto& w) { return w->begin; });
    if (after == windows_.begin())
        return nullptr;
    auto* window = std::prev(after)->get();
    if (!window->contains(address))
        return nullptr;
    last_[static_cast<std::size_t>(purpose)] = window;
    return window;
}

Window& WindowCache::insert(std::unique_ptr<Window> window) {
    forget({window->begin, window->begin + window->size});
    const auto at = std::ranges::upper_bound(windows_, window->begin, {}, [](const auto& w) { return w->begin; });
    return **windows_.insert(at, std::move(window));
}

void WindowCache::forget(Range range) {
    last_ = {};
    std::erase_if(windows_, [&](std::unique_ptr<Window>& window) {
        if (window->begin >= range.end || range.begin >= window->begin + window->size)
            return false;
        forgotten_.push_back(std::move(window));
        return true;
    });
    if (holds_ == 0)
        bury();
}

void WindowCache::bury() {
    for (const auto& window : forgotten_)
        past_[static_cast<std::size_t>(window->target.kind)] += window->route.volume();
    forgotten_.clear();
}

Volume WindowCache::volume(TargetKind kind) const {
    auto sum = past_[static_cast<std::size_t>(kind)];
    for (const auto* list : {&windows_, &forgotten_})
        for (const auto& window : *list)
            if (window->target.kind == kind)
                sum += window->route.volume();
    return sum;
}

} // namespace model::pcie
