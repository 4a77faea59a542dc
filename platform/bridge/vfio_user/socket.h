// Carries bytes and descriptors between a client and its Session. What a client does or leaves undone ends its own
// connection and nothing else: it may be slow to read, late with its handshake and with the rest of a message, each up
// to a bound. Memory that it is asked for and does not give in time is an access that fails, for the function that
// asked: the connection stays, and nobody else has waited.
#pragma once

#include "model/tlm/process.h"
#include "platform/bridge/vfio_user/function_port.h"
#include "platform/bridge/vfio_user/session.h"

#include <utility> // Boost 1.74 misses it

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace platform::bridge::vfio_user {

struct SocketLimits {
    std::size_t unread_bytes = 4 << 20;          ///< answers that a client has not read
    std::chrono::milliseconds handshake{10'000}; ///< until its VERSION
    std::chrono::milliseconds message{10'000};   ///< from the first byte of a message to its last
    /// From an access to memory without a file to the last of its answers: a completion timeout as a Root Port may have
    /// it (PCIe 6.0 §7.5.3.16, range D: 4 s to 13 s). A guest's processor that is held by a debugger or a busy machine
    /// is no reason for an error.
    std::chrono::milliseconds memory_reply{10'000};
    std::chrono::milliseconds turn{1}; ///< of its messages before others have their turn
};

class Connection final : public std::enable_shared_from_this<Connection>, private MessageSink, private MessageDma {
public:
    using Socket = boost::asio::local::stream_protocol::socket;
    struct Hooks {
        std::function<void()> before;                    ///< something has come: about to be handled
        std::function<void(std::string_view why)> ended; ///< once, last
    };
    Connection(Socket socket, FunctionPort& function, const SocketLimits& limits, Hooks hooks);
    ~Connection() override;

    void start();
    /// Ends the connection, from outside of its own handlers.
    void close(std::string_view why);
    const Session& session() const { return session_; }
    /// The client has closed its end, whether or not everything it sent has been read.
    bool is_hung_up();

private:
    enum class Received : std::uint8_t { some, nothing, end };

    using Clock = std::chrono::steady_clock;

    void wait_to_read();
    void wait_to_write();
    void on_readable();
    bool take_messages(Clock::time_point until);
    void watch_rest();
    Received receive_once();
    void flush();
    void send(std::vector<std::byte> message, int file) override;
    ssize_t send_some();
    model::port::DmaStatus read(std::uint64_t address, std::span<std::byte> into) override;
    model::port::DmaStatus write(std::uint64_t address, std::span<const std::byte> from) override;
    void abandon() override;
    class Access;
    void fail(std::string_view why);
    std::string_view fault() const { return fault_.empty() ? session_.fault() : std::string_view(fault_); }
    void end_if_faulty();

    Socket socket_;
    FunctionPort& function_;
    SocketLimits limits_;
    Hooks hooks_;
    Session session_;
    boost::asio::steady_timer handshake_, rest_, reply_;
    std::uint64_t rest_of_ = 0; ///< the message, by its number, that `rest_` runs for; 0: none
    std::vector<std::byte> buffer_;
    struct Unsent {
        std::vector<std::byte> message;
        int file;
    };
    std::deque<Unsent> unsent_;
    std::size_t unsent_bytes_ = 0, sent_of_first_ = 0;
    std::string fault_;
    bool is_waiting_to_write_ = false, is_inside_ = false, is_ended_ = false;
    model::tlm::Turn accesses_{model::tlm::Calls::may_wait};
    sc_core::sc_event answered_; ///< or given up
};

} // namespace platform::bridge::vfio_user
