#include "testbench/planted/planted.h"

#include "abi/prm/cqe.h"
#include "traces/tool/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace planted {

using namespace std::chrono_literals;
namespace codec = traces::codec;
namespace tool = traces::tool;
namespace port = model::port;

std::optional<Mistake> mistake_named(std::string_view name) {
    constexpr std::array<std::string_view, 5> names{"cqe_field", "psn", "dropped_event", "later_dma", "other_order"};
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? std::nullopt : std::optional(static_cast<Mistake>(found - names.begin()));
}

std::expected<MistakePlace, std::string> find_place(const tool::OpenTrace& open, const hcasim::RecordedPart& part,
                                                    Mistake mistake, Which which) {
    auto source = open();
    if (!source)
        return std::unexpected(source.error());
    codec::Reader reader(**source);
    if (const auto opened = reader.open(); !opened)
        return std::unexpected(opened.error().text());
    const auto wanted = mistake == Mistake::psn             ? tool::What::frame
                        : mistake == Mistake::dropped_event ? tool::What::eqe
                                                            : tool::What::cqe;
    std::uint64_t writes = 0, frames = 0, among = 0;
    std::int64_t last_ps = -1;
    std::optional<MistakePlace> found;
    const auto fault = tool::walk(reader, [&](const codec::Record& record, const tool::Seen& seen, const auto&) {
        if (record.mark.direction != codec::Direction::outbound)
            return true;
        const bool is_frame = record.mark.kind == codec::RecordKind::frame && !part.interfaces.ports.empty() &&
                              record.interface == part.interfaces.ports[0].interface;
        const bool is_write = record.mark.kind == codec::RecordKind::request && seen.access &&
                              seen.access->kind == tool::Access::Kind::write &&
                              record.interface == part.interfaces.functions.at(0);
        const bool is_it = (is_frame || is_write) && seen.find(wanted) != nullptr;
        const bool is_then = !which.time_ps || record.time_ps == *which.time_ps;
        if (is_it)
            among = record.time_ps == last_ps ? among + 1 : 0, last_ps = record.time_ps;
        if (is_it && is_then && which.number-- == 0)
            found = MistakePlace{record.number, is_frame ? frames : writes, record.time_ps, among};
        frames += is_frame ? 1 : 0;
        writes += is_write ? 1 : 0;
        return !found;
    });
    if (!found)
        return std::unexpected(fault ? fault->text() : fmt::format("{}: has no so many", part.path));
    return *found;
}

class PlantedDevices::Ports final : port::Dma, port::Interrupts, port::Wire {
public:
    Ports(Mistake mistake, std::uint64_t ordinal, const model::pcie::DevicePorts& outside)
        : mistake_(mistake), ordinal_(ordinal), outside_(outside), wires_{this},
          ports_{.dma = *this, .clock = outside.clock, .interrupts = *this} {
        if (!outside.wires.empty())
            ports_.wires = wires_;
        ports_.functions = outside.functions;
    }
    const model::pcie::DevicePorts& ports() const { return ports_; }

private:
    struct Held {
        abi::BusAddress address;
        std::vector<std::byte> bytes;
        port::Time at;
        port::Purpose purpose;
    };

    // Dma
    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, port::Time at,
                         port::Purpose purpose) override {
        return outside_.dma.read(address, into, at, purpose);
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, port::Time at,
                          port::Purpose purpose) override {
        if (mistake_ == Mistake::psn || writes_++ != ordinal_) {
            const auto result = outside_.dma.write(address, from, at, purpose);
            release();
            return result;
        }
        std::vector<std::byte> bytes(from.begin(), from.end());
        switch (mistake_) {
        case Mistake::dropped_event: return {port::DmaStatus::ok, at};
        case Mistake::other_order:
            held_ = Held{address, std::move(bytes), at, purpose};
            return {port::DmaStatus::ok, at};
        case Mistake::later_dma: at += 10ns; break;
        default: {
            const abi::View<abi::prm::Cqe64> cqe(bytes);
            cqe.set<"byte_cnt">(cqe.get<"byte_cnt">() + 1);
        }
        }
        return outside_.dma.write(address, bytes, at, purpose);
    }
    port::Loan lend(abi::BusAddress address, std::size_t length, port::Time at, port::Purpose purpose) override {
        return outside_.dma.lend(address, length, at, purpose);
    }
    void release() {
        if (const auto held = std::exchange(held_, std::nullopt))
            outside_.dma.write(held->address, held->bytes, held->at, held->purpose);
    }

    // Interrupts
    void raise(std::uint16_t vector, port::Time at) override {
        outside_.interrupts.raise(vector, at);
        release();
    }

    // Wire
    port::Wire& wire() const { return *outside_.wires[0]; }
    bool can_send(port::Time now) override { return wire().can_send(now); }
    port::Packet& next() override { return *(packet_ = &wire().next()); }
    port::Time send(port::Time at) override {
        if (mistake_ == Mistake::psn && frames_++ == ordinal_ && !packet_->is_plain_frame())
            packet_->rdma().psn = packet_->rdma().psn + 1;
        return wire().send(at);
    }
    bool set_on(bool is_on, port::Time at) override { return wire().set_on(is_on, at); }
    port::Traffic sent() const override { return wire().sent(); }

    Mistake mistake_;
    std::uint64_t ordinal_, writes_ = 0, frames_ = 0;
    const model::pcie::DevicePorts& outside_;
    std::array<port::Wire*, 1> wires_;
    port::Packet* packet_ = nullptr;
    std::optional<Held> held_;
    model::pcie::DevicePorts ports_;
};

PlantedDevices::PlantedDevices(Mistake mistake, std::uint64_t ordinal) : mistake_(mistake), ordinal_(ordinal) {}
PlantedDevices::~PlantedDevices() = default;

std::unique_ptr<model::pcie::Device> PlantedDevices::make(const platform::card::DeviceConfig& device,
                                                          const model::pcie::DevicePorts& ports,
                                                          const platform::card::DevicePlace& place) {
    ports_.push_back(std::make_unique<Ports>(mistake_, ordinal_, ports));
    return device.make(ports_.back()->ports(), place);
}

} // namespace planted
