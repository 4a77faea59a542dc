// The other end of a driver's vfio-user connection, in a thread of its own: a function with a 64-bit BAR 0 of 64 KiB of
// registers, a 32-bit BAR 2, and four MSI-X vectors. It answers properly unless a test says otherwise.
#pragma once

#include "sw/transport/file.h"
#include "testbench/harness/vfio_user_client.h"

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace testbench {

class ScriptedServer {
public:
    using Bytes = vfio_user::Bytes;
    using Command = vfio_user::Command;
    using File = sw::transport::File;
    static constexpr std::size_t register_bytes = 0x10000, msix_capability = 0x40;

    // To be set before start().
    std::function<std::optional<Bytes>(const Bytes& command)> instead; ///< an answer in the place of the proper one
    std::string capabilities = R"({"capabilities":{"max_msg_fds":16,"max_data_xfer_size":1048576}})";
    int bar_file = -1; ///< BAR 0 may be mapped from it
    struct Area {
        std::uint64_t offset, size;
    };
    std::vector<Area> areas; ///< of BAR 0; empty: all of it

    // To be looked at when the client has nothing under way.
    std::vector<Bytes> commands;          ///< all that came, in order
    std::map<std::uint64_t, File> memory; ///< of the client, by address
    std::vector<File> events;
    std::array<std::byte, 256> config{};
    Bytes registers = Bytes(register_bytes);

    ScriptedServer() {
        put_dword(0, 0x101b15b3);
        put_dword(0x10, 0xc); // 64 bits, prefetchable
        put_dword(0x34, msix_capability);
        put_dword(msix_capability, 0x11);
    }
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;
    ~ScriptedServer() { hang_up(); }

    /// The client's end; the server begins to work.
    File start() {
        std::array<int, 2> pair{-1, -1};
        (void)::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data());
        ours_ = File(pair[0]);
        thread_ = std::thread([this] { work(); });
        return File(pair[1]);
    }
    void hang_up() {
        if (!thread_.joinable())
            return;
        ::shutdown(ours_.number(), SHUT_RDWR);
        thread_.join();
        ours_.close();
    }
    /// A message out of turn, from any thread.
    void send(const Bytes& message, std::span<const int> files = {}) {
        const std::lock_guard lock(mutex_);
        iovec part{const_cast<std::byte*>(message.data()), message.size()};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(16 * sizeof(int))> control{};
        msghdr out{};
        out.msg_iov = &part;
        out.msg_iovlen = 1;
        if (!files.empty()) {
            out.msg_control = control.data();
            out.msg_controllen = CMSG_SPACE(files.size_bytes());
            auto* header = CMSG_FIRSTHDR(&out);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(files.size_bytes());
            std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
        }
        (void)::sendmsg(ours_.number(), &out, MSG_NOSIGNAL);
    }
    void put_dword(std::size_t at, std::uint32_t value) {
        abi::store<std::uint32_t, abi::Endian::little>(config.data() + at, value);
    }
    std::uint32_t dword(std::size_t at) const {
        return abi::load<std::uint32_t, abi::Endian::little>(config.data() + at);
    }
    std::size_t count(Command command) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            commands, [&](const Bytes& one) { return vfio_user::header_of(one).get<"command">() == command; }));
    }

    /// The reply to `command` with this body.
    static Bytes reply(const Bytes& command, std::span<const std::byte> body) {
        const auto header = vfio_user::header_of(command);
        return vfio_user::message(header.get<"command">(), body, header.get<"id">(), false,
                                  vfio_user::MessageType::reply);
    }
    static Bytes refusal(const Bytes& command, std::uint32_t error) {
        auto message = reply(command, {});
        abi::View<vfio_user::Header>(std::span(message)).set<"is_error">(true).set<"error">(error);
        return message;
    }

private:
    bool fill(std::span<std::byte> into) {
        while (!into.empty()) {
            iovec part{into.data(), into.size()};
            alignas(cmsghdr) std::array<char, CMSG_SPACE(16 * sizeof(int))> control;
            msghdr in{};
            in.msg_iov = &part;
            in.msg_iovlen = 1;
            in.msg_control = control.data();
            in.msg_controllen = control.size();
            const auto count = ::recvmsg(ours_.number(), &in, MSG_CMSG_CLOEXEC);
            if (count <= 0)
                return false;
            for (auto* header = CMSG_FIRSTHDR(&in); header != nullptr; header = CMSG_NXTHDR(&in, header))
                for (std::size_t i = 0; i < (header->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
                    int number = -1;
                    std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
                    files_.emplace_back(number);
                }
            into = into.subspan(static_cast<std::size_t>(count));
        }
        return true;
    }

    void work() {
        for (;;) {
            Bytes command(vfio_user::Header::size);
            if (!fill(command))
                return;
            command.resize(vfio_user::header_of(command).get<"size">());
            if (!fill(std::span(command).subspan(vfio_user::Header::size)))
                return;
            if (vfio_user::header_of(command).get<"type">() == vfio_user::MessageType::command)
                commands.push_back(command);
            else {
                answers.push_back(command);
                continue;
            }
            if (instead)
                if (const auto answer = instead(command)) {
                    files_.clear();
                    if (!answer->empty())
                        send(*answer);
                    continue;
                }
            const auto answer = perform(command);
            const bool is_mapping = vfio_user::header_of(command).get<"command">() == Command::get_region_info &&
                                    vfio_user::body_of<vfio_user::RegionInfo>(command).get<"index">() == 0 &&
                                    bar_file >= 0 &&
                                    (areas.empty() || answer.size() > 16 + vfio_user::RegionInfo::size);
            if (!vfio_user::header_of(command).get<"no_reply">())
                send(answer, is_mapping ? std::span<const int>(&bar_file, 1) : std::span<const int>{});
            files_.clear();
        }
    }

    Bytes perform(const Bytes& command) {
        using namespace vfio_user;
        const auto body = std::span(command).subspan(Header::size);
        switch (header_of(command).get<"command">()) {
        case Command::version: {
            Bytes out(Version::size + capabilities.size() + 1);
            put(out, Version::size, std::as_bytes(std::span(capabilities)));
            return reply(command, out);
        }
        case Command::get_info: {
            abi::Block<DeviceInfo> out;
            out.view()
                .set<"argsz">(DeviceInfo::size)
                .set<"can_reset">(true)
                .set<"is_pci">(true)
                .set<"regions">(9)
                .set<"irqs">(5);
            return reply(command, out.bytes);
        }
        case Command::get_region_info: {
            const auto index = body_of<RegionInfo>(command).get<"index">();
            const bool has_areas = index == 0 && !areas.empty();
            const auto needed =
                has_areas ? RegionInfo::size + SparseMmap::size + areas.size() * SparseArea::size : RegionInfo::size;
            const bool is_whole = body_of<RegionInfo>(command).get<"argsz">() >= needed;
            Bytes out(is_whole ? needed : RegionInfo::size);
            if (has_areas && is_whole) {
                abi::View<RegionInfo>(std::span(out))
                    .set<"has_capabilities">(true)
                    .set<"capability_offset">(static_cast<std::uint32_t>(RegionInfo::size));
                abi::View<SparseMmap>(std::span(out).subspan(RegionInfo::size))
                    .set<"id">(1)
                    .set<"areas">(static_cast<std::uint32_t>(areas.size()));
                for (std::size_t i = 0; i < areas.size(); ++i)
                    abi::View<SparseArea>(
                        std::span(out).subspan(RegionInfo::size + SparseMmap::size + i * SparseArea::size))
                        .set<"offset">(areas[i].offset)
                        .set<"size">(areas[i].size);
            }
            abi::View<RegionInfo>(std::span(out))
                .set<"argsz">(static_cast<std::uint32_t>(needed))
                .set<"index">(index)
                .set<"mappable">(index == 0 && bar_file >= 0)
                .set<"size">(index == 0   ? register_bytes
                             : index == 2 ? 0x1000
                                          : 0);
            return reply(command, out);
        }
        case Command::get_irq_info: {
            abi::Block<IrqInfo> out;
            out.view().set<"argsz">(IrqInfo::size).set<"eventfd">(true).set<"count">(4);
            return reply(command, out.bytes);
        }
        case Command::set_irqs:
            for (auto& file : files_)
                events.push_back(std::move(file));
            if (body_of<IrqSet>(command).get<"count">() == 0)
                events.clear();
            return reply(command, {});
        case Command::dma_map:
            memory[body_of<DmaMap>(command).get<"address">()] = files_.empty() ? File{} : std::move(files_.front());
            return reply(command, {});
        case Command::dma_unmap: memory.erase(body_of<DmaUnmap>(command).get<"address">()); return reply(command, body);
        case Command::region_read: {
            const auto access = body_of<RegionAccess>(command);
            const auto bytes = region(access.get<"region">());
            Bytes out(RegionAccess::size + access.get<"count">());
            put(out, 0, body);
            put(out, RegionAccess::size, bytes.subspan(access.get<"offset">(), access.get<"count">()));
            return reply(command, out);
        }
        case Command::region_write: {
            const auto access = body_of<RegionAccess>(command);
            std::ranges::copy(body.subspan(RegionAccess::size),
                              region(access.get<"region">()).subspan(access.get<"offset">()).begin());
            return reply(command, body.first(RegionAccess::size));
        }
        default: return reply(command, {});
        }
    }
    std::span<std::byte> region(std::uint32_t number) {
        return number == vfio_user::config_region ? std::span<std::byte>(config) : registers;
    }

public:
    std::vector<Bytes> answers; ///< of the client, to what we asked

private:
    File ours_;
    std::thread thread_;
    std::mutex mutex_;
    std::vector<File> files_;
};

} // namespace testbench
