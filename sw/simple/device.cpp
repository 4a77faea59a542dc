#include "sw/simple/device.h"

#include "sw/base/barrier.h"
#include "sw/transport/function.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <span>

namespace sw::simple {

using namespace abi::simple;

namespace {

constexpr std::chrono::seconds command_timeout{10};

int code_of(Status status) {
    switch (status) {
    case Status::ok: return 0;
    case Status::no_number:
    case Status::no_memory: return ENOMEM;
    case Status::busy: return EBUSY;
    case Status::unreadable: return EFAULT;
    default: return EINVAL;
    }
}

} // namespace

Result<std::unique_ptr<Device>> Device::open(transport::Transport& transport) {
    std::unique_ptr<Device> device(new Device(transport));
    if (auto done = device->bring_up(); !done)
        return failure(done.error().code, "open: " + done.error().what);
    return device;
}

Device::~Device() { transport::disable_function(transport_); }

Result<void> Device::bring_up() {
    const auto id = transport::enable_function(transport_);
    if (!id)
        return std::unexpected(id.error());
    if (id->vendor != vendor_id || id->device != device_id)
        return failure(ENODEV, fmt::format("function {:04x}:{:04x} is no simple HCA, which is {:04x}:{:04x}",
                                           id->vendor, id->device, vendor_id, device_id));
    if (transport_.bar_size(bar) < doorbells_offset)
        return failure(ENODEV,
                       fmt::format("BAR 0 of {:#x} bytes does not hold the registers", transport_.bar_size(bar)));
    for (std::size_t at = 0; at < Registers::size; at += 4)
        abi::store<std::uint32_t, abi::Endian::little>(registers_.bytes.data() + at,
                                                       transport::read32<abi::Endian::little>(transport_, bar, at));
    const auto seen = registers_.view();
    if (seen.get<"identity">() != identity || seen.get<"version">() != interface_version)
        return failure(ENODEV, fmt::format("identity {:#x}, version {}; this driver is for {:#x}, version {}",
                                           seen.get<"identity">(), seen.get<"version">(), identity, interface_version));
    if (seen.get<"log_qps">() > 24)
        return failure(ENODEV, fmt::format("2^{} queue pairs are more than have numbers", seen.get<"log_qps">()));
    queue_pairs_.resize(std::size_t{1} << seen.get<"log_qps">());
    return {};
}

void Device::set_gid(const std::array<std::byte, 16>& gid) {
    constexpr auto offset = Registers::field<"gid">::offset;
    for (std::size_t i = 0; i < gid.size(); i += 4)
        transport_.mmio_write(bar, offset + i, std::span(gid).subspan(i, 4));
}

Result<std::uint32_t> Device::run_bytes(Command command, std::span<const std::byte> arguments) {
    for (std::size_t i = 0; i < arguments.size(); i += 4)
        transport_.mmio_write(bar, arguments_offset + i, arguments.subspan(i, 4));
    base::mmio_wmb(); // page list in memory before command: the device reads it when it is told to begin
    base_.set<"command">(command);
    if (!transport::poll_until(transport_, command_timeout, [this] { return !base_.get<"is_busy">(); }))
        return failure(ETIMEDOUT, fmt::format("{}: no answer after {} s", name(command), command_timeout.count()));
    if (const auto status = base_.get<"status">(); status != Status::ok)
        return failure(code_of(status), fmt::format("{}: {}", name(command), name(status)));
    return base_.get<"result">();
}

void Device::ring_send(std::uint32_t qpn, std::uint32_t producer) {
    transport::write32<abi::Endian::little>(
        transport_, bar, doorbells_offset + std::uint64_t{qpn} * Doorbell::size + Doorbell::field<"send">::offset,
        producer);
}

void Device::ring_receive(std::uint32_t qpn, std::uint32_t producer) {
    transport::write32<abi::Endian::little>(
        transport_, bar, doorbells_offset + std::uint64_t{qpn} * Doorbell::size + Doorbell::field<"receive">::offset,
        producer);
}

} // namespace sw::simple
