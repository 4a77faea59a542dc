// Memory of a test's host, behind a Dma port without a bus.
#pragma once

#include "model/memory/sparse_memory.h"
#include "model/port/dma.h"
#include "testbench/harness/test_ports.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace harness {

/// Memory at bus address 0, all of it plain.
class FlatMemory final : public model::port::Dma {
public:
    using DmaResult = model::port::DmaResult;
    explicit FlatMemory(std::size_t bytes) : memory_("flat memory", bytes + page) {}
    std::byte* at(std::uint64_t address) { return base() + address; }
    std::size_t size() const { return memory_.size() - page; }
    DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at, model::port::Purpose) override {
        if (!holds(address.value, into.size()))
            return {model::port::DmaStatus::unsupported_request, at};
        std::memcpy(into.data(), base() + address.value, into.size());
        return {model::port::DmaStatus::ok, at};
    }
    DmaResult write(abi::BusAddress address, std::span<const std::byte> from, Time at, model::port::Purpose) override {
        if (!holds(address.value, from.size()))
            return {model::port::DmaStatus::unsupported_request, at};
        std::memcpy(base() + address.value, from.data(), from.size());
        return {model::port::DmaStatus::ok, at};
    }
    model::port::Loan lend(abi::BusAddress address, std::size_t length, Time at, model::port::Purpose) override {
        if (!holds(address.value, length))
            return {nullptr, {model::port::DmaStatus::unsupported_request, at}};
        return {base() + address.value, {model::port::DmaStatus::ok, at}};
    }

private:
    bool holds(std::uint64_t address, std::size_t length) const {
        return address <= size() && length <= size() - address;
    }
    /// Host memory as a kernel hands it out: the processor's addresses are aligned as the bus addresses are.
    static constexpr std::size_t page = 1 << 21;
    std::byte* base() {
        auto* data = memory_.bytes().data();
        return data + (-reinterpret_cast<std::uintptr_t>(data) & (page - 1));
    }
    model::memory::SparseMemory memory_; // a host has much more than a test touches
};

} // namespace harness
