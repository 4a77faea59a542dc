// What the session's tests share: a function that writes down what is asked of it, and the client's end of a session.
#pragma once

#include "platform/bridge/vfio_user/session.h"
#include "testbench/harness/vfio_user_client.h"

#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace testbench::vfio_user {

using platform::bridge::vfio_user::Descriptor;
using platform::bridge::vfio_user::DmaMapRequest;
using platform::bridge::vfio_user::DmaUnmapRequest;
using platform::bridge::vfio_user::IrqSetRequest;
using platform::bridge::vfio_user::MessageSink;
using platform::bridge::vfio_user::Session;

/// A function with one BAR of 4 KiB that is memory, configuration space, and four MSI-X vectors.
struct Function final : platform::bridge::vfio_user::Device {
    Bytes bar = Bytes(4096);
    std::string log;
    int map_error = 0;
    int bar_file = -1;
    std::vector<platform::bridge::vfio_user::Area> areas; ///< of the BAR that can be mapped
    std::size_t backlog_bytes = 0;
    std::function<void(std::uint64_t offset)> on_write;
    std::uint64_t region_size(std::uint32_t region) const override {
        return region == 0 ? bar.size() : region == config_region ? 256 : 0;
    }
    int region_file(std::uint32_t region) const override { return region == 0 ? bar_file : -1; }
    std::vector<platform::bridge::vfio_user::Area> region_areas(std::uint32_t region) const override {
        return region == 0 ? areas : decltype(areas){};
    }
    void region_given(std::uint32_t region) override { log += "given" + std::to_string(region) + " "; }
    std::uint32_t irq_count(IrqType type) const override { return type == IrqType::msix ? 4 : 0; }
    void read(std::uint32_t, std::uint64_t offset, std::span<std::byte> into) override {
        std::copy_n(bar.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    }
    void write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from) override {
        log += "w" + std::to_string(region) + "+" + std::to_string(offset) + " ";
        std::ranges::copy(from, bar.begin() + static_cast<std::ptrdiff_t>(offset));
        if (on_write)
            on_write(offset);
    }
    void reset() override { log += "reset "; }
    void work() override {}
    std::size_t backlog() const override { return backlog_bytes; }
    int map(const DmaMapRequest&, Descriptor file) override {
        log += file ? "map+file " : "map ";
        return map_error;
    }
    int unmap(const DmaUnmapRequest& unmap) override {
        log += "unmap ";
        return unmap.address == 0xdead000 ? ENOENT : 0;
    }
    int set_irqs(const IrqSetRequest& set, std::vector<Descriptor> files) override {
        log += "irqs" + std::to_string(set.start) + ":" + std::to_string(set.count) + "/" +
               std::to_string(files.size()) + " ";
        return 0;
    }
    void disconnect() override { log += "gone "; }
};

struct Talk final : MessageSink {
    Function function;
    Session session{function, *this};
    std::vector<Bytes> out;
    int file = -1; ///< that went with the last one
    void send(Bytes message, int with) override {
        out.push_back(std::move(message));
        file = with;
    }

    /// Sends, and gives the one answer.
    Bytes ask(const Bytes& message, std::size_t files = 0) {
        out.clear();
        std::vector<Descriptor> descriptors;
        for (std::size_t i = 0; i < files; ++i)
            descriptors.emplace_back(::open("/dev/null", O_RDWR | O_CLOEXEC));
        session.receive(message, std::move(descriptors));
        REQUIRE(out.size() == 1);
        CHECK(header_of(out[0]).get<"size">() == out[0].size());
        CHECK(header_of(out[0]).get<"type">() == MessageType::reply);
        CHECK(header_of(out[0]).get<"id">() == header_of(message).get<"id">());
        CHECK(header_of(out[0]).get<"command">() == header_of(message).get<"command">());
        return out[0];
    }
    void tell(const Bytes& message) {
        out.clear();
        session.receive(message);
        CHECK(out.empty());
    }
};

struct Negotiated {
    Talk talk;
    Negotiated() { REQUIRE(error_of(talk.ask(version(0, 0, qemu_capabilities))) == 0); }
};

inline Bytes bytes(std::initializer_list<int> values) {
    Bytes out;
    for (const int value : values)
        out.push_back(static_cast<std::byte>(value));
    return out;
}

} // namespace testbench::vfio_user
