#include "model/management/performance.h"

#include <algorithm>

namespace model::management {

using namespace abi::wire;

namespace {
constexpr std::uint16_t all_port_select = 1 << 8,
                        extended_width = 1 << 9; ///< ClassPortInfo:CapabilityMask (IBA 16.1.3.1)
constexpr std::size_t data_offset = 0x40;        ///< of a performance datagram (IBA 16.1.1)
constexpr std::array every_counter{
    &PortTotals::data_sent,        &PortTotals::data_received,      &PortTotals::packets_sent,
    &PortTotals::packets_received, &PortTotals::unicast_sent,       &PortTotals::unicast_received,
    &PortTotals::multicast_sent,   &PortTotals::multicast_received, &PortTotals::receive_errors,
    &PortTotals::relay_errors,     &PortTotals::discards,           &PortTotals::management_dropped,
    &PortTotals::transmit_waits};
} // namespace

PortTotals& PortTotals::operator+=(const PortTotals& other) {
    for (const auto counter : every_counter)
        this->*counter += other.*counter;
    return *this;
}

/// A field of an attribute: what it tells, and its bit of CounterSelect, behind which come those of CounterSelect2.
struct PerformanceAgent::Counter {
    std::uint64_t PortTotals::* total;
    std::uint32_t select;
    void (*show)(std::span<std::byte>, std::uint64_t);
    std::uint64_t (*read)(std::span<const std::byte>);

    template <class L, abi::Name F>
    static constexpr Counter of(std::uint64_t PortTotals::* total, std::uint32_t select) {
        return {
            total, select,
            [](std::span<std::byte> data, std::uint64_t value) {
                using Field = typename L::template field<F>;
                // A counter stays at its end (IBA 16.1.3.5).
                constexpr auto most = ~std::uint64_t{0} >> (64 - Field::width);
                abi::View<L>(data).template set<F>(static_cast<typename Field::type>(std::min(value, most)));
            },
            [](std::span<const std::byte> data) -> std::uint64_t { return abi::ConstView<L>(data).template get<F>(); }};
    }
};

struct PerformanceAgent::Attribute {
    PmAttribute id;
    Kind kind;
    std::span<const Counter> counters;
};

std::span<const PerformanceAgent::Attribute> PerformanceAgent::attributes() {
    using T = PortTotals;
    static constexpr std::array classic{
        Counter::of<PortCounters, "port_rcv_errors">(&T::receive_errors, 1 << 3),
        Counter::of<PortCounters, "port_rcv_switch_relay_errors">(&T::relay_errors, 1 << 5),
        Counter::of<PortCounters, "port_xmit_discards">(&T::discards, 1 << 6),
        Counter::of<PortCounters, "vl15_dropped">(&T::management_dropped, 1 << 11),
        Counter::of<PortCounters, "port_xmit_data">(&T::data_sent, 1 << 12),
        Counter::of<PortCounters, "port_rcv_data">(&T::data_received, 1 << 13),
        Counter::of<PortCounters, "port_xmit_packets">(&T::packets_sent, 1 << 14),
        Counter::of<PortCounters, "port_rcv_packets">(&T::packets_received, 1 << 15),
        Counter::of<PortCounters, "port_xmit_wait">(&T::transmit_waits, 1 << 16),
    };
    static constexpr std::array extended{
        Counter::of<PortCountersExtended, "port_xmit_data">(&T::data_sent, 1 << 0),
        Counter::of<PortCountersExtended, "port_rcv_data">(&T::data_received, 1 << 1),
        Counter::of<PortCountersExtended, "port_xmit_packets">(&T::packets_sent, 1 << 2),
        Counter::of<PortCountersExtended, "port_rcv_packets">(&T::packets_received, 1 << 3),
        Counter::of<PortCountersExtended, "port_unicast_xmit_packets">(&T::unicast_sent, 1 << 4),
        Counter::of<PortCountersExtended, "port_unicast_rcv_packets">(&T::unicast_received, 1 << 5),
        Counter::of<PortCountersExtended, "port_multicast_xmit_packets">(&T::multicast_sent, 1 << 6),
        Counter::of<PortCountersExtended, "port_multicast_rcv_packets">(&T::multicast_received, 1 << 7),
    };
    static constexpr std::array table{
        Attribute{PmAttribute::port_counters, Kind::classic, classic},
        Attribute{PmAttribute::port_counters_extended, Kind::extended, extended},
    };
    return table;
}

PortTotals PerformanceAgent::read(Kind kind, unsigned port, const PortTotals& total, bool clear) {
    auto result = total;
    auto& subtracted = subtracted_[static_cast<std::size_t>(kind)][port];
    for (const auto counter : every_counter)
        result.*counter -= subtracted.*counter;
    if (clear)
        subtracted = total;
    return result;
}

void PerformanceAgent::process(std::span<std::byte, mad_bytes> mad, const Totals& totals) {
    const abi::View<MadHeader> header(mad.first<MadHeader::size>());
    const auto method = static_cast<MadMethod>(header.get<"method">());
    const bool is_set = method == MadMethod::set;
    const auto id = static_cast<PmAttribute>(header.get<"attr_id">());
    const auto data = mad.subspan<data_offset>();
    const auto row = std::ranges::find(attributes(), id, &Attribute::id);
    auto status = MadStatus::ok;
    if (header.get<"base_version">() != mad_base_version || header.get<"class_version">() != 1)
        status = MadStatus::bad_version;
    else if (!is_set && method != MadMethod::get)
        status = MadStatus::bad_method;
    else if (row != attributes().end())
        status = count(*row, data, is_set, totals);
    else if (id != PmAttribute::class_port_info || is_set)
        status = MadStatus::bad_attribute;
    else {
        std::ranges::fill(data, std::byte{});
        abi::View<ClassPortInfo>(data.first<ClassPortInfo::size>())
            .set<"base_version">(mad_base_version)
            .set<"class_version">(1)
            .set<"capability_mask">(all_port_select | extended_width);
    }
    header.set<"method">(static_cast<std::uint8_t>(MadMethod::get) | mad_response)
        .set<"status">(static_cast<std::uint16_t>(status));
}

MadStatus PerformanceAgent::count(const Attribute& attribute, std::span<std::byte> data, bool is_set,
                                  const Totals& totals) {
    // Both attributes begin with the port and the choice of counters.
    const abi::ConstView<PortCounters> asked(data);
    const unsigned port = asked.get<"port_select">();
    const auto select = asked.get<"counter_select">();
    const std::uint32_t every_select = std::uint32_t{asked.get<"counter_select2">()} << 16 | select;
    if (port != all_ports && (port < first_ || port > last_))
        return MadStatus::bad_value;
    const auto begin = port == all_ports ? first_ : port, end = (port == all_ports ? last_ : port) + 1;
    auto& subtracted = subtracted_[static_cast<std::size_t>(attribute.kind)];
    PortTotals sum;
    for (auto p = begin; p < end; ++p) {
        auto now = totals(p);
        for (const auto& counter : attribute.counters) {
            if (is_set && counter.select & every_select)
                subtracted[p].*counter.total = now.*counter.total - counter.read(data);
            now.*counter.total -= subtracted[p].*counter.total;
        }
        sum += now;
    }
    std::ranges::fill(data, std::byte{});
    abi::View<PortCounters>(data).set<"port_select">(static_cast<std::uint8_t>(port)).set<"counter_select">(select);
    for (const auto& counter : attribute.counters)
        counter.show(data, sum.*counter.total);
    return MadStatus::ok;
}

} // namespace model::management
