#include "platform/bridge/vfio_user/socket.h"

#include <boost/asio/post.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <optional>

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
      session_(function, *this), handshake_(socket_.get_executor()), rest_(socket_.get_executor()),
      reply_(socket_.get_executor()), buffer_(buffer_bytes) {}

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
    const auto until = Clock::now() + limits_.turn;
    bool is_all_taken = take_messages(until); // of what had come before
    for (unsigned i = 0; i < receives_at_once && is_all_taken && fault().empty(); ++i) {
        const auto received = receive_once();
        if (received == Received::end)
            fail("the client has gone");
        if (received != Received::some)
            break;
        is_all_taken = take_messages(until);
    }
    session_.work();
    answered_.notify(); // perhaps; who waits looks
    is_inside_ = false;
    end_if_faulty();
    if (is_ended_)
        return;
    if (!is_all_taken)
        return boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
            if (!self->is_ended_)
                self->on_readable();
        });
    watch_rest();
    wait_to_read();
}

/// False when the time was over before the messages.
bool Connection::take_messages(Clock::time_point until) {
    while (session_.step())
        if (Clock::now() >= until)
            return false;
    return true;
}

/// Nobody keeps a function with half a message.
void Connection::watch_rest() {
    const auto number = session_.unfinished() != 0 ? session_.counters().messages + 1 : 0;
    if (std::exchange(rest_of_, number) == number)
        return;
    rest_.cancel();
    if (number == 0)
        return;
    rest_.expires_after(limits_.message);
    rest_.async_wait([weak = weak_from_this(), number](error_code aborted) {
        if (const auto self = weak.lock(); self && !aborted && self->rest_of_ == number)
            self->close("the rest of a message does not come");
    });
}

bool Connection::is_hung_up() {
    pollfd end{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
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
    session_.append(std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(count)), std::move(files));
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

/// Sends what the socket takes. A header goes out in one piece: the socket takes all of a message this short or
/// nothing.
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

/// One access, which may take several messages. It runs in the calling process, with one deadline for all messages. A
/// second access waits for its turn, and its time begins then.
class Connection::Access {
public:
    explicit Access(Connection& connection)
        : connection_(connection.shared_from_this()), hold_(connection.accesses_),
          deadline_(Clock::now() + connection.limits_.memory_reply) {
        assert(model::tlm::is_in_thread() && "memory by messages is waited for in a process");
        connection.reply_.expires_at(deadline_);
        connection.reply_.async_wait([weak = connection.weak_from_this()](error_code aborted) {
            if (const auto self = weak.lock(); self && !aborted)
                self->answered_.notify();
        });
    }
    ~Access() { connection_->reply_.cancel(); }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

    /// Bytes of the next message; 0: no message can be sent.
    std::uint64_t next(std::uint64_t left) const {
        const auto most = std::min<std::uint64_t>(max_transfer, connection_->session_.client().max_transfer);
        return connection_->fault().empty() ? std::min(left, most) : 0;
    }
    /// Sends it and waits. The answer's data; nothing and a status when there is none.
    std::optional<std::vector<std::byte>> exchange(Command command, std::uint64_t address, std::uint64_t count,
                                                   std::span<const std::byte> data) {
        auto& session = connection_->session_;
        session.begin_exchange(command, address, count, data);
        while (!session.is_exchange_over()) {
            if (Clock::now() >= deadline_) {
                session.abandon_exchange();
                break;
            }
            sc_core::wait(connection_->answered_);
        }
        is_answered_ = session.has_exchange() && connection_->fault().empty();
        return session.end_exchange();
    }
    DmaStatus refusal() const { return is_answered_ ? DmaStatus::unsupported_request : DmaStatus::timeout; }

private:
    std::shared_ptr<Connection> connection_;
    model::tlm::Turn::Hold hold_;
    Clock::time_point deadline_;
    bool is_answered_ = true;
};

DmaStatus Connection::read(std::uint64_t address, std::span<std::byte> into) {
    Access access(*this);
    while (!into.empty()) {
        const auto count = access.next(into.size());
        const auto data = count != 0 ? access.exchange(Command::dma_read, address, count, {}) : std::nullopt;
        if (!data)
            return access.refusal();
        std::ranges::copy(*data, into.begin());
        address += count;
        into = into.subspan(count);
    }
    return DmaStatus::ok;
}

DmaStatus Connection::write(std::uint64_t address, std::span<const std::byte> from) {
    Access access(*this);
    while (!from.empty()) {
        const auto count = access.next(from.size());
        if (count == 0 || !access.exchange(Command::dma_write, address, count, from.first(count)))
            return access.refusal();
        address += count;
        from = from.subspan(count);
    }
    return DmaStatus::ok;
}

void Connection::abandon() {
    session_.abandon_exchange();
    answered_.notify();
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
    rest_.cancel();
    abandon(); // who waits for an answer gets none
    error_code error;
    socket_.close(error);
    function_.set_messages(nullptr);
    function_.disconnect();
    const auto self = shared_from_this();
    hooks_.ended(fault());
}

} // namespace platform::bridge::vfio_user
