#include "platform/bridge/vfio_user/socket.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace platform::bridge::vfio_user {

using boost::system::error_code;
using model::port::DmaStatus;
using protocol::Command;

namespace {
constexpr std::size_t buffer_bytes = 64 << 10;
/// Receives of one client before others have their turn.
constexpr unsigned receives_at_once = 8;
} // namespace

// --- connection ---

Connection::Connection(Socket socket, FunctionPort& function, const SocketLimits& limits, Hooks hooks)
    : socket_(std::move(socket)), function_(function), limits_(limits), hooks_(std::move(hooks)),
      session_(function, *this), handshake_(socket_.get_executor()), buffer_(buffer_bytes) {}

Connection::~Connection() = default;

void Connection::start() {
    error_code error;
    socket_.non_blocking(true, error);
    function_.set_messages(this);
    handshake_.expires_after(limits_.handshake);
    handshake_.async_wait([weak = weak_from_this()](error_code aborted) {
        if (const auto self = weak.lock(); self && !aborted && !self->session_.is_negotiated())
            self->close("no handshake");
    });
    wait_to_read();
}

void Connection::wait_to_read() {
    socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code error) {
        if (!error && !self->is_ended_)
            self->on_readable();
    });
}

void Connection::on_readable() {
    hooks_.before();
    is_inside_ = true;
    for (unsigned i = 0; i < receives_at_once && fault().empty(); ++i) {
        const auto received = receive_once();
        if (received == Received::end)
            fail("the client has gone");
        if (received != Received::some)
            break;
    }
    is_inside_ = false;
    end_if_faulty();
    if (!is_ended_)
        wait_to_read();
}

Connection::Received Connection::receive_once() {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(max_descriptors * sizeof(int))> control;
    iovec part{buffer_.data(), buffer_.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const auto count = ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0)
        return errno == EAGAIN || errno == EINTR ? Received::nothing : Received::end;
    std::vector<Descriptor> files;
    for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        const auto files_here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < files_here; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
            files.emplace_back(number);
        }
    }
    if (count == 0)
        return Received::end;
    if ((message.msg_flags & MSG_CTRUNC) != 0) {
        fail(fmt::format("more than {} descriptors with one message", max_descriptors));
        return Received::some;
    }
    session_.receive(std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(count)), std::move(files));
    return Received::some;
}

// --- to the client ---

void Connection::send(std::vector<std::byte> message, int file) {
    if (!fault_.empty())
        return;
    unsent_bytes_ += message.size();
    unsent_.push_back({std::move(message), file});
    flush();
    if (unsent_bytes_ > limits_.unread_bytes)
        fail(fmt::format("the client does not read: {} bytes wait for it", unsent_bytes_));
    else if (!unsent_.empty())
        wait_to_write();
}

/// Sends what the socket takes. A header goes out in one piece: the socket takes all of a message this short or nothing.
void Connection::flush() {
    while (!unsent_.empty()) {
        const auto count = send_some();
        if (count < 0) {
            if (errno != EAGAIN && errno != EINTR)
                fail("the client has gone");
            return;
        }
        sent_of_first_ += static_cast<std::size_t>(count);
        unsent_bytes_ -= static_cast<std::size_t>(count);
        if (sent_of_first_ < unsent_.front().message.size())
            return;
        unsent_.pop_front();
        sent_of_first_ = 0;
    }
}

/// What the socket takes of the first message; its descriptor goes with the first byte.
ssize_t Connection::send_some() {
    const auto rest = std::span(unsent_.front().message).subspan(sent_of_first_);
    const int file = unsent_.front().file;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof file)> control{};
    iovec part{rest.data(), rest.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (file >= 0 && sent_of_first_ == 0) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        auto* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof file);
        std::memcpy(CMSG_DATA(header), &file, sizeof file);
    }
    return ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Connection::wait_to_write() {
    if (std::exchange(is_waiting_to_write_, true))
        return;
    socket_.async_wait(Socket::wait_write, [self = shared_from_this()](error_code error) {
        self->is_waiting_to_write_ = false;
        if (error || self->is_ended_)
            return;
        self->flush();
        self->end_if_faulty();
        if (!self->is_ended_ && !self->unsent_.empty())
            self->wait_to_write();
    });
}

// --- memory by messages ---

DmaStatus Connection::read(std::uint64_t address, std::span<std::byte> into) {
    while (!into.empty()) {
        const auto count = std::min<std::uint64_t>({into.size(), max_transfer, session_.client().max_transfer});
        if (count == 0 || !fault().empty())
            return DmaStatus::unsupported_request;
        session_.begin_exchange(Command::dma_read, address, count, {});
        if (!wait_for_exchange())
            return DmaStatus::timeout;
        const auto data = session_.end_exchange();
        if (!data)
            return DmaStatus::unsupported_request;
        std::ranges::copy(*data, into.begin());
        address += count;
        into = into.subspan(count);
    }
    return DmaStatus::ok;
}

DmaStatus Connection::write(std::uint64_t address, std::span<const std::byte> from) {
    while (!from.empty()) {
        const auto count = std::min<std::uint64_t>({from.size(), max_transfer, session_.client().max_transfer});
        if (count == 0 || !fault().empty())
            return DmaStatus::unsupported_request;
        session_.begin_exchange(Command::dma_write, address, count, from.first(count));
        if (!wait_for_exchange())
            return DmaStatus::timeout;
        if (!session_.end_exchange())
            return DmaStatus::unsupported_request;
        address += count;
        from = from.subspan(count);
    }
    return DmaStatus::ok;
}

/// Serves this client, and nobody else, until it has answered.
bool Connection::wait_for_exchange() {
    const auto deadline = std::chrono::steady_clock::now() + limits_.memory_reply;
    put_off_rest();
    while (!session_.is_exchange_over() && fault().empty()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline -
                                                                                std::chrono::steady_clock::now());
        pollfd ready{socket_.native_handle(), static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
        if (left.count() <= 0) {
            fail("no answer to a request for memory");
            break;
        }
        if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0)
            continue;
        if ((ready.revents & POLLOUT) != 0)
            flush();
        if ((ready.revents & ~POLLOUT) != 0 && receive_once() == Received::end)
            fail("the client has gone");
    }
    if (fault().empty())
        return true;
    session_.end_exchange();
    return false;
}

/// When the device works at no command of this client's, writes that came meanwhile are done from the loop.
void Connection::put_off_rest() {
    if (is_inside_ || std::exchange(is_rest_put_off_, true))
        return;
    boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
        self->is_rest_put_off_ = false;
        if (self->is_ended_)
            return;
        self->is_inside_ = true;
        self->session_.catch_up();
        self->is_inside_ = false;
        self->end_if_faulty();
    });
}

// --- the end ---

void Connection::fail(std::string_view why) {
    if (fault_.empty())
        fault_ = why;
    if (is_inside_)
        return;
    boost::asio::post(socket_.get_executor(), [self = shared_from_this()] { self->end_if_faulty(); });
}

void Connection::close(std::string_view why) {
    if (fault_.empty())
        fault_ = why;
    end_if_faulty();
}

void Connection::end_if_faulty() {
    if (fault().empty() || is_inside_ || is_ended_)
        return;
    is_ended_ = true;
    flush(); // the last refusal may still reach it
    handshake_.cancel();
    error_code error;
    socket_.close(error);
    function_.set_messages(nullptr);
    function_.disconnect();
    const auto self = shared_from_this();
    hooks_.ended(fault());
}

// --- listener ---

std::expected<std::unique_ptr<Listener>, std::string>
Listener::create(boost::asio::io_context& io, std::string path, FunctionPort& function, std::function<void()> before,
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
            return accept();
        connection_ = std::make_shared<Connection>(
            std::move(socket), function_, limits_,
            Connection::Hooks{before_, [this](std::string_view why) {
                                  if (on_disconnect)
                                      on_disconnect(why);
                                  connection_ = nullptr;
                                  if (!is_closed_)
                                      accept(); // the next one, who may have been waiting
                              }});
        if (on_connect)
            on_connect();
        connection_->start();
    });
}

void Listener::close() {
    if (std::exchange(is_closed_, true))
        return;
    error_code error;
    acceptor_.close(error);
    ::unlink(path_.c_str());
    if (const auto connection = connection_)
        connection->close("the server ends");
}

} // namespace platform::bridge::vfio_user
