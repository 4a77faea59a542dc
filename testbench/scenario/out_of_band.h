// What two programs tell each other beside RDMA, as perftest does over TCP: who they are, and when a step is done.
// Messages arrive whole and in order.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace scenario {

class OutOfBand {
public:
    virtual ~OutOfBand() = default;
    virtual void send(std::span<const std::byte> message) = 0;
    /// Waits for the peer's next message. Empty when the peer has gone.
    virtual std::vector<std::byte> receive() = 0;
    /// Whether receive() would not wait.
    virtual bool has_something() = 0;

    template <class T> void send_value(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        send(std::as_bytes(std::span(&value, 1)));
    }
    /// False when the peer has gone or sent something else.
    template <class T> bool receive_value(T& into) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto message = receive();
        if (message.size() != sizeof into)
            return false;
        std::memcpy(static_cast<void*>(&into), message.data(), sizeof into);
        return true;
    }
};

} // namespace scenario
