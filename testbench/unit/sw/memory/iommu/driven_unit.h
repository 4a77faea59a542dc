// A remapping unit of the model behind a transport of plain memory: the driver of `sw/` on one side, requests of
// devices on the other.
#pragma once

#include "model/iommu/iommu.h"
#include "sw/memory/iommu/address_space.h"
#include "sw/memory/iommu/unit.h"
#include "testbench/unit/sw/fake_transport.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

namespace testbench {

class DrivenUnit : private model::iommu::Listener {
    /// The unit's own way to the transport's memory.
    struct Memory final : model::port::Dma {
        FakeTransport& machine;
        explicit Memory(FakeTransport& m) : machine(m) {}
        model::port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, model::port::Time at,
                                    model::port::Purpose) override {
            const auto from = machine.at(address.value, into.size());
            std::ranges::copy(from, into.begin());
            return {from.empty() ? model::port::DmaStatus::unsupported_request : model::port::DmaStatus::ok, at};
        }
        model::port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, model::port::Time at,
                                     model::port::Purpose) override {
            const auto into = machine.at(address.value, from.size());
            if (into.empty())
                return {model::port::DmaStatus::unsupported_request, at};
            std::ranges::copy(from, into.begin());
            return {model::port::DmaStatus::ok, at};
        }
        model::port::Loan lend(abi::BusAddress, std::size_t, model::port::Time at, model::port::Purpose) override {
            return {nullptr, {model::port::DmaStatus::ok, at}};
        }
    };

public:
    static constexpr std::uint16_t device = 0x0100, other_device = 0x0208;

    explicit DrivenUnit(const model::iommu::IommuConfig& config = {})
        : memory_(machine), hardware(config, memory_, this) {
        machine.bars[0].resize(abi::iommu::register_bytes);
        machine.on_read = [this](unsigned, std::uint64_t offset, std::span<std::byte> into) {
            auto value = hardware.read(static_cast<std::uint32_t>(offset), static_cast<unsigned>(into.size()));
            for (auto& byte : into)
                byte = static_cast<std::byte>(value), value >>= 8;
        };
        machine.on_write = [this](unsigned, std::uint64_t offset, std::span<const std::byte> from) {
            std::uint64_t value = 0;
            for (std::size_t i = from.size(); i-- != 0;)
                value = value << 8 | static_cast<std::uint8_t>(from[i]);
            hardware.write(static_cast<std::uint32_t>(offset), static_cast<unsigned>(from.size()), value, {});
        };
    }

    /// The driver; it has to come up.
    sw::memory::iommu::Unit& open(const sw::memory::iommu::UnitOptions& options = {}) {
        auto opened = sw::memory::iommu::Unit::open(machine, options);
        if (!opened)
            throw std::runtime_error(opened.error().what);
        return *(unit = std::move(*opened));
    }
    std::unique_ptr<sw::memory::iommu::AddressSpace> make_space() {
        auto made = sw::memory::iommu::AddressSpace::create(*unit);
        if (!made)
            throw std::runtime_error(made.error().what);
        return std::move(*made);
    }

    /// Where a device's request goes; nothing when it is refused.
    std::optional<std::uint64_t> reach(std::uint64_t address, model::iommu::Access access = model::iommu::Access::read,
                                       std::uint16_t requester = device) {
        const auto found =
            hardware.translate({.requester = requester, .address = address, .length = 4, .access = access}, {});
        return found.status == model::port::DmaStatus::ok ? std::optional(found.address) : std::nullopt;
    }

    FakeTransport machine;

private:
    Memory memory_;

public:
    model::iommu::Iommu hardware;
    std::unique_ptr<sw::memory::iommu::Unit> unit;
    std::vector<model::iommu::DeviceInvalidation> device_invalidations;
    bool device_answers = true;

private:
    void translations_gone(const model::iommu::Gone&) override {}
    std::optional<model::port::Time> invalidate_device(const model::iommu::DeviceInvalidation& what,
                                                       model::port::Time at) override {
        device_invalidations.push_back(what);
        return device_answers ? std::optional(at) : std::nullopt;
    }
    void page_response(const model::iommu::PageResponse&, model::port::Time) override {}
};

} // namespace testbench
