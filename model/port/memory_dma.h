// Memory behind a Dma port without a bus: sparse pages that are made at the first access, ranges that fail on demand,
// and a log of the accesses. For tests of cores and for whoever needs a plain memory; no topology, no time of its own.
#pragma once

#include "model/port/dma.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace model::port {

class MemoryDma final : public Dma {
public:
    static constexpr std::uint64_t page_bytes = 1 << 16; ///< lend() never crosses a page: it then answers "use read()"

    enum class Kind : std::uint8_t { read, write, lend };
    struct Access {
        Kind kind;
        std::uint64_t address;
        std::size_t length;
        Purpose purpose;
        DmaStatus status;
        Time at{}; ///< time of the request
        bool operator==(const Access&) const = default;
    };

    /// Every access that touches [begin, end) ends with `status` from now on, and moves nothing. `remaining` accesses
    /// succeed first. For a write that is a refusal by the requester itself, since it would not be told of another.
    void fail(std::uint64_t begin, std::uint64_t end, DmaStatus status, unsigned remaining = 0) {
        faults_.push_back({begin, end, status, remaining});
    }
    void clear_faults() { faults_.clear(); }
    /// Added to `at` to give `done`.
    void set_latency(Time latency) { latency_ = latency; }

    const std::vector<Access>& log() const { return log_; }
    void clear_log() { log_.clear(); }

    /// The test's own access: not logged, never fails.
    void poke(std::uint64_t address, std::span<const std::byte> from) {
        each_piece(address, from.size(),
                   [&](std::byte* memory, std::size_t at, std::size_t n) { std::memcpy(memory, from.data() + at, n); });
    }
    void peek(std::uint64_t address, std::span<std::byte> into) {
        each_piece(address, into.size(), [&](const std::byte* memory, std::size_t at, std::size_t n) {
            std::memcpy(into.data() + at, memory, n);
        });
    }
    std::vector<std::byte> peek(std::uint64_t address, std::size_t length) {
        std::vector<std::byte> bytes(length);
        peek(address, bytes);
        return bytes;
    }

    DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at,
                   Purpose purpose = Purpose::control) override {
        const auto result = account(Kind::read, address.value, into.size(), at, purpose);
        if (result.is_ok())
            peek(address.value, into);
        return result;
    }
    DmaResult write(abi::BusAddress address, std::span<const std::byte> from, Time at,
                    Purpose purpose = Purpose::control) override {
        note_issued(at);
        const auto result = account(Kind::write, address.value, from.size(), at, purpose);
        if (result.is_ok())
            poke(address.value, from);
        return result;
    }
    Loan lend(abi::BusAddress address, std::size_t length, Time at, Purpose purpose = Purpose::control) override {
        const auto offset = address.value % page_bytes;
        if (length > page_bytes - offset)
            return {nullptr, {DmaStatus::ok, at}};
        const auto result = account(Kind::lend, address.value, length, at, purpose);
        return {result.is_ok() ? page(address.value / page_bytes) + offset : nullptr, result};
    }

    /// Within one page, each unit in the log as by itself. Nothing at once while faults are planted.
    const std::byte* lend_units(abi::BusAddress address, std::size_t length, std::uint32_t unit) override {
        const auto offset = address.value % page_bytes;
        if (!faults_.empty() || length > page_bytes - offset)
            return nullptr;
        account_units(Kind::lend, address.value, length, unit);
        return page(address.value / page_bytes) + offset;
    }
    bool write_units(abi::BusAddress address, std::span<const std::byte> from, std::uint32_t unit) override {
        if (!faults_.empty())
            return false;
        account_units(Kind::write, address.value, from.size(), unit);
        poke(address.value, from);
        return true;
    }
    /// How often units were moved at once.
    std::size_t trains() const { return trains_; }

private:
    void account_units(Kind kind, std::uint64_t address, std::size_t length, std::uint32_t unit) {
        ++trains_;
        for (std::size_t moved = 0; moved < length; moved += unit)
            account(kind, address + moved, std::min<std::size_t>(unit, length - moved), {}, Purpose::payload);
    }
    struct Fault {
        std::uint64_t begin, end;
        DmaStatus status;
        unsigned remaining;
    };
    using Page = std::array<std::byte, page_bytes>;

    DmaResult account(Kind kind, std::uint64_t address, std::size_t length, Time at, Purpose purpose) {
        auto status = DmaStatus::ok;
        for (auto& fault : faults_) {
            if (address >= fault.end || fault.begin >= address + length)
                continue;
            if (fault.remaining != 0)
                --fault.remaining;
            else if (status == DmaStatus::ok)
                status = fault.status;
        }
        log_.push_back({kind, address, length, purpose, status, at});
        return {status, at + latency_};
    }
    std::byte* page(std::uint64_t number) {
        auto& slot = pages_[number];
        if (!slot)
            slot = std::make_unique<Page>();
        return slot->data();
    }
    template <class Visit> void each_piece(std::uint64_t address, std::size_t length, Visit&& visit) {
        for (std::size_t at = 0; at < length;) {
            const auto offset = (address + at) % page_bytes;
            const auto n = std::min<std::size_t>(length - at, page_bytes - offset);
            visit(page((address + at) / page_bytes) + offset, at, n);
            at += n;
        }
    }

    std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
    std::vector<Fault> faults_;
    std::vector<Access> log_;
    std::size_t trains_ = 0;
    Time latency_{};
};

} // namespace model::port
