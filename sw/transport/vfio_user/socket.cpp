#include "sw/transport/vfio_user/socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

namespace sw::transport::vfio_user {

namespace {
std::unexpected<Error> socket_failure(const char* what) {
    if (errno == EPIPE || errno == ECONNRESET)
        return failure(ECONNRESET, "the server has closed the connection");
    return system_failure(what);
}
} // namespace

Result<Socket> Socket::connect(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return failure(ENAMETOOLONG,
                       "the name of a socket has at most " + std::to_string(sizeof address.sun_path - 1) + " bytes");
    path.copy(address.sun_path, path.size());
    File file(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!file)
        return system_failure("make a socket");
    if (::connect(file.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return system_failure("connect");
    return Socket(std::move(file));
}

bool Socket::is_readable() const {
    pollfd ready{file_.number(), POLLIN, 0};
    return !received_.empty() || ::poll(&ready, 1, 0) > 0;
}

Result<void> Socket::wait(short events, Clock::time_point deadline) const {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd ready{file_.number(), events, 0};
        const int count = ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
        if (count > 0)
            return {};
        if (count < 0 && errno != EINTR)
            return system_failure("wait for the server");
        if (Clock::now() >= deadline)
            return failure(ETIMEDOUT, "the server does not answer in time");
    }
}

Result<void> Socket::send(std::span<const std::byte> head, std::span<const std::byte> body, std::span<const int> files,
                          Clock::time_point deadline) {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(max_files * sizeof(int))> control{};
    std::array parts{iovec{const_cast<std::byte*>(head.data()), head.size()},
                     iovec{const_cast<std::byte*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    if (!files.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(files.size_bytes());
        auto* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(files.size_bytes());
        std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
    }
    for (auto left = head.size() + body.size(); left != 0;) {
        const auto count = ::sendmsg(file_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0) {
            if (errno == EAGAIN) {
                if (auto waited = wait(POLLOUT, deadline); !waited)
                    return waited;
            } else if (errno != EINTR)
                return socket_failure("send to the server");
            continue;
        }
        message.msg_control = nullptr;
        message.msg_controllen = 0;
        left -= static_cast<std::size_t>(count);
        for (auto taken = static_cast<std::size_t>(count); auto& part : parts) {
            const auto here = std::min(taken, part.iov_len);
            part.iov_base = static_cast<std::byte*>(part.iov_base) + here;
            part.iov_len -= here;
            taken -= here;
        }
    }
    return {};
}

/// One receive into the empty buffer: at least a byte, or nothing when there is nothing yet.
Result<std::size_t> Socket::fill(std::vector<File>& files) {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(max_files * sizeof(int))> control;
    iovec part{buffer_.data(), buffer_.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const auto count = ::recvmsg(file_.number(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count == 0)
        errno = ECONNRESET;
    if (count <= 0) {
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        return socket_failure("receive from the server");
    }
    for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t i = 0; i < (header->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
            files.emplace_back(number);
        }
    }
    if ((message.msg_flags & MSG_CTRUNC) != 0)
        return failure(EPROTO, "the server sends more than " + std::to_string(max_files) + " descriptors at once");
    received_ = std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(count));
    return static_cast<std::size_t>(count);
}

Result<void> Socket::receive(std::span<std::byte> into, std::vector<File>& files, Clock::time_point deadline) {
    while (!into.empty()) {
        if (received_.empty()) {
            const auto count = fill(received_files_);
            if (!count)
                return std::unexpected(count.error());
            if (*count == 0)
                if (auto waited = wait(POLLIN, deadline); !waited)
                    return waited;
            continue;
        }
        const auto length = std::min(into.size(), received_.size());
        std::ranges::copy(received_.first(length), into.begin());
        into = into.subspan(length);
        received_ = received_.subspan(length);
        // The kernel hands out no bytes behind those that descriptors came with: they belong to the last message.
        if (received_.empty())
            std::ranges::move(std::exchange(received_files_, {}), std::back_inserter(files));
    }
    return {};
}

} // namespace sw::transport::vfio_user
