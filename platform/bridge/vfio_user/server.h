// All functions of the served machines of a platform, each on a socket of its own in one directory; and what a person
// needs to attach QEMU to them. Owns the sockets; the modules are the platform's and the loop is the caller's.
#pragma once

#include "platform/bridge/vfio_user/guest_module.h"
#include "platform/bridge/vfio_user/listener.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace platform::bridge::vfio_user {

class Server {
public:
    struct Hooks {
        std::function<void()> before = [] {}; ///< each handler
        std::function<void(const FunctionPort&)> connected = [](const auto&) {};
        std::function<void(const FunctionPort&, std::string_view why)> disconnected = [](const auto&, auto) {};
    };

    /// Creates `directory`/NAME.sock for each function of `guests`, for nobody but this user. The directory must be one
    /// in which others cannot put sockets of their own. The error says path and reason; nothing is left then.
    static std::expected<std::unique_ptr<Server>, std::string> create(boost::asio::io_context& io,
                                                                      std::span<GuestModule* const> guests,
                                                                      const std::string& directory, Hooks hooks,
                                                                      SocketLimits limits = {});
    const std::vector<std::unique_ptr<Listener>>& listeners() const { return listeners_; }
    /// Ends all connections and removes the sockets.
    void close();

private:
    void watch_memory(FileMappings& files, boost::asio::io_context& io);
    void wait_for_fault();

    std::vector<std::unique_ptr<Listener>> listeners_;
    std::optional<boost::asio::posix::stream_descriptor> faults_;
};

/// Arguments of QEMU that attach the function behind `socket` as its device number `number` (1, 2, ...).
std::string print_qemu_device(std::string_view socket, unsigned number);
/// Arguments of QEMU that make the guest's memory reachable for devices.
std::string print_qemu_memory(std::string_view size);

} // namespace platform::bridge::vfio_user
