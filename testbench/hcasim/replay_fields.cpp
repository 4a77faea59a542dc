#include "testbench/hcasim/replay_fields.h"

#include "abi/print.h"
#include "abi/wire/ethernet.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/ip.h"
#include "abi/wire/opcode.h"
#include "abi/wire/udp.h"
#include "platform/record/accesses.h"
#include "traces/codec/layouts.h"
#include "traces/tool/commands.h"

#include <fmt/format.h>

#include <algorithm>

namespace hcasim {

namespace codec = traces::codec;
using platform::record::Piece;
using platform::record::Step;
using Bytes = std::span<const std::byte>;

namespace {

constexpr auto most_payload = platform::record::most_recorded_payload;

std::vector<std::byte> padded(Bytes bytes, Piece piece) {
    std::vector<std::byte> out(piece.padded());
    std::ranges::copy(bytes.first(std::min<std::size_t>(bytes.size(), piece.length)), out.begin() + piece.lead());
    return out;
}

abi::pcie::CompletionStatus status_of(model::port::DmaStatus status) {
    using enum abi::pcie::CompletionStatus;
    switch (status) {
    case model::port::DmaStatus::ok: return success;
    case model::port::DmaStatus::unsupported_request: return unsupported_request;
    default: return completer_abort;
    }
}

void add_layout(Fields& fields, std::string_view prefix, const abi::LayoutInfo& layout, Bytes bytes) {
    if (bytes.size() < layout.size)
        return;
    std::string text;
    abi::print(text, layout, bytes, abi::PrintForm::lines);
    for (std::string_view left = text; !left.empty();) {
        const auto line = left.substr(0, left.find('\n'));
        left.remove_prefix(std::min(left.size(), line.size() + 1));
        const auto equals = std::min(line.find('='), line.size());
        fields.emplace_back(fmt::format("{}.{}", prefix, line.substr(0, equals)),
                            line.substr(std::min(line.size(), equals + 1)));
    }
}

/// Sixteen a row. Long ones are cut: whoever wants all of them has the trace.
void add_bytes(Fields& fields, std::string_view prefix, Bytes bytes, std::size_t begin = 0) {
    constexpr std::size_t a_row = 16;
    for (std::size_t at = 0; at < bytes.size(); at += a_row) {
        std::string text;
        for (const auto byte : bytes.subspan(at, std::min(a_row, bytes.size() - at)))
            text += fmt::format("{}{:02x}", text.empty() ? "" : " ", std::to_integer<unsigned>(byte));
        fields.emplace_back(fmt::format("{}[{:#06x}]", prefix, begin + at), std::move(text));
    }
}

/// Takes the headers of a frame one after another.
class FrameFields {
public:
    FrameFields(Fields& fields, Bytes frame) : fields_(fields), all_(frame), left_(frame) {}

    void infiniband() {
        const auto next = left_.size() >= abi::wire::Lrh::size
                              ? abi::ConstView<abi::wire::Lrh>(left_).get<"next_header">()
                              : abi::wire::LinkNextHeader{};
        take<abi::wire::Lrh>("lrh");
        if (next == abi::wire::LinkNextHeader::global)
            take<abi::wire::Grh>("grh");
        if (next == abi::wire::LinkNextHeader::global || next == abi::wire::LinkNextHeader::local)
            transport();
        rest();
    }
    void ethernet() {
        using namespace abi::wire;
        const auto type = left_.size() >= Ethernet::size ? abi::ConstView<Ethernet>(left_).get<"type">() : 0;
        take<Ethernet>("ethernet");
        bool is_udp = false;
        if (type == static_cast<std::uint16_t>(EtherType::ipv4) && left_.size() >= Ipv4::size) {
            is_udp = abi::ConstView<Ipv4>(left_).get<"protocol">() == ip_protocol_udp;
            take<Ipv4>("ipv4");
        } else if (type == static_cast<std::uint16_t>(EtherType::ipv6) && left_.size() >= Ipv6::size) {
            is_udp = abi::ConstView<Ipv6>(left_).get<"next_header">() == ip_protocol_udp;
            take<Ipv6>("ipv6");
        }
        if (is_udp && left_.size() >= Udp::size) {
            const bool is_roce = abi::ConstView<Udp>(left_).get<"destination_port">() == roce_v2_port;
            take<Udp>("udp");
            if (is_roce)
                transport();
        }
        rest();
    }

private:
    template <class L> void take(std::string_view prefix) {
        if (left_.size() < L::size)
            return;
        add_layout(fields_, prefix, abi::layout_info<L>, left_.first(L::size));
        left_ = left_.subspan(L::size);
    }
    /// BTH, and the extended headers that its operation has (IBA 5.2.7).
    void transport() {
        using namespace abi::wire;
        if (left_.size() < Bth::size)
            return;
        const auto opcode = static_cast<unsigned>(abi::ConstView<Bth>(left_).get<"opcode">());
        const auto& traits = operations[opcode & 0x1f];
        const auto service = static_cast<Service>(opcode >> 5);
        take<Bth>("bth");
        if (service == Service::ud)
            take<Deth>("deth");
        if (service == Service::xrc && traits.is_request())
            take<XrcEth>("xrceth");
        if (traits.has_reth)
            take<Reth>("reth");
        if (traits.has_atomic)
            take<AtomicEth>("atomiceth");
        if (traits.has_aeth)
            take<Aeth>("aeth");
        if (traits.has_atomic_ack)
            take<AtomicAckEth>("atomicacketh");
        if (traits.has_immediate)
            take<ImmDt>("immdt");
        if (traits.has_invalidate)
            take<Ieth>("ieth");
    }
    void rest() { add_bytes(fields_, "frame", left_, all_.size() - left_.size()); }

    Fields& fields_;
    Bytes all_, left_;
};

std::string_view name_of(const traces::tool::Access& access) {
    using Kind = traces::tool::Access::Kind;
    switch (access.kind) {
    case Kind::write: return access.is_by_device ? "DMA write" : "store";
    case Kind::read: return access.is_by_device ? "DMA read" : "load";
    case Kind::answer: return "answer with bytes";
    case Kind::refusal: return "refusal";
    }
    return {};
}

} // namespace

StepRecord record_of(const Step& step, std::size_t piece, std::uint64_t address) {
    using What = Step::What;
    StepRecord record;
    const auto keep = [&](Bytes head) { record.head.assign(head.begin(), head.end()); };
    if (step.what == What::frame) {
        record.kind = codec::RecordKind::frame;
        keep(step.bytes);
        return record;
    }
    if (step.what == What::signal) {
        record.kind = codec::RecordKind::signal;
        abi::Block<codec::SignalRecord> signal;
        signal.view()
            .set<"code">(static_cast<std::uint16_t>(step.signal))
            .set<"port">(step.told.port)
            .set<"number">(step.told.number)
            .set<"value">(step.told.value);
        keep(signal.bytes);
        return record;
    }
    const auto begin = step.what == What::data ? address : step.address;
    std::size_t number = 0;
    Piece found{begin, 0};
    platform::record::for_each_piece(begin, step.length, most_payload, [&](Piece one) {
        if (number++ == piece)
            found = one;
    });
    record.kind = step.what == What::data ? codec::RecordKind::completion : codec::RecordKind::request;
    keep(step.what == What::data ? platform::record::completion(status_of(step.status), found, 0, 0).bytes()
                                 : platform::record::memory_request(step.what == What::write, found, 0, 0).bytes());
    const auto offset = found.address - begin;
    const bool has_bytes = step.what == What::write || (step.what == What::data && !step.bytes.empty());
    if (has_bytes && offset <= step.bytes.size())
        record.payload = padded(Bytes(step.bytes).subspan(offset), found);
    return record;
}

std::size_t first_differing_piece(const Step& expected, const Step& actual) {
    if (expected.what != actual.what || expected.address != actual.address || expected.bytes.empty())
        return 0;
    const auto place = std::ranges::mismatch(expected.bytes, actual.bytes).in1 - expected.bytes.begin();
    if (place == std::ssize(expected.bytes) || place == std::ssize(actual.bytes))
        return 0; // the lengths differ, which the first one shows
    std::size_t number = 0, found = 0;
    platform::record::for_each_piece(expected.address, expected.bytes.size(), most_payload, [&](Piece piece) {
        if (piece.address - expected.address <= static_cast<std::uint64_t>(place))
            found = number;
        ++number;
    });
    return found;
}

Fields fields_of(const codec::Record& record, const traces::tool::Seen& seen, codec::InterfaceKind kind) {
    using traces::tool::What;
    Fields fields;
    fields.emplace_back("time", fmt::format("{}.{:03} ns", record.time_ps / 1000, record.time_ps % 1000));
    if (record.mark.kind == codec::RecordKind::frame) {
        fields.emplace_back("kind", "frame");
        fields.emplace_back("length", fmt::format("{}", record.head.size()));
        FrameFields frame(fields, record.head);
        kind == codec::InterfaceKind::infiniband ? frame.infiniband() : frame.ethernet();
        return fields;
    }
    if (!seen.access) {
        for (const auto& item : seen.items)
            if (item.layout != nullptr)
                add_layout(fields, item.what == What::interrupt ? "interrupt" : item.layout->name, *item.layout,
                           item.bytes);
        return fields;
    }
    const auto& access = *seen.access;
    fields.emplace_back("kind", name_of(access));
    fields.emplace_back("address", fmt::format("{:#x}", access.address));
    fields.emplace_back("length", fmt::format("{}", access.length));
    if (access.kind == traces::tool::Access::Kind::refusal)
        fields.emplace_back("status", fmt::format("{}", access.status));
    std::size_t structures = 0;
    for (const auto& item : seen.items) {
        if (item.layout == nullptr || item.bytes.size() < item.layout->size)
            continue;
        ++structures;
        add_layout(fields,
                   seen.items.size() == 1 ? std::string(item.layout->name)
                                          : fmt::format("{}[{}]", item.layout->name, structures - 1),
                   *item.layout, item.bytes);
    }
    if (seen.command != nullptr && seen.what() == What::command_done) {
        const auto layouts = traces::tool::layouts_of(seen.command->opcode());
        if (layouts.out != nullptr)
            add_layout(fields, layouts.out->name, *layouts.out, seen.command->out);
    }
    if (structures == 0)
        add_bytes(fields, "bytes", access.bytes);
    return fields;
}

std::vector<FieldRow> side_by_side(const Fields& expected, const Fields& actual) {
    std::vector<FieldRow> rows;
    std::vector<bool> is_shown(actual.size());
    const auto find = [&](const std::string& name) {
        const auto found = std::ranges::find(actual, name, &Fields::value_type::first);
        return static_cast<std::size_t>(found - actual.begin());
    };
    for (const auto& [name, value] : expected) {
        const auto at = find(name);
        rows.push_back({name, value, at < actual.size() ? actual[at].second : ""});
        if (at < actual.size())
            is_shown[at] = true;
    }
    for (std::size_t i = 0; i < actual.size(); ++i)
        if (!is_shown[i])
            rows.push_back({actual[i].first, "", actual[i].second});
    return rows;
}

} // namespace hcasim
