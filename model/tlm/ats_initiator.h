// A function's requests, translated by the function itself: looks in its TLB, asks the root complex for what is not
// there, and sends translated requests. A request that it may not make ends here with Unsupported Request and is not
// sent; so the function gets a status for such writes, too. PCIe 6.0 §10.2.
#pragma once

#include "model/pcie/device_tlb.h"
#include "model/tlm/initiator.h"

namespace model::tlm {

class AtsInitiator final : public port::Dma {
public:
    /// `untranslated` sends translation requests and has the PASID. While `is_on` is false it sends everything.
    AtsInitiator(Initiator& untranslated, Initiator& translated, pcie::DeviceTlb& tlb, const pcie::AtsConfig& config,
                 std::uint32_t pasid, const bool& is_on)
        : untranslated_(untranslated), translated_(translated), tlb_(tlb), hit_latency_(config.hit_latency),
          pasid_(pasid), is_on_(is_on) {}

    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, port::Time at,
                         port::Purpose purpose = port::Purpose::control) override;
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, port::Time at,
                          port::Purpose purpose = port::Purpose::control) override;
    port::Loan lend(abi::BusAddress address, std::size_t length, port::Time at,
                    port::Purpose purpose = port::Purpose::control) override;

    const std::byte* lend_units(abi::BusAddress address, std::size_t length, std::uint32_t unit) override {
        return is_on_ ? nullptr : untranslated_.lend_units(address, length, unit);
    }
    bool write_units(abi::BusAddress address, std::span<const std::byte> from, std::uint32_t unit) override {
        return !is_on_ && untranslated_.write_units(address, from, unit);
    }

    port::Time next_read(port::Time now) override { return untranslated_.next_read(now); }

    void set_events(traces::Events events) { events_ = events; }
    /// Is told of what is sent translated; the untranslated requester reports the rest itself.
    void set_watch(pcie::LandingWatch* watch) { watch_ = watch; }

private:
    struct Piece {
        port::DmaStatus status = port::DmaStatus::ok;
        port::Time ready{};
        std::uint64_t address = 0; ///< to be sent, by `initiator`
        std::size_t length = 0;
        Initiator* initiator = nullptr;
    };
    Piece translate(std::uint64_t address, std::size_t length, bool is_write, port::Time at);
    void tell(const Piece& piece, std::uint64_t address, bool is_write, port::Purpose purpose) const;

    Initiator& untranslated_;
    Initiator& translated_;
    pcie::DeviceTlb& tlb_;
    port::Time hit_latency_;
    std::uint32_t pasid_;
    const bool& is_on_;
    traces::Events events_;
    pcie::LandingWatch* watch_ = nullptr;
};

} // namespace model::tlm
