#include "platform/bridge/vfio_user/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace platform::bridge::vfio_user {

namespace {
/// How long QEMU waits for an answer, in milliseconds: longer than its own default, for debuggers and loaded machines.
constexpr unsigned message_timeout = 30'000;

/// Who may put a socket of his own in the place of ours; empty: nobody.
std::string find_stranger(const std::string& directory) {
    struct stat status{};
    if (::stat(directory.c_str(), &status) != 0)
        return std::generic_category().message(errno);
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
        return fmt::format("belongs to user {}, who could put his own sockets there", status.st_uid);
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0)
        return fmt::format("others may write there (mode {:o}) and could put their own sockets there; chmod go-w",
                           status.st_mode & 07777);
    return {};
}
} // namespace

std::expected<std::unique_ptr<Server>, std::string> Server::create(boost::asio::io_context& io,
                                                                   std::span<GuestModule* const> guests,
                                                                   const std::string& directory, Hooks hooks,
                                                                   SocketLimits limits) {
    std::error_code error;
    if (std::filesystem::create_directories(directory, error) && !error)
        std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
    if (error)
        return std::unexpected(fmt::format("{}: {}", directory, error.message()));
    if (const auto why = find_stranger(directory); !why.empty())
        return std::unexpected(fmt::format("{}: {}", directory, why));
    auto server = std::make_unique<Server>();
    for (auto* guest : guests)
        for (std::size_t i = 0; i < guest->function_count(); ++i) {
            auto& function = guest->function(i);
            const auto path = (std::filesystem::absolute(directory) / (function.name() + ".sock")).string();
            auto listener = Listener::create(io, path, function, hooks.before, limits);
            if (!listener)
                return std::unexpected(listener.error());
            (*listener)->on_connect = [&function, hooks] { hooks.connected(function); };
            (*listener)->on_disconnect = [&function, hooks](std::string_view why) {
                hooks.disconnected(function, why);
            };
            server->listeners_.push_back(std::move(*listener));
        }
    if (!guests.empty())
        server->watch_memory(guests.front()->files(), io);
    return server;
}

void Server::watch_memory(FileMappings& files, boost::asio::io_context& io) {
    faults_.emplace(io, ::fcntl(files.fault_file(), F_DUPFD_CLOEXEC, 0));
    wait_for_fault();
}

void Server::wait_for_fault() {
    faults_->async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
        if (error)
            return;
        std::uint64_t count = 0;
        [[maybe_unused]] const auto taken = ::read(faults_->native_handle(), &count, sizeof count);
        for (const auto& listener : listeners_)
            listener->look_at_memory();
        wait_for_fault();
    });
}

void Server::close() {
    boost::system::error_code error;
    if (faults_)
        faults_->close(error);
    for (const auto& listener : listeners_)
        listener->close();
}

std::string print_qemu_memory(std::string_view size) {
    return fmt::format("-m {0} -object memory-backend-memfd,id=mem,size={0},share=on -machine q35,memory-backend=mem",
                       size);
}

std::string print_qemu_device(std::string_view socket, unsigned number) {
    return fmt::format("-device pcie-root-port,id=rp{0},chassis={0},slot={0} "
                       "-device '{{\"driver\":\"vfio-user-pci\",\"bus\":\"rp{0}\",\"x-msg-timeout\":{1},"
                       "\"socket\":{{\"type\":\"unix\",\"path\":\"{2}\"}}}}'",
                       number, message_timeout, socket);
}

} // namespace platform::bridge::vfio_user
