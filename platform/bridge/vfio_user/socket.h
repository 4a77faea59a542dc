// The local socket of one function: accepts its clients in turn and carries bytes and descriptors between a client and
// its Session. What a client does or leaves undone ends its own connection and nothing else: it may be slow to read up
// to a bound, late with its handshake up to a bound, and late with memory it was asked for up to a bound.
#pragma once

#include "platform/bridge/vfio_user/function_port.h"
#include "platform/bridge/vfio_user/session.h"

#include <utility> // Boost 1.74 misses it

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace platform::bridge::vfio_user {

struct SocketLimits {
    std::size_t unread_bytes = 4 << 20;            ///< answers that a client has not read
    std::chrono::milliseconds handshake{10'000};   ///< until its VERSION
    std::chrono::milliseconds memory_reply{2'000}; ///< until its answer to DMA_READ or DMA_WRITE
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

private:
    enum class Received : std::uint8_t { some, nothing, end };

    void wait_to_read();
    void wait_to_write();
    void on_readable();
    Received receive_once();
    void flush();
    void send(std::vector<std::byte> message, int file) override;
    ssize_t send_some();
    model::port::DmaStatus read(std::uint64_t address, std::span<std::byte> into) override;
    model::port::DmaStatus write(std::uint64_t address, std::span<const std::byte> from) override;
    bool wait_for_exchange();
    void fail(std::string_view why);
    std::string_view fault() const { return fault_.empty() ? session_.fault() : std::string_view(fault_); }
    void end_if_faulty();
    void put_off_rest();

    Socket socket_;
    FunctionPort& function_;
    SocketLimits limits_;
    Hooks hooks_;
    Session session_;
    boost::asio::steady_timer handshake_;
    std::vector<std::byte> buffer_;
    struct Unsent {
        std::vector<std::byte> message;
        int file;
    };
    std::deque<Unsent> unsent_;
    std::size_t unsent_bytes_ = 0, sent_of_first_ = 0;
    std::string fault_;
    bool is_waiting_to_write_ = false, is_inside_ = false, is_ended_ = false, is_rest_put_off_ = false;
};

class Listener {
public:
    /// Creates the socket at `path`; a socket that nobody listens at any more gives way. The error says path and reason.
    static std::expected<std::unique_ptr<Listener>, std::string> create(boost::asio::io_context& io, std::string path,
                                                                        FunctionPort& function,
                                                                        std::function<void()> before,
                                                                        SocketLimits limits = {});
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    const std::string& path() const { return path_; }
    FunctionPort& function() { return function_; }
    /// Ends the client's connection and removes the socket.
    void close();
    bool has_client() const { return connection_ != nullptr; }

    std::function<void()> on_connect;
    std::function<void(std::string_view why)> on_disconnect;

private:
    using Acceptor = boost::asio::local::stream_protocol::acceptor;
    Listener(Acceptor acceptor, std::string path, FunctionPort& function, std::function<void()> before,
             SocketLimits limits)
        : acceptor_(std::move(acceptor)), path_(std::move(path)), function_(function), before_(std::move(before)),
          limits_(limits) {}
    void accept();

    Acceptor acceptor_;
    std::string path_;
    FunctionPort& function_;
    std::function<void()> before_;
    SocketLimits limits_;
    std::shared_ptr<Connection> connection_;
    bool is_closed_ = false;
};

} // namespace platform::bridge::vfio_user
