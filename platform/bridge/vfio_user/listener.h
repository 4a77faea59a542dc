// The local socket of one function: creates it for its owner alone, takes one client at a time and turns others away
// with an answer, and removes the socket in the end.
#pragma once

#include "platform/bridge/vfio_user/socket.h"

#include <boost/asio/steady_timer.hpp>

#include <cstddef>

namespace platform::bridge::vfio_user {

class Listener {
public:
    /// Creates the socket at `path`; a socket that nobody listens at any more gives way. The error says path and
    /// reason.
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
    /// Ends the connection of a client whose memory has failed.
    void look_at_memory();

    std::function<void()> on_connect;
    std::function<void(std::string_view why)> on_disconnect;

private:
    using Acceptor = boost::asio::local::stream_protocol::acceptor;
    Listener(Acceptor acceptor, std::string path, FunctionPort& function, std::function<void()> before,
             SocketLimits limits)
        : acceptor_(std::move(acceptor)), path_(std::move(path)), function_(function), before_(std::move(before)),
          limits_(limits) {}
    void accept();
    void wait_for_room();
    void welcome(Connection::Socket socket);
    void turn_away(Connection::Socket socket);

    Acceptor acceptor_;
    std::string path_;
    FunctionPort& function_;
    std::function<void()> before_;
    SocketLimits limits_;
    std::shared_ptr<Connection> connection_;
    std::shared_ptr<unsigned> turned_away_ = std::make_shared<unsigned>(0);
    boost::asio::steady_timer room_{acceptor_.get_executor()}; ///< until the next try, where a client cannot be taken
    bool is_closed_ = false;
};

} // namespace platform::bridge::vfio_user
