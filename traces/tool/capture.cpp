#include "traces/tool/capture.h"

#include "traces/codec/erf.h"
#include "traces/tool/names.h"

#include <fmt/format.h>

#include <array>
#include <expected>
#include <vector>

namespace traces::tool {

using namespace codec;

namespace {

constexpr auto nanoseconds = std::byte{9}; // if_tsresol: a negative power of ten
constexpr std::int64_t ps_per_ns = 1000;

bool is_port(InterfaceKind kind) { return kind == InterfaceKind::ethernet || kind == InterfaceKind::infiniband; }

std::expected<std::uint32_t, std::string> find_port(const codec::Head& head, const std::string& name) {
    std::vector<std::uint32_t> found;
    std::string ports;
    for (std::uint32_t i = 0; i < head.interfaces.size(); ++i) {
        const auto& interface = head.interfaces[i];
        if (!is_port(interface.kind))
            continue;
        if (interface.name == name)
            return i;
        ports += (ports.empty() ? "" : ", ") + interface.name;
        if (is_called(interface.name, name))
            found.push_back(i);
    }
    if (found.size() == 1)
        return found.front();
    if (ports.empty())
        return std::unexpected("the recording has no network port: it was recorded without --at a port");
    return std::unexpected(fmt::format("\"{}\" is {} of the network ports; they are {}", name,
                                       found.empty() ? "none" : "more than one", ports));
}

/// Blocks that wait to be written.
class Blocks {
public:
    explicit Blocks(Destination& destination) : destination_(destination) {}

    void begin(const Interface& interface) {
        BlockBuilder section(bytes_, pcapng::section_header_type, std::type_identity<pcapng::SectionHeader>{});
        section.fixed<pcapng::SectionHeader>()
            .set<"byte_order">(pcapng::byte_order_magic)
            .set<"major">(1)
            .set<"section_length">(pcapng::unknown_length);
        section.close();
        BlockBuilder block(bytes_, pcapng::interface_type, std::type_identity<pcapng::InterfaceDescription>{});
        block.fixed<pcapng::InterfaceDescription>().set<"link_type">(
            interface.kind == InterfaceKind::infiniband ? link_type_erf : link_type_ethernet);
        constexpr std::size_t most_name_bytes = 1024;
        const std::string_view name = std::string_view(interface.name).substr(0, most_name_bytes);
        block.option(pcapng::option_if_name, std::as_bytes(std::span(name)))
            .option(pcapng::option_if_tsresol, std::span(&nanoseconds, 1))
            .end_options()
            .close();
    }
    void add(const Record& record, bool has_erf) {
        const auto time = static_cast<std::uint64_t>(record.time_ps / ps_per_ns);
        const auto bytes = static_cast<std::uint32_t>(record.head.size() + (has_erf ? ErfHeader::size : 0));
        BlockBuilder block(bytes_, pcapng::enhanced_packet_type, std::type_identity<pcapng::EnhancedPacket>{});
        block.fixed<pcapng::EnhancedPacket>()
            .set<"time_high">(static_cast<std::uint32_t>(time >> 32))
            .set<"time_low">(static_cast<std::uint32_t>(time))
            .set<"captured_length">(bytes)
            .set<"original_length">(bytes);
        if (has_erf)
            block.add(
                erf_header(static_cast<std::uint64_t>(record.time_ps), record.head.size(), record.head.size()).bytes);
        std::array<std::byte, 4> flags{};
        abi::store<std::uint32_t, abi::Endian::little>(
            flags.data(), record.mark.direction == Direction::inbound ? pcapng::inbound : pcapng::outbound);
        block.add(record.head).pad();
        block.option(pcapng::option_epb_flags, flags).end_options().close();
        if (bytes_.size() >= most_bytes)
            flush();
    }
    void flush() {
        if (failure_.empty())
            if (const auto written = destination_.write(bytes_); !written)
                failure_ = written.error();
        bytes_.clear();
    }
    const std::string& failure() const { return failure_; }

private:
    static constexpr std::size_t most_bytes = 1 << 20;
    Destination& destination_;
    std::vector<std::byte> bytes_;
    std::string failure_;
};

} // namespace

Outcome capture(Source& trace, const std::string& port, Destination& destination) {
    Reader reader(trace);
    if (const auto opened = reader.open(); !opened)
        return outcome_of(reader, opened.error());
    const auto interface = find_port(reader.head(), port);
    if (!interface)
        return {.complaint = interface.error()};
    const auto& of = reader.head().interfaces[*interface];
    Blocks blocks(destination);
    blocks.begin(of);
    // Nobody needs to know what the records mean.
    std::optional<Fault> fault;
    while (blocks.failure().empty()) {
        const auto record = reader.next();
        if (!record)
            fault = record.error();
        if (!record || *record == nullptr)
            break;
        if ((*record)->interface == *interface)
            blocks.add(**record, of.kind == InterfaceKind::infiniband);
    }
    blocks.flush();
    if (!blocks.failure().empty())
        return {.complaint = blocks.failure(), .is_output_lost = true};
    return outcome_of(reader, std::move(fault));
}

} // namespace traces::tool
