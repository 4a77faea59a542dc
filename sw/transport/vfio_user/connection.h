// The client's end of a vfio-user connection: the version handshake, commands with their replies, posted commands, and
// what the server asks of us. Whatever the server does wrong ends the connection, since nothing that follows could be
// trusted to mean what it says; a refusal does not. vfio-user 0.9.2.
#pragma once

#include "abi/vfio_user/message.h"
#include "sw/base/result.h"
#include "sw/transport/vfio_user/socket.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sw::transport::vfio_user {

namespace protocol = abi::vfio_user;

struct Options {
    std::chrono::milliseconds patience{10'000}; ///< for an answer; a server that takes longer is taken for dead
    bool posted_writes = true;                  ///< writes of BARs ask for no reply
};

/// What a command got. The body is without the header.
struct Reply {
    std::vector<std::byte> body;
    std::vector<File> files;
};

class Connection {
public:
    /// Shakes hands. `name` is what errors call the server.
    static Result<std::unique_ptr<Connection>> open(Socket socket, std::string name, const Options& options);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Sends a command and waits for its reply: `fixed` bytes of body, or more. An error is the server's refusal
    /// (is_alive() stays true), or the end of the connection.
    Result<Reply> ask(protocol::Command command, std::span<const std::byte> body, std::size_t fixed = 0,
                      std::span<const int> files = {}, std::span<const std::byte> data = {});
    /// Sends a command that gets no reply.
    void post(protocol::Command command, std::span<const std::byte> body, std::span<const std::byte> data);
    /// Answers what the server has asked meanwhile, and notices when it has gone. Waits for nothing.
    void look();

    bool is_alive() const { return is_alive_; }
    /// Why it is not.
    const Error& fault() const { return fault_; }
    const std::string& name() const { return name_; }
    /// Bytes of a region access.
    std::uint32_t max_transfer() const { return max_transfer_; }
    /// Descriptors of a message.
    std::uint32_t max_files() const { return max_files_; }
    int file() const { return socket_.number(); }

    /// Our memory by the device's addresses, for a server that asks instead of mapping: empty where there is none.
    std::function<std::span<std::byte>(std::uint64_t address, std::uint64_t size)> memory;

private:
    Connection(Socket socket, std::string name, const Options& options)
        : socket_(std::move(socket)), name_(std::move(name)), options_(options) {}
    Result<void> negotiate();
    struct Message {
        abi::Block<protocol::Header> header;
        std::vector<std::byte> body;
        std::vector<File> files;
    };
    Result<Message> receive(Socket::Clock::time_point deadline);
    Result<void> send(std::uint16_t id, protocol::Command command, protocol::MessageType type, std::uint32_t error,
                      bool is_posted, std::span<const std::byte> body, std::span<const int> files,
                      std::span<const std::byte> data);
    Result<void> serve(const Message& request);
    std::unexpected<Error> die(Error error, protocol::Command command);

    Socket socket_;
    std::string name_;
    Options options_;
    std::uint16_t next_id_ = 0;
    std::uint32_t max_transfer_ = protocol::default_max_transfer, max_files_ = protocol::default_max_descriptors;
    bool is_alive_ = true;
    Error fault_;
};

} // namespace sw::transport::vfio_user
