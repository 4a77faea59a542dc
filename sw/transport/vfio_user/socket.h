// A connected local socket that carries messages and descriptors: blocking, with a time limit on everything. Knows no
// message; the caller says how many bytes it waits for.
#pragma once

#include "sw/base/result.h"
#include "sw/transport/file.h"

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sw::transport::vfio_user {

class Socket {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t max_files = 16; ///< of one message

    static Result<Socket> connect(const std::string& path);
    /// Takes one end of a pair.
    explicit Socket(File file) : file_(std::move(file)) {}

    /// All of `head` and `body`, in one piece where the kernel takes it; descriptors go with the first byte.
    Result<void> send(std::span<const std::byte> head, std::span<const std::byte> body, std::span<const int> files,
                      Clock::time_point deadline);
    /// Fills `into`. Descriptors that come with the bytes are added to `files`.
    Result<void> receive(std::span<std::byte> into, std::vector<File>& files, Clock::time_point deadline);
    /// Whether there is something to receive, or the peer has gone. Waits for nothing.
    bool is_readable() const;
    int number() const { return file_.number(); }
    void close() { file_.close(); }

private:
    Result<std::size_t> fill(std::vector<File>& files);
    Result<void> wait(short events, Clock::time_point deadline) const;

    static constexpr std::size_t buffer_bytes = 64 << 10;
    File file_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(buffer_bytes);
    std::span<const std::byte> received_; ///< of buffer_, not yet taken
    std::vector<File> received_files_;    ///< that came with the last of received_
};

} // namespace sw::transport::vfio_user
