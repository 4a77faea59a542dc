#include "platform/bridge/vfio_user/listener.h"

#include <boost/asio/io_context.hpp>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace platform::bridge::vfio_user {

namespace {
/// Clients at a time that wait for the answer that there is one already.
constexpr unsigned most_turned_away = 8;
} // namespace

using boost::system::error_code;
using protocol::Header;

std::expected<std::unique_ptr<Listener>, std::string> Listener::create(boost::asio::io_context& io, std::string path,
                                                                       FunctionPort& function,
                                                                       std::function<void()> before,
                                                                       SocketLimits limits) {
    const auto failure = [&](std::string_view why) { return std::unexpected(fmt::format("{}: {}", path, why)); };
    if (path.size() >= sizeof(sockaddr_un::sun_path))
        return failure(fmt::format("the name of a socket has at most {} bytes", sizeof(sockaddr_un::sun_path) - 1));
    const boost::asio::local::stream_protocol::endpoint endpoint(path);
    error_code error;
    struct stat status{};
    if (::lstat(path.c_str(), &status) == 0) {
        if (!S_ISSOCK(status.st_mode))
            return failure("is there, and is no socket");
        Connection::Socket probe(io);
        probe.connect(endpoint, error);
        if (!error || error == boost::asio::error::try_again)
            return failure("somebody else listens there");
        ::unlink(path.c_str());
    }
    Acceptor acceptor(io);
    acceptor.open(endpoint.protocol(), error);
    // Linux gives the file of a socket the mode that the socket has when it is bound: nobody else's for no moment.
    if (!error && ::fchmod(acceptor.native_handle(), S_IRUSR | S_IWUSR) != 0)
        error.assign(errno, boost::system::system_category());
    if (!error)
        acceptor.bind(endpoint, error);
    if (!error)
        acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
    if (error)
        return failure(error.message());
    std::unique_ptr<Listener> listener(
        new Listener(std::move(acceptor), std::move(path), function, std::move(before), limits));
    listener->accept();
    return listener;
}

Listener::~Listener() { close(); }

void Listener::accept() {
    acceptor_.async_accept([this](error_code error, Connection::Socket socket) {
        if (error == boost::asio::error::operation_aborted || is_closed_)
            return;
        if (error)
            return wait_for_room();
        welcome(std::move(socket));
        accept();
    });
}

/// Without a descriptor for it a client stays where it waits, and the socket is ready all the time: to try again at
/// once would take a whole processor.
void Listener::wait_for_room() {
    room_.expires_after(std::chrono::milliseconds{100});
    room_.async_wait([this](error_code aborted) {
        if (!aborted && !is_closed_)
            accept();
    });
}

void Listener::welcome(Connection::Socket socket) {
    // A hypervisor that starts anew may connect before the end of the old one was noticed.
    if (const auto last = connection_; last && last->is_hung_up())
        last->close("the client has gone");
    if (connection_ || function_.is_resetting()) // until then the registers are those of the client before
        return turn_away(std::move(socket));
    connection_ = std::make_shared<Connection>(std::move(socket), function_, limits_,
                                               Connection::Hooks{before_, [this](std::string_view why) {
                                                                     if (on_disconnect)
                                                                         on_disconnect(why);
                                                                     connection_ = nullptr;
                                                                 }});
    if (on_connect)
        on_connect();
    connection_->start();
}

/// A second client: its first message is answered with EBUSY. Those who say nothing, or come in masses, get no word.
void Listener::turn_away(Connection::Socket socket) {
    struct Guest {
        Connection::Socket socket;
        boost::asio::steady_timer patience;
        std::shared_ptr<unsigned> count;
        Guest(Connection::Socket from, std::shared_ptr<unsigned> waiting)
            : socket(std::move(from)), patience(socket.get_executor()), count(std::move(waiting)) {
            ++*count;
        }
        Guest(const Guest&) = delete;
        Guest& operator=(const Guest&) = delete;
        ~Guest() { --*count; }
    };
    if (*turned_away_ >= most_turned_away)
        return;
    const auto guest = std::make_shared<Guest>(std::move(socket), turned_away_);
    guest->patience.expires_after(limits_.handshake);
    guest->patience.async_wait([guest](error_code aborted) {
        error_code error;
        if (!aborted)
            guest->socket.close(error);
    });
    guest->socket.async_wait(Connection::Socket::wait_read, [guest](error_code error) {
        guest->patience.cancel();
        std::array<std::byte, Header::size> asked{};
        const auto count = error ? -1 : ::recv(guest->socket.native_handle(), asked.data(), asked.size(), MSG_DONTWAIT);
        if (count != static_cast<ssize_t>(asked.size()))
            return;
        const abi::ConstView<Header> header(asked);
        const auto answer = make_error(header.get<"id">(), header.get<"command">(), EBUSY);
        [[maybe_unused]] const auto sent =
            ::send(guest->socket.native_handle(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        // What it has sent and nobody reads would otherwise take the answer with it.
        std::array<std::byte, 4096> rest;
        while (::recv(guest->socket.native_handle(), rest.data(), rest.size(), MSG_DONTWAIT) > 0)
            ;
    });
}

void Listener::look_at_memory() {
    if (const auto connection = connection_; connection && function_.memory().is_broken())
        connection->close("its memory has failed: bus error");
}

void Listener::close() {
    if (std::exchange(is_closed_, true))
        return;
    error_code error;
    acceptor_.close(error);
    room_.cancel();
    ::unlink(path_.c_str());
    if (const auto connection = connection_)
        connection->close("the server ends");
}

} // namespace platform::bridge::vfio_user
