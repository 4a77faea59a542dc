// A served machine with the simple cards of pcie_bench.h, for module tests of the vfio-user bridge: no socket, the test
// is the client and calls the function ports itself. The card's DMA and interrupts are the endpoint's.
#pragma once

#include "platform/bridge/vfio_user/guest_module.h"
#include "testbench/harness/pcie_bench.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace testbench {

/// Memory of a guest: a file that cannot be shortened, and the guest's own view of it.
class GuestRam {
public:
    explicit GuestRam(std::size_t bytes, unsigned seals = F_SEAL_SHRINK)
        : size_(bytes), file_(::memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
        void* data = MAP_FAILED;
        if (::ftruncate(file_.number(), static_cast<off_t>(bytes)) == 0 &&
            ::fcntl(file_.number(), F_ADD_SEALS, seals) == 0)
            data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
        if (data == MAP_FAILED)
            throw std::runtime_error("no memory for the test's guest");
        data_ = static_cast<std::byte*>(data);
    }
    ~GuestRam() { ::munmap(data_, size_); }
    GuestRam(const GuestRam&) = delete;
    GuestRam& operator=(const GuestRam&) = delete;
    std::span<std::byte> bytes() const { return {data_, size_}; }
    int file() const { return file_.number(); }
    platform::bridge::vfio_user::Descriptor descriptor() const {
        return platform::bridge::vfio_user::Descriptor(::fcntl(file_.number(), F_DUPFD_CLOEXEC, 0));
    }

private:
    std::size_t size_;
    platform::bridge::vfio_user::Descriptor file_;
    std::byte* data_ = nullptr;
};

/// What a client hands over for an interrupt.
class EventCounter {
public:
    EventCounter() : file_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    platform::bridge::vfio_user::Descriptor descriptor() const {
        return platform::bridge::vfio_user::Descriptor(::fcntl(file_.number(), F_DUPFD_CLOEXEC, 0));
    }
    int file() const { return file_.number(); }
    /// Signals since the last look.
    std::uint64_t take() {
        std::uint64_t count = 0;
        return ::read(file_.number(), &count, sizeof count) == sizeof count ? count : 0;
    }

private:
    platform::bridge::vfio_user::Descriptor file_;
};

struct GuestMachine {
    platform::bridge::vfio_user::FileMappings files;
    platform::bridge::vfio_user::GuestModule guest{"guest", {}, files};
    ScratchCard first, second;

    explicit GuestMachine(const model::pcie::AtsConfig& ats = {}) : first("first", 1, ats), second("second", 2, ats) {
        guest.plug("first", first.endpoint);
        guest.plug("second", second.endpoint);
    }
    platform::bridge::vfio_user::FunctionPort& port(unsigned number) { return guest.function(number); }

    void config_write(unsigned number, std::uint64_t offset, unsigned bytes, std::uint32_t value) {
        std::array<std::byte, 4> data;
        abi::store<std::uint32_t, abi::Endian::little>(data.data(), value);
        port(number).write(abi::vfio_user::config_region, offset, std::span(data).first(bytes));
        port(number).work();
    }
    std::uint32_t config_read(unsigned number, std::uint64_t offset, unsigned bytes = 4) {
        std::array<std::byte, 4> data{};
        port(number).read(abi::vfio_user::config_region, offset, std::span(data).first(bytes));
        return abi::load<std::uint32_t, abi::Endian::little>(data.data());
    }
    /// BAR 0 at 0xe000'0000 and BAR 2 at 0x8'0000'0000, 16 MiB apart for each card; decoding and mastering on.
    void enable(unsigned number) {
        config_write(number, 0x10, 4, 0xe000'0000 + (number << 24));
        config_write(number, 0x18, 4, number << 24);
        config_write(number, 0x1c, 4, 8);
        config_write(number, 4, 2, 6);
    }
    static std::uint64_t memory_bar(unsigned number) { return 0x8'0000'0000 + (number << 24); }
    /// MSI-X on, as the client's capability write does it.
    void enable_msix(unsigned number, bool is_masked = false) {
        config_write(number, model::pcie::msix_offset + 2u, 2, is_masked ? 0xc000 : 0x8000);
    }
};

} // namespace testbench
