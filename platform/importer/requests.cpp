#include "platform/importer/requests.h"

#include "abi/wire/infiniband.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

namespace platform::importer {

using abi::wire::OperationTraits;
using abi::wire::Service;
using model::port::Encapsulation;
using model::port::Packet;
using Kind = OperationTraits::Kind;

namespace {

constexpr std::size_t most_flows = 4096; ///< that are told apart
constexpr std::array<std::uint32_t, 5> mtus{256, 512, 1024, 2048, 4096};
constexpr std::uint64_t atomic_bytes = 8;

bool is_request(const Packet& packet) {
    const auto service = packet.rdma().service;
    return (service == Service::rc || service == Service::uc) && packet.traits().is_request();
}
Flow flow_of(const Packet& packet) {
    return {packet.path.source_gid, packet.path.destination_gid, packet.rdma().destination.value};
}
std::string address_text(const model::port::Gid& gid) {
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(gid[i]); };
    const bool is_ipv4 = byte(10) == 0xff && byte(11) == 0xff &&
                         std::all_of(gid.begin(), gid.begin() + 10, [](std::byte b) { return b == std::byte{}; });
    if (is_ipv4)
        return fmt::format("{}.{}.{}.{}", byte(12), byte(13), byte(14), byte(15));
    std::string text;
    for (std::size_t i = 0; i < gid.size(); i += 2)
        text += fmt::format("{}{:x}", i == 0 ? "" : ":", byte(i) << 8 | byte(i + 1));
    return text;
}
/// Whether a packet answers requests of `flow`: the number in it is the requester's, which no request says.
bool answers(const Packet& packet, const Flow& flow) {
    return packet.rdma().service == Service::rc && !packet.traits().is_request() &&
           packet.path.source_gid == flow.destination && packet.path.destination_gid == flow.source;
}

/// Reads all RoCE packets of a capture: visit(number, time_ns, frame).
template <class Visit>
std::expected<void, std::string> each_packet(const OpenCapture& open, Demand* count, Visit&& visit) {
    auto capture = open();
    if (!capture)
        return std::unexpected(capture.error().text());
    RoceFrame frame;
    for (;;) {
        const auto next = capture->next();
        if (!next)
            return std::unexpected(next.error().text());
        if (*next == nullptr)
            return {};
        const auto kind = frame.read(**next);
        if (count != nullptr) {
            ++count->frames;
            count->other_frames += kind == FrameKind::other;
            count->malformed += kind == FrameKind::malformed || kind == FrameKind::cut_short;
        }
        if (kind == FrameKind::packet)
            visit((*next)->number, (*next)->time_ns, frame);
    }
}

/// Candidates for the MTU: what a packet that its message goes on behind carries is exactly that.
struct MtuGuess {
    std::uint32_t exact = 0, least = 0;
    void look_at(const Packet& packet) {
        const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
        least = std::max(least, bytes);
        if (packet.traits().has_payload && !packet.traits().is_last && std::ranges::find(mtus, bytes) != mtus.end())
            exact = bytes;
    }
    /// A READ took so many PSNs.
    void look_at(std::uint32_t length, std::uint32_t psns) {
        for (const auto mtu : mtus)
            if (exact == 0 && psns > 1 && (length + mtu - 1) / mtu == psns)
                exact = mtu;
    }
    std::uint32_t value() const {
        if (exact != 0)
            return exact;
        const auto wide = *std::ranges::find_if(mtus, [&](std::uint32_t mtu) { return mtu >= least; });
        return std::max(wide, 1024u); // what fits Ethernet's usual 1500 bytes
    }
};

} // namespace

std::string Flow::text() const {
    return fmt::format("{} -> {}, queue pair {:#x}", address_text(source), address_text(destination), destination_qpn);
}

std::uint32_t psns_of(const Packet& packet, std::uint32_t mtu) {
    constexpr std::uint64_t most = (1u << 23) - 1; // further ahead no PSN can be told from one that is behind
    if (packet.traits().kind != Kind::read_request)
        return 1;
    const auto packets = (std::uint64_t{packet.rdma().reth.length} + mtu - 1) / mtu;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(packets, 1, most));
}

MessageTrack::Step MessageTrack::take(const Packet& packet, std::uint64_t frame) {
    const auto& headers = packet.rdma();
    const auto& traits = packet.traits();
    Step step;
    step.psns = psns_of(packet, mtu_);
    const auto psn = headers.psn;
    const auto ahead = next_ ? psn - *next_ : 0;
    if (ahead < 0) {
        step.place = Place::again;
        step.message = open_ != 0 ? open_ : frame;
        return step;
    }
    step.missing = static_cast<std::uint32_t>(ahead);
    next_ = psn + step.psns;
    if (ahead != 0 && open_ != 0)
        step.broken_message = std::exchange(open_, 0);
    if (traits.is_first) {
        if (open_ != 0) // a new message in the middle of one: its end was never sent
            step.broken_message = open_;
        open_ = frame;
        step.place = ahead != 0 ? Place::gap : Place::next;
    } else if (open_ == 0) {
        step.place = Place::orphan;
    }
    step.message = open_;
    if (traits.is_last)
        open_ = 0;
    return step;
}

std::expected<Demand, std::string> read_demand(const OpenCapture& open, std::optional<std::uint32_t> number) {
    std::map<Flow, std::uint64_t> flows;
    Demand demand;
    auto read = each_packet(open, &demand, [&](std::uint64_t, std::int64_t, const RoceFrame& frame) {
        if (is_request(frame.packet) && (flows.size() < most_flows || flows.contains(flow_of(frame.packet))))
            ++flows[flow_of(frame.packet)];
    });
    if (!read)
        return std::unexpected(read.error());
    if (flows.empty())
        return std::unexpected(fmt::format("of {} frames none is a request of an RC or UC queue pair ({} no RoCEv2, {} "
                                           "that no port takes)",
                                           demand.frames, demand.other_frames, demand.malformed));
    const auto chosen = number.value_or(1);
    if (chosen == 0 || chosen > flows.size() || (!number && flows.size() > 1)) {
        std::vector<std::string> texts;
        for (const auto& [flow, packets] : flows)
            if (texts.size() < Losses::most_told)
                texts.push_back(fmt::format("--flow {}: {} ({} packets)", texts.size() + 1, flow.text(), packets));
        return std::unexpected(
            fmt::format("the capture has requests to {} queue pairs, of which one is to be chosen: {}", flows.size(),
                        fmt::join(texts, "; ")));
    }
    const auto& [flow, packets] = *std::next(flows.begin(), static_cast<std::ptrdiff_t>(chosen - 1));
    demand.flow = flow;
    demand.packets = packets;

    MtuGuess guess;
    std::optional<abi::Psn> first;
    std::optional<std::pair<abi::Psn, std::uint32_t>> read_before; // PSN and length
    std::uint64_t message_bytes = 0;
    read = each_packet(open, nullptr, [&](std::uint64_t, std::int64_t, const RoceFrame& frame) {
        const auto& packet = frame.packet;
        const auto& headers = packet.rdma();
        const auto& traits = packet.traits();
        if (answers(packet, demand.flow)) {
            ++demand.answers;
            demand.naks +=
                traits.has_aeth && abi::wire::kind_of(headers.aeth.syndrome) != abi::wire::SyndromeKind::acknowledge;
            guess.look_at(packet);
        }
        if (!is_request(packet) || flow_of(packet) != demand.flow)
            return;
        guess.look_at(packet);
        if (read_before)
            guess.look_at(read_before->second, static_cast<std::uint32_t>(headers.psn - read_before->first));
        read_before.reset();
        if (!first) {
            first = headers.psn;
            demand.encapsulation = packet.path.encapsulation;
            demand.service = headers.service;
        }
        demand.cut += frame.is_cut;
        demand.bad_icrc += !frame.has_good_icrc && !frame.is_cut;
        const auto reach = [&](abi::Key key, std::uint64_t address, std::uint64_t length) {
            auto& range = demand.keys[key.value];
            range.begin = std::min(range.begin, address);
            range.end = std::max(range.end, address > ~length ? ~std::uint64_t{0} : address + length);
        };
        if (traits.has_reth && headers.reth.length != 0)
            reach(headers.reth.rkey, headers.reth.address, headers.reth.length);
        if (traits.has_atomic)
            reach(headers.atomic.rkey, headers.atomic.address, atomic_bytes);
        if (traits.kind == Kind::read_request)
            read_before = {headers.psn, headers.reth.length};
        if (traits.kind == Kind::send) {
            message_bytes = (traits.is_first ? 0 : message_bytes) + packet.payload.size();
            demand.most_receive_bytes = std::max(demand.most_receive_bytes, message_bytes);
        }
        const bool is_send_end = traits.kind == Kind::send && traits.is_last;
        demand.receives += is_send_end || (traits.kind == Kind::write && traits.has_immediate);
    });
    if (!read)
        return std::unexpected(read.error());
    demand.mtu = guess.value();
    demand.first_psn = *first;
    return demand;
}

std::expected<Losses, std::string> each_request(const OpenCapture& open, const Demand& demand,
                                                const Rewriting& rewriting,
                                                const std::function<void(CapturedRequest)>& take) {
    const auto each = [&](auto&& visit) {
        return each_packet(open, nullptr, [&](std::uint64_t number, std::int64_t time_ns, RoceFrame& frame) {
            if (is_request(frame.packet) && flow_of(frame.packet) == demand.flow)
                visit(number, time_ns, frame.packet);
        });
    };
    // Which messages are not whole, before the first packet of one is given.
    std::set<std::uint64_t> broken;
    MessageTrack first(demand.mtu);
    auto read = each([&](std::uint64_t number, std::int64_t, const Packet& packet) {
        if (const auto step = first.take(packet, number); step.broken_message != 0)
            broken.insert(step.broken_message);
    });
    if (!read)
        return std::unexpected(read.error());
    if (first.open_message() != 0)
        broken.insert(first.open_message());

    Losses losses;
    losses.messages = broken.size();
    MessageTrack track(demand.mtu);
    std::uint32_t removed = 0;          // PSNs, so far
    std::optional<abi::Psn> first_kept; // since the last gap
    std::optional<std::int64_t> begin_ns;
    read = each([&](std::uint64_t number, std::int64_t time_ns, Packet& packet) {
        using Place = MessageTrack::Place;
        const auto step = track.take(packet, number);
        auto& headers = packet.rdma();
        if (step.missing != 0) {
            ++losses.gaps;
            losses.missing += step.missing;
            removed += step.missing;
            first_kept.reset();
            if (losses.frames.size() < Losses::most_told)
                losses.frames.push_back(number);
        }
        const bool is_left_out =
            step.place == Place::orphan || (step.place != Place::again && broken.contains(step.message));
        if (is_left_out) {
            removed += step.psns;
            first_kept.reset();
        }
        const bool is_stale = step.place == Place::again && (!first_kept || headers.psn.is_before(*first_kept));
        if (is_left_out || is_stale) {
            ++losses.packets;
            return;
        }
        losses.again += step.place == Place::again;
        if (!first_kept)
            first_kept = headers.psn;
        const auto rewrite = [&](abi::Key& key, std::uint64_t& address) {
            if (const auto found = rewriting.keys.find(key.value); found != rewriting.keys.end()) {
                key = found->second.key;
                address += found->second.moved_by;
            }
        };
        const auto& traits = packet.traits();
        if (traits.has_reth)
            rewrite(headers.reth.rkey, headers.reth.address);
        if (traits.has_atomic)
            rewrite(headers.atomic.rkey, headers.atomic.address);
        std::uint64_t nowhere = 0;
        if (traits.has_invalidate)
            rewrite(headers.invalidate, nowhere);
        headers.psn = abi::Psn{headers.psn.value - demand.first_psn.value + rewriting.first_psn.value - removed};
        headers.destination = rewriting.destination;
        headers.pkey = 0xffff;
        packet.path.destination_mac = rewriting.destination_mac;
        if (!begin_ns)
            begin_ns = time_ns;
        take({number, std::max<std::int64_t>(0, time_ns - *begin_ns), packet});
    });
    if (!read)
        return std::unexpected(read.error());
    return losses;
}

} // namespace platform::importer
