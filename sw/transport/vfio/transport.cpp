#include "sw/transport/vfio/transport.h"

#include <fmt/format.h>

#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace sw::transport::vfio {

namespace {

/// One access of the processor of that width, no other and no second one.
template <class T> void load_once(const std::byte* from, std::byte* into) {
    const T value = *reinterpret_cast<const volatile T*>(from);
    std::memcpy(into, &value, sizeof value);
}
template <class T> void store_once(std::byte* into, const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    *reinterpret_cast<volatile T*>(into) = value;
}

} // namespace

// --- begin and end ---

Result<std::unique_ptr<DeviceTransport>> DeviceTransport::open(const std::string& address, Machine& machine) {
    const auto function = find_function(address);
    if (!function)
        return std::unexpected(function.error());
    auto file = machine.open(*function);
    if (!file)
        return std::unexpected(file.error());
    std::unique_ptr<DeviceTransport> transport(new DeviceTransport(address, std::move(*file), machine));
    if (auto up = transport->bring_up(*function); !up)
        return failure(up.error().code, address + ": " + up.error().what);
    return transport;
}

DeviceTransport::~DeviceTransport() {
    disable_interrupts();
    for (const auto& bar : bars_)
        if (bar.memory)
            machine_.remove_bar(bar.address);
}

Result<DeviceTransport::Bar> DeviceTransport::region(std::uint32_t index) {
    vfio_region_info info{};
    info.argsz = sizeof info;
    info.index = index;
    if (::ioctl(file_.number(), VFIO_DEVICE_GET_REGION_INFO, &info) != 0)
        return system_failure(fmt::format("ask for region {}", index));
    Bar found;
    found.size = info.size;
    found.offset = info.offset;
    if ((info.flags & VFIO_REGION_INFO_FLAG_MMAP) != 0 && info.size != 0) // where it fails there are calls
        found.memory = Mapping::create(info.size, PROT_READ | PROT_WRITE, file_.number(), info.offset);
    return found;
}

Result<void> DeviceTransport::bring_up(const FunctionFiles& function) {
    vfio_device_info info{};
    info.argsz = sizeof info;
    if (::ioctl(file_.number(), VFIO_DEVICE_GET_INFO, &info) != 0)
        return system_failure("ask for the device");
    if ((info.flags & VFIO_DEVICE_FLAGS_PCI) == 0)
        return failure(ENODEV, "is no PCI function");
    if ((info.flags & VFIO_DEVICE_FLAGS_RESET) != 0)
        if (auto fresh = reset(); !fresh)
            return fresh;
    const auto config = region(VFIO_PCI_CONFIG_REGION_INDEX);
    if (!config)
        return std::unexpected(config.error());
    config_offset_ = config->offset;
    for (std::uint32_t i = 0; i < bars_.size(); ++i) {
        auto bar = region(VFIO_PCI_BAR0_REGION_INDEX + i);
        if (!bar)
            return std::unexpected(bar.error());
        bars_[i] = std::move(*bar);
        bars_[i].address = function.bars[i].begin;
        if (bars_[i].memory)
            machine_.add_bar(bars_[i].address, bars_[i].memory.bytes());
    }
    return {};
}

Result<void> DeviceTransport::reset() {
    if (::ioctl(file_.number(), VFIO_DEVICE_RESET) != 0)
        return system_failure("reset");
    return {};
}

// --- configuration and registers ---

void DeviceTransport::read_file(std::uint64_t offset, std::span<std::byte> into) const {
    if (::pread(file_.number(), into.data(), into.size(), static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(into.size()))
        std::ranges::fill(into, std::byte{0xff});
}

std::uint32_t DeviceTransport::config_read(std::uint16_t offset, unsigned bytes) {
    std::array<std::byte, 4> data{};
    read_file(config_offset_ + offset, std::span(data).first(std::min<std::size_t>(bytes, 4)));
    return abi::load<std::uint32_t, abi::Endian::little>(data.data());
}

void DeviceTransport::config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    std::array<std::byte, 4> data;
    abi::store<std::uint32_t, abi::Endian::little>(data.data(), value);
    // The kernel may change or ignore the write; a driver that must know reads it back.
    [[maybe_unused]] const auto written = ::pwrite(file_.number(), data.data(), std::min<std::size_t>(bytes, 4),
                                                   static_cast<off_t>(config_offset_ + offset));
}

bool DeviceTransport::has_range(unsigned bar, std::uint64_t offset, std::size_t size) const {
    return bar < bars_.size() && offset <= bars_[bar].size && size <= bars_[bar].size - offset;
}

void DeviceTransport::mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) {
    if (!has_range(bar, offset, into.size()))
        return std::ranges::fill(into, std::byte{0xff}), void();
    if (!bars_[bar].memory)
        return read_file(bars_[bar].offset + offset, into);
    const auto* from = bars_[bar].memory.bytes().data() + offset;
    switch (into.size()) {
    case 1: return load_once<std::uint8_t>(from, into.data());
    case 2: return load_once<std::uint16_t>(from, into.data());
    case 4: return load_once<std::uint32_t>(from, into.data());
    case 8: return load_once<std::uint64_t>(from, into.data());
    default: return bar_read(bar, offset, into);
    }
}

void DeviceTransport::mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
    if (!has_range(bar, offset, from.size()))
        return;
    if (!bars_[bar].memory)
        return bar_write(bar, offset, from);
    auto* into = bars_[bar].memory.bytes().data() + offset;
    switch (from.size()) {
    case 1: return store_once<std::uint8_t>(into, from.data());
    case 2: return store_once<std::uint16_t>(into, from.data());
    case 4: return store_once<std::uint32_t>(into, from.data());
    case 8: return store_once<std::uint64_t>(into, from.data());
    default: return bar_write(bar, offset, from);
    }
}

void DeviceTransport::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) {
    if (!has_range(bar, offset, into.size()))
        std::ranges::fill(into, std::byte{0xff});
    else if (bars_[bar].memory)
        std::memcpy(into.data(), bars_[bar].memory.bytes().data() + offset, into.size());
    else
        read_file(bars_[bar].offset + offset, into);
}

void DeviceTransport::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
    if (!has_range(bar, offset, from.size()))
        return;
    if (bars_[bar].memory)
        return (void)std::memcpy(bars_[bar].memory.bytes().data() + offset, from.data(), from.size());
    [[maybe_unused]] const auto written =
        ::pwrite(file_.number(), from.data(), from.size(), static_cast<off_t>(bars_[bar].offset + offset));
}

// --- interrupts ---

Result<void> DeviceTransport::enable_interrupts(unsigned count) {
    disable_interrupts();
    vfio_irq_info info{};
    info.argsz = sizeof info;
    info.index = VFIO_PCI_MSIX_IRQ_INDEX;
    if (::ioctl(file_.number(), VFIO_DEVICE_GET_IRQ_INFO, &info) != 0)
        return system_failure(name_ + ": ask for its MSI-X vectors");
    if (count > info.count)
        return failure(EINVAL,
                       fmt::format("{}: enable {} MSI-X vectors: the function has {}", name_, count, info.count));
    auto made = Interrupts::create(count);
    if (!made)
        return std::unexpected(made.error());
    const auto files = made->files();
    std::vector<std::byte> request(sizeof(vfio_irq_set) + files.size() * sizeof(int));
    const vfio_irq_set set{.argsz = static_cast<std::uint32_t>(request.size()),
                           .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
                           .index = VFIO_PCI_MSIX_IRQ_INDEX,
                           .start = 0,
                           .count = count};
    std::memcpy(request.data(), &set, sizeof set);
    std::memcpy(request.data() + sizeof set, files.data(), files.size() * sizeof(int));
    if (::ioctl(file_.number(), VFIO_DEVICE_SET_IRQS, request.data()) != 0)
        return system_failure(fmt::format("{}: enable {} MSI-X vectors", name_, count));
    interrupts_ = std::move(*made);
    return {};
}

void DeviceTransport::disable_interrupts() {
    if (!interrupts_)
        return;
    vfio_irq_set set{};
    set.argsz = sizeof set;
    set.flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
    set.index = VFIO_PCI_MSIX_IRQ_INDEX;
    (void)::ioctl(file_.number(), VFIO_DEVICE_SET_IRQS, &set);
    interrupts_.reset();
}

bool DeviceTransport::wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) {
    return interrupts_ && interrupts_->wait(vector, timeout, -1) == Interrupts::Waited::raised;
}

} // namespace sw::transport::vfio
