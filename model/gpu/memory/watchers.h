// Who waits for bytes of VRAM to become others: waves that would only look again and again. They are told once, with
// the time from which a look may find something else, by whoever writes there or lets the caches lose what they hold.
#pragma once

#include "model/port/time.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace model::gpu::memory {

class Watchers;

/// Waits for one place at a time.
class Watcher {
public:
    Watcher() = default;
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    /// It waits no more when it is told.
    virtual void changed(port::Time at) = 0;
    bool is_waiting() const { return book_ != nullptr; }
    void leave();

protected:
    ~Watcher() { leave(); }

private:
    friend class Watchers;
    Watchers* book_ = nullptr;
    std::uint64_t begin_ = 0, end_ = 0;
};

class Watchers {
public:
    Watchers() = default;
    Watchers(const Watchers&) = delete;
    Watchers& operator=(const Watchers&) = delete;
    ~Watchers() {
        for (auto* one : waiting_)
            one->book_ = nullptr;
    }

    void add(Watcher& watcher, std::uint64_t address, std::size_t length) {
        watcher.leave();
        watcher.book_ = this;
        watcher.begin_ = address, watcher.end_ = address + length;
        waiting_.push_back(&watcher);
    }
    /// These bytes may be others from now on.
    void tell(std::uint64_t address, std::size_t length, port::Time at) {
        for (std::size_t i = 0; i < waiting_.size();) {
            auto& one = *waiting_[i];
            if (one.begin_ >= address + length || address >= one.end_) {
                ++i;
                continue;
            }
            one.leave();
            one.changed(at);
        }
    }
    /// All bytes may.
    void tell_all(port::Time at) { tell(0, ~std::size_t{0}, at); }

private:
    friend class Watcher;
    std::vector<Watcher*> waiting_; ///< in the order in which they came
};

inline void Watcher::leave() {
    if (book_ != nullptr)
        std::erase(book_->waiting_, this);
    book_ = nullptr;
}

} // namespace model::gpu::memory
