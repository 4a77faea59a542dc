#include "sw/transport/vfio_user/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace sw::transport::vfio_user {

using protocol::Command;
using protocol::Header;
using protocol::MessageType;

namespace {

/// The longest message that means something, with room for what a server may add to it.
constexpr std::uint32_t max_message = protocol::default_max_transfer + 4096;

std::string name_of(Command command) {
    const auto text = abi::vfio_user::name(command);
    return text.empty() ? fmt::format("command {}", static_cast<unsigned>(command)) : std::string(text);
}

/// The number behind "name": in the server's capabilities; all we want of them are numbers, and no name is a part of
/// another's.
std::optional<std::uint64_t> find_number(std::string_view json, std::string_view name) {
    auto at = json.find(fmt::format("\"{}\"", name));
    if (at == std::string_view::npos)
        return {};
    at = json.find_first_not_of(": \t\r\n", at + name.size() + 2);
    std::uint64_t value = 0;
    if (at == std::string_view::npos ||
        std::from_chars(json.data() + at, json.data() + json.size(), value).ec != std::errc{})
        return {};
    return value;
}

} // namespace

Result<std::unique_ptr<Connection>> Connection::open(Socket socket, std::string name, const Options& options) {
    std::unique_ptr<Connection> connection(new Connection(std::move(socket), std::move(name), options));
    if (auto agreed = connection->negotiate(); !agreed)
        return std::unexpected(agreed.error());
    return connection;
}

Result<void> Connection::negotiate() {
    using protocol::Version;
    const auto ours = fmt::format("{{\"capabilities\":{{\"max_msg_fds\":{},\"max_data_xfer_size\":{}}}}}",
                                  Socket::max_files, protocol::default_max_transfer);
    std::vector<std::byte> body(Version::size + ours.size() + 1);
    abi::View<Version>(std::span(body)).set<"major">(protocol::major_version).set<"minor">(protocol::minor_version);
    std::memcpy(body.data() + Version::size, ours.data(), ours.size());
    const auto reply = ask(Command::version, body, Version::size);
    if (!reply)
        return std::unexpected(reply.error());
    const abi::ConstView<Version> version{std::span(reply->body)};
    if (version.get<"major">() != protocol::major_version)
        return die(
            {EPROTONOSUPPORT, fmt::format("the server speaks version {}.{}, we speak {}.{}", version.get<"major">(),
                                          version.get<"minor">(), protocol::major_version, protocol::minor_version)},
            Command::version);
    const auto text = std::span(reply->body).subspan(Version::size);
    const std::string_view json(reinterpret_cast<const char*>(text.data()), text.size());
    max_transfer_ = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(find_number(json, "max_data_xfer_size").value_or(protocol::default_max_transfer),
                                protocol::default_max_transfer));
    max_files_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        find_number(json, "max_msg_fds").value_or(protocol::default_max_descriptors), Socket::max_files));
    if (max_transfer_ < sizeof(std::uint64_t))
        return die({EPROTO, fmt::format("the server moves at most {} bytes at once, a register has 8", max_transfer_)},
                   Command::version);
    return {};
}

std::unexpected<Error> Connection::die(Error error, Command command) {
    if (is_alive_) {
        is_alive_ = false;
        fault_ = {error.code,
                  fmt::format("{}: {}: {}; the connection is over, start the server again and open the function anew",
                              name_, name_of(command), error.what)};
        socket_.close();
    }
    return std::unexpected(fault_);
}

Result<void> Connection::send(std::uint16_t id, Command command, MessageType type, std::uint32_t error, bool is_posted,
                              std::span<const std::byte> body, std::span<const int> files,
                              std::span<const std::byte> data) {
    std::array<std::byte, Header::size + 64> head{};
    const auto fixed = std::min<std::size_t>(body.size(), head.size() - Header::size);
    abi::View<Header>(std::span(head).first<Header::size>())
        .set<"id">(id)
        .set<"command">(command)
        .set<"size">(static_cast<std::uint32_t>(Header::size + body.size() + data.size()))
        .set<"type">(type)
        .set<"no_reply">(is_posted)
        .set<"is_error">(error != 0)
        .set<"error">(error);
    std::ranges::copy(body.first(fixed), head.begin() + Header::size);
    const auto whole = std::span(head).first(Header::size + fixed);
    const auto deadline = Socket::Clock::now() + options_.patience;
    if (fixed == body.size())
        return socket_.send(whole, data, files, deadline);
    if (auto sent = socket_.send(whole, body.subspan(fixed), files, deadline); !sent || data.empty())
        return sent;
    return socket_.send(data, {}, {}, deadline);
}

Result<Connection::Message> Connection::receive(Socket::Clock::time_point deadline) {
    Message message;
    if (auto header = socket_.receive(message.header.bytes, message.files, deadline); !header)
        return std::unexpected(header.error());
    const auto size = message.header.view().get<"size">();
    if (size < Header::size || size > max_message)
        return failure(EPROTO, fmt::format("the server sends a message of {} bytes, {} to {} are possible", size,
                                           Header::size, max_message));
    message.body.resize(size - Header::size);
    if (auto body = socket_.receive(message.body, message.files, deadline); !body)
        return std::unexpected(body.error());
    return message;
}

Result<Reply> Connection::ask(Command command, std::span<const std::byte> body, std::size_t fixed,
                              std::span<const int> files, std::span<const std::byte> data) {
    if (!is_alive_)
        return std::unexpected(fault_);
    const auto id = next_id_++;
    if (auto sent = send(id, command, MessageType::command, 0, false, body, files, data); !sent)
        return die(sent.error(), command);
    const auto deadline = Socket::Clock::now() + options_.patience;
    for (;;) {
        auto message = receive(deadline);
        if (!message)
            return die(message.error(), command);
        const auto header = message->header.view();
        if (header.get<"type">() == MessageType::command) {
            if (auto served = serve(*message); !served)
                return die(served.error(), command);
            continue;
        }
        if (header.get<"type">() != MessageType::reply || header.get<"id">() != id ||
            header.get<"command">() != command)
            return die({EPROTO, fmt::format("the server answers number {} ({}), asked was number {}",
                                            header.get<"id">(), name_of(header.get<"command">()), id)},
                       command);
        if (header.get<"is_error">()) {
            const auto code = static_cast<int>(header.get<"error">());
            return failure(code != 0 ? code : EIO,
                           fmt::format("{}: the server refuses {}: {}", name_, name_of(command), std::strerror(code)));
        }
        if (message->body.size() < fixed)
            return die({EPROTO, fmt::format("the server's answer has {} bytes, {} at least are needed",
                                            message->body.size(), fixed)},
                       command);
        return Reply{std::move(message->body), std::move(message->files)};
    }
}

void Connection::post(Command command, std::span<const std::byte> body, std::span<const std::byte> data) {
    if (!is_alive_)
        return;
    if (auto sent = send(next_id_++, command, MessageType::command, 0, true, body, {}, data); !sent)
        (void)die(sent.error(), command);
}

void Connection::look() {
    while (is_alive_ && socket_.is_readable()) {
        auto message = receive(Socket::Clock::now() + options_.patience);
        Result<void> served =
            std::unexpected(message ? Error{EPROTO, "the server answers nothing that was asked"} : message.error());
        if (message && message->header.view().get<"type">() == MessageType::command)
            served = serve(*message);
        if (!served)
            (void)die(served.error(), message ? message->header.view().get<"command">() : Command::dma_read);
    }
}

/// Memory that the server asks for or hands over by a message.
Result<void> Connection::serve(const Message& request) {
    using protocol::DmaAccess;
    const auto header = request.header.view();
    const auto id = header.get<"id">();
    const auto command = header.get<"command">();
    const auto refuse = [&](int error) {
        return send(id, command, MessageType::reply, static_cast<std::uint32_t>(error), false, {}, {}, {});
    };
    const bool is_write = command == Command::dma_write;
    if (!is_write && command != Command::dma_read)
        return refuse(ENOTSUP);
    if (request.body.size() < DmaAccess::size)
        return refuse(EINVAL);
    const auto fixed = std::span(request.body).first(DmaAccess::size);
    const auto data = std::span(request.body).subspan(DmaAccess::size);
    const abi::ConstView<DmaAccess> access{std::span<const std::byte>(fixed)};
    const auto count = access.get<"count">();
    if (count > protocol::default_max_transfer || data.size() != (is_write ? count : 0))
        return refuse(EINVAL);
    const auto ours = memory ? memory(access.get<"address">(), count) : std::span<std::byte>{};
    if (ours.size() != count)
        return refuse(EFAULT);
    if (!is_write)
        return send(id, command, MessageType::reply, 0, false, fixed, {}, ours);
    std::ranges::copy(data, ours.begin());
    return header.get<"no_reply">() ? Result<void>{} : send(id, command, MessageType::reply, 0, false, fixed, {}, {});
}

} // namespace sw::transport::vfio_user
