// A device that does something otherwise than the one that was recorded: what a model's change may be, or its mistake.
#pragma once

#include "model/pcie/device.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace changed_device {

namespace pcie = model::pcie;
namespace port = model::port;
using Bytes = std::vector<std::byte>;
using port::Time;

struct Change {
    std::size_t most_bytes = 0; ///< accesses to memory are split there; 0: as they are
    /// What becomes of a write. False: it is left out.
    std::function<bool(Bytes& bytes)> write{};
    /// A write that waits for the one after it.
    std::function<bool(const Bytes& bytes)> is_held{};
    std::function<void(port::Packet& packet)> send{};
    /// How often an interrupt comes.
    std::function<unsigned()> interrupts{};
    bool acknowledges_each = false;  ///< acknowledgements are not put together
    bool acknowledges_never = false; ///< unless something else does it
    bool acknowledges_late = false;  ///< they wait for the next thing that happens
};

class ChangedDma final : public port::Dma {
public:
    ChangedDma(port::Dma& inner, const Change& change) : inner_(inner), change_(change) {}
    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at, port::Purpose purpose) override {
        return in_pieces(address, into.size(), [&](abi::BusAddress begin, std::size_t offset, std::size_t count) {
            return inner_.read(begin, into.subspan(offset, count), at, purpose);
        });
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, Time at,
                          port::Purpose purpose) override {
        note_issued(at);
        Bytes bytes(from.begin(), from.end());
        if (change_.write && !change_.write(bytes))
            return {port::DmaStatus::ok, at};
        if (change_.is_held && held_ == nullptr && change_.is_held(bytes)) {
            held_ = [this, address, bytes, at, purpose] { inner_.write(address, bytes, at, purpose); };
            return {port::DmaStatus::ok, at};
        }
        const auto result =
            in_pieces(address, bytes.size(), [&](abi::BusAddress begin, std::size_t offset, std::size_t count) {
                return inner_.write(begin, std::span<const std::byte>(bytes).subspan(offset, count), at, purpose);
            });
        if (held_)
            std::exchange(held_, nullptr)();
        return result;
    }
    port::Loan lend(abi::BusAddress address, std::size_t length, Time at, port::Purpose purpose) override {
        return inner_.lend(address, length, at, purpose);
    }

private:
    template <class Access>
    port::DmaResult in_pieces(abi::BusAddress address, std::size_t length, Access&& access) const {
        // Entries of queues and commands are small; who splits them is no HCA.
        const auto most = change_.most_bytes == 0 ? length : change_.most_bytes;
        if (length <= most)
            return access(address, 0, length);
        port::DmaResult result;
        for (std::size_t offset = 0; offset < length && result.is_ok(); offset += most) {
            const auto done = result.done;
            result = access(abi::BusAddress{address.value + offset}, offset, std::min(most, length - offset));
            result.done = std::max(result.done, done);
        }
        return result;
    }
    port::Dma& inner_;
    const Change& change_;
    std::function<void()> held_;
};

class ChangedInterrupts final : public port::Interrupts {
public:
    ChangedInterrupts(port::Interrupts& inner, const Change& change) : inner_(inner), change_(change) {}
    void raise(std::uint16_t vector, Time at) override {
        for (auto left = change_.interrupts ? change_.interrupts() : 1; left != 0; --left)
            inner_.raise(vector, at);
    }

private:
    port::Interrupts& inner_;
    const Change& change_;
};

class ChangedWire final : public port::Wire {
public:
    ChangedWire(port::Wire& inner, const Change& change) : inner_(inner), change_(change) {}
    bool can_send(Time now) override { return inner_.can_send(now); }
    port::Packet& next() override { return *(packet_ = &inner_.next()); }
    Time send(Time at) override {
        if (change_.send)
            change_.send(*packet_);
        return inner_.send(at);
    }
    bool set_on(bool is_on, Time at) override { return inner_.set_on(is_on, at); }
    port::Traffic sent() const override { return inner_.sent(); }

private:
    port::Wire& inner_;
    const Change& change_;
    port::Packet* packet_ = nullptr;
};

/// A device of one function and one port behind changed ports.
class ChangedDevice final : public pcie::Device, public port::Receiver {
public:
    using Make = std::function<std::unique_ptr<pcie::Device>(const pcie::DevicePorts&)>;
    ChangedDevice(const pcie::DevicePorts& ports, Change change, const Make& make)
        : change_(std::move(change)), dma_(ports.dma, change_), interrupts_(ports.interrupts, change_),
          wire_(*ports.wires.front(), change_),
          device_(make(pcie::DevicePorts{dma_, ports.clock, interrupts_, wires_})) {}

    port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, Time at) override {
        acknowledge(at);
        return device_->bar_read(bar, offset, into, at);
    }
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, Time at) override {
        acknowledge(at);
        device_->bar_write(bar, offset, from, at);
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    port::RegisterSpaces* spaces() override { return device_->spaces(); }
    void reset(Time at) override { device_->reset(at); }
    void wake(Time now) override {
        acknowledge(now);
        device_->wake(now);
    }
    bool settle() override { return device_->settle(); }
    Receiver* receiver(unsigned number) override { return number == 0 ? this : nullptr; }

    void receive(port::Packet& packet, Time at) override {
        device_->receiver(0)->receive(packet, at);
        if (change_.acknowledges_each)
            device_->receiver(0)->received_all(at);
    }
    void received_all(Time at) override {
        if (change_.acknowledges_never)
            return;
        if (change_.acknowledges_late && !owes_)
            owes_ = true;
        else
            device_->receiver(0)->received_all(at);
    }
    bool can_receive(Time at) override { return device_->receiver(0)->can_receive(at); }
    void link_changed(bool is_up, Time at) override { device_->receiver(0)->link_changed(is_up, at); }
    void ready(Time at) override { device_->receiver(0)->ready(at); }

private:
    void acknowledge(Time at) {
        if (std::exchange(owes_, false))
            device_->receiver(0)->received_all(at);
    }
    Change change_;
    ChangedDma dma_;
    ChangedInterrupts interrupts_;
    ChangedWire wire_;
    std::array<port::Wire*, 1> wires_{&wire_};
    std::unique_ptr<pcie::Device> device_;
    bool owes_ = false;
};

} // namespace changed_device
