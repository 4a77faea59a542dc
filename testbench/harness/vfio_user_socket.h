// A vfio-user client on a real local socket, for tests: blocking, with a deadline, one message at a time.
#pragma once

#include "testbench/harness/vfio_user_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace testbench::vfio_user {

class ClientSocket {
public:
    /// `serve` lets the server work when it lives in the same thread; it is called while an answer is awaited.
    explicit ClientSocket(const std::string& path, std::function<void()> serve = {}) : serve_(std::move(serve)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        file_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        is_connected_ = ::connect(file_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    ~ClientSocket() { close(); }
    ClientSocket(const ClientSocket&) = delete;
    ClientSocket& operator=(const ClientSocket&) = delete;

    bool is_connected() const { return is_connected_; }
    int file() const { return file_; }
    void close() {
        if (file_ >= 0)
            ::close(std::exchange(file_, -1));
    }

    bool send(std::span<const std::byte> bytes, std::span<const int> files = {}) {
        iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(32 * sizeof(int))> control{};
        if (!files.empty()) {
            message.msg_control = control.data();
            message.msg_controllen = CMSG_SPACE(files.size_bytes());
            auto* header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(files.size_bytes());
            std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
        }
        return ::sendmsg(file_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
    }

    /// The next message; nothing when the server has ended the connection, or says nothing for a second.
    std::optional<Bytes> receive() {
        Bytes out(Header::size);
        if (!fill(out))
            return {};
        const auto size = header_of(out).get<"size">();
        out.resize(size);
        if (!fill(std::span(out).subspan(Header::size)))
            return {};
        return out;
    }
    std::optional<Bytes> ask(std::span<const std::byte> message, std::span<const int> files = {}) {
        if (!send(message, files))
            return {};
        return receive();
    }
    /// Whether the server has ended the connection.
    bool is_over() {
        for (unsigned tries = 0; tries < 1000; ++tries) {
            std::byte one;
            if (wait(1) && ::recv(file_, &one, 1, MSG_DONTWAIT) <= 0)
                return true;
        }
        return false;
    }

private:
    bool wait(int milliseconds) {
        if (serve_)
            serve_();
        pollfd ready{file_, POLLIN, 0};
        return ::poll(&ready, 1, milliseconds) > 0;
    }
    bool fill(std::span<std::byte> into) {
        for (unsigned tries = 0; !into.empty() && tries < 1000; ++tries) {
            if (!wait(1))
                continue;
            const auto count = ::recv(file_, into.data(), into.size(), MSG_DONTWAIT);
            if (count == 0 || (count < 0 && errno != EAGAIN))
                return false;
            if (count > 0)
                into = into.subspan(static_cast<std::size_t>(count));
        }
        return into.empty();
    }

    std::function<void()> serve_;
    int file_ = -1;
    bool is_connected_ = false;
};

} // namespace testbench::vfio_user
