// A value that only work needs: its memory comes when it is first used, and goes when the queue pair is reset. A queue
// pair that is connected and idle, as most of a large fabric's are, costs a pointer for it.
#pragma once

#include <cassert>
#include <memory>

namespace model::hca::queue {

template <class T> class OnDemand {
public:
    T& operator*() {
        if (!value_) [[unlikely]]
            value_ = std::make_unique<T>();
        return *value_;
    }
    /// Who may not change it reads what is there.
    const T& operator*() const {
        assert(value_);
        return *value_;
    }
    T* operator->() { return &**this; }
    const T* operator->() const { return &**this; }

private:
    std::unique_ptr<T> value_;
};

} // namespace model::hca::queue
