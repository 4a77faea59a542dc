#include "platform/bridge/vfio_user/server.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

namespace platform::bridge::vfio_user {

namespace {
/// How long QEMU waits for an answer, in milliseconds: longer than its own default, for debuggers and loaded machines.
constexpr unsigned message_timeout = 30'000;
} // namespace

std::expected<std::unique_ptr<Server>, std::string> Server::create(boost::asio::io_context& io,
                                                                   std::span<GuestModule* const> guests,
                                                                   const std::string& directory, Hooks hooks,
                                                                   SocketLimits limits) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error)
        return std::unexpected(fmt::format("{}: {}", directory, error.message()));
    auto server = std::make_unique<Server>();
    for (auto* guest : guests)
        for (std::size_t i = 0; i < guest->function_count(); ++i) {
            auto& function = guest->function(i);
            const auto path = (std::filesystem::absolute(directory) / (function.name() + ".sock")).string();
            auto listener = Listener::create(io, path, function, hooks.before, limits);
            if (!listener)
                return std::unexpected(listener.error());
            (*listener)->on_connect = [&function, hooks] { hooks.connected(function); };
            (*listener)->on_disconnect = [&function, hooks](std::string_view why) { hooks.disconnected(function, why); };
            server->listeners_.push_back(std::move(*listener));
        }
    return server;
}

void Server::close() {
    for (const auto& listener : listeners_)
        listener->close();
}

std::string print_qemu_memory(std::string_view size) {
    return fmt::format("-m {0} -object memory-backend-memfd,id=mem,size={0},share=on -machine q35,memory-backend=mem", size);
}

std::string print_qemu_device(std::string_view socket, unsigned number) {
    return fmt::format("-device pcie-root-port,id=rp{0},chassis={0},slot={0} "
                       "-device '{{\"driver\":\"vfio-user-pci\",\"bus\":\"rp{0}\",\"x-msg-timeout\":{1},"
                       "\"socket\":{{\"type\":\"unix\",\"path\":\"{2}\"}}}}'",
                       number, message_timeout, socket);
}

} // namespace platform::bridge::vfio_user
