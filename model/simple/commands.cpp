#include "model/simple/commands.h"

#include "abi/simple/queue.h"
#include "abi/wire/infiniband.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

namespace model::simple {

using namespace abi::simple;
using port::Time;

namespace {

constexpr std::uint64_t cq_context_bytes = 64, qp_context_bytes = 512, region_context_bytes = 64;
constexpr std::uint64_t page_entry_bytes = 8, ring_alignment = 64;
constexpr unsigned least_log_page = 12, most_log_page = 30;
constexpr std::uint32_t most_number = 1 << 24; ///< of protection domains and queue pairs (IBA 10.2.3, 10.2.4)

template <class L> abi::ConstView<L> as(std::span<const std::byte, arguments_bytes> arguments) {
    return abi::ConstView<L>(std::span<const std::byte>(arguments));
}
Answered refuse(Status status) { return {.status = status}; }

std::uint64_t bytes_of(const Region& region) { return region_context_bytes + region.pages.size() * page_entry_bytes; }

} // namespace

Answered Commands::execute(Command command, Arguments arguments, const port::Gid& gid, Time at) {
    const auto number = as<OneNumber>(arguments).get<"number">();
    switch (command) {
    case Command::nop: return {};
    case Command::create_region: return create_region(arguments, at);
    case Command::destroy_region: return destroy_region(abi::Key{number}, at);
    case Command::create_cq: return create_cq(arguments);
    case Command::destroy_cq: return destroy_cq(number);
    case Command::create_qp: return create_qp(arguments);
    case Command::destroy_qp: return destroy_qp(number);
    case Command::connect_qp: return connect_qp(arguments, gid);
    case Command::fail_qp:
    case Command::query_qp: {
        auto* qp = objects_.queue_pairs.find(number);
        if (qp == nullptr)
            return refuse(Status::no_object);
        if (command == Command::fail_qp && qp->state != QpState::error) {
            qp->answers.clear();
            requester_.enter_error(*qp, at);
        }
        return {.result = static_cast<std::uint32_t>(qp->state)};
    }
    }
    return refuse(Status::bad_command);
}

Answered Commands::create_region(Arguments arguments, Time at) {
    const auto in = as<CreateRegion>(arguments);
    const auto log_page = in.get<"log_page_size">();
    const auto iova = in.get<"iova">(), length = in.get<"length">(), list = in.get<"page_list">();
    if (log_page < least_log_page || log_page > most_log_page || length == 0 || iova + length < iova ||
        in.get<"pd">() >= most_number || list % page_entry_bytes != 0)
        return refuse(Status::bad_argument);
    if (objects_.regions.is_full())
        return refuse(Status::no_number);
    const auto page_bytes = std::uint64_t{1} << log_page;
    const auto in_page = iova & (page_bytes - 1);
    const auto pages = ((in_page + length - 1) >> log_page) + 1; // no overflow: the end of the range is below 2^64
    const auto bytes = region_context_bytes + pages * page_entry_bytes;
    if (pages > objects_.memory.bytes() / page_entry_bytes || !objects_.memory.take(bytes))
        return refuse(Status::no_memory);
    Region region{.iova = iova,
                  .length = length,
                  .pd = in.get<"pd">(),
                  .local_write = in.get<"local_write">(),
                  .remote_write = in.get<"remote_write">(),
                  .remote_read = in.get<"remote_read">(),
                  .log_page_size = log_page,
                  .pages = std::vector<std::uint64_t>(pages)};
    std::array<std::byte, 4096> piece;
    auto done = at;
    for (std::uint64_t i = 0; i < pages;) {
        const auto count = std::min<std::uint64_t>(pages - i, piece.size() / page_entry_bytes);
        const auto part = std::span(piece).first(count * page_entry_bytes);
        const auto read =
            memory_.read(abi::BusAddress{list + i * page_entry_bytes}, part, done, port::Purpose::control);
        done = std::max(done, read.done);
        bool is_good = read.is_ok();
        for (std::uint64_t k = 0; k < count && is_good; ++k, ++i) {
            region.pages[i] = abi::load<std::uint64_t, abi::Endian::little>(part.data() + k * page_entry_bytes);
            is_good = (region.pages[i] & (page_bytes - 1)) == 0;
        }
        if (!is_good) {
            objects_.memory.give_back(bytes);
            return {.status = read.is_ok() ? Status::bad_argument : Status::unreadable, .done = done};
        }
    }
    return {.result = objects_.regions.add(std::move(region)).value, .done = done};
}

Answered Commands::destroy_region(abi::Key key, Time) {
    const auto* region = objects_.regions.find(key);
    if (region == nullptr)
        return refuse(Status::no_object);
    objects_.memory.give_back(bytes_of(*region));
    objects_.regions.remove(key);
    return {};
}

Answered Commands::create_cq(Arguments arguments) {
    const auto in = as<CreateCq>(arguments);
    if (in.get<"log_entries">() > log_max_cq_entries || in.get<"ring">() % ring_alignment != 0)
        return refuse(Status::bad_argument);
    if (objects_.completion_queues.is_full())
        return refuse(Status::no_number);
    if (!objects_.memory.take(cq_context_bytes))
        return refuse(Status::no_memory);
    auto queue = std::make_unique<CompletionQueue>();
    queue->ring = in.get<"ring">();
    queue->entries = 1u << in.get<"log_entries">();
    auto& made = *queue;
    made.number = abi::Cqn{*objects_.completion_queues.add(std::move(queue))};
    return {.result = made.number.value};
}

Answered Commands::destroy_cq(std::uint32_t number) {
    const auto* queue = objects_.completion_queues.find(number);
    if (queue == nullptr)
        return refuse(Status::no_object);
    if (queue->users != 0)
        return refuse(Status::busy);
    objects_.completion_queues.remove(number);
    objects_.memory.give_back(cq_context_bytes);
    return {};
}

Answered Commands::create_qp(Arguments arguments) {
    const auto in = as<CreateQp>(arguments);
    if (in.get<"log_sends">() > log_max_entries || in.get<"log_receives">() > log_max_entries ||
        in.get<"send_ring">() % ring_alignment != 0 || in.get<"receive_ring">() % ring_alignment != 0 ||
        in.get<"pd">() >= most_number)
        return refuse(Status::bad_argument);
    auto* send_cq = objects_.completion_queues.find(in.get<"send_cqn">());
    auto* receive_cq = objects_.completion_queues.find(in.get<"receive_cqn">());
    if (send_cq == nullptr || receive_cq == nullptr)
        return refuse(Status::no_object);
    if (objects_.queue_pairs.is_full())
        return refuse(Status::no_number);
    auto qp = std::make_unique<QueuePair>();
    qp->sends = 1u << in.get<"log_sends">();
    qp->receives = 1u << in.get<"log_receives">();
    qp->messages.resize(std::min(qp->sends, std::bit_ceil(config_.outstanding)));
    qp->card_bytes =
        qp_context_bytes + (qp->messages.size() + QueuePair::receives_kept) * std::uint64_t{Descriptor::size};
    if (!objects_.memory.take(qp->card_bytes))
        return refuse(Status::no_memory);
    qp->serial = ++serial_;
    qp->pd = in.get<"pd">();
    qp->send_ring = in.get<"send_ring">();
    qp->receive_ring = in.get<"receive_ring">();
    qp->send_cq = send_cq, qp->receive_cq = receive_cq;
    ++send_cq->users, ++receive_cq->users;
    auto& made = *qp;
    made.number = abi::Qpn{*objects_.queue_pairs.add(std::move(qp))};
    return {.result = made.number.value};
}

Answered Commands::destroy_qp(std::uint32_t number) {
    auto* qp = objects_.queue_pairs.find(number);
    if (qp == nullptr)
        return refuse(Status::no_object);
    --qp->send_cq->users, --qp->receive_cq->users;
    ready_.forget(*qp);
    objects_.memory.give_back(qp->card_bytes);
    objects_.queue_pairs.remove(number);
    return {};
}

Answered Commands::connect_qp(Arguments arguments, const port::Gid& gid) {
    const auto in = as<ConnectQp>(arguments);
    auto* qp = objects_.queue_pairs.find(in.get<"qpn">());
    if (qp == nullptr)
        return refuse(Status::no_object);
    if (qp->state != QpState::reset)
        return refuse(Status::bad_state);
    const auto mtu = abi::wire::mtu_bytes(static_cast<std::uint8_t>(in.get<"mtu">()));
    if (mtu == 0 || in.get<"reads_sent">() == 0 || in.get<"reads_sent">() > max_reads ||
        in.get<"reads_taken">() > max_reads)
        return refuse(Status::bad_argument);
    qp->path = path_of(in, gid);
    qp->remote = abi::Qpn{in.get<"remote_qpn">()};
    qp->mtu = mtu;
    qp->remote_write = in.get<"remote_write">();
    qp->remote_read = in.get<"remote_read">();
    qp->reads_sent = in.get<"reads_sent">();
    qp->reads_taken = in.get<"reads_taken">();
    qp->retry_count = qp->retries_left = static_cast<std::uint8_t>(in.get<"retry_count">());
    qp->rnr_retry = qp->rnr_left = static_cast<std::uint8_t>(in.get<"rnr_retry">());
    qp->rnr_timer = static_cast<std::uint8_t>(in.get<"rnr_timer">());
    // IBA 9.7.6.1.3: 4.096 us times a power of two.
    if (const auto code = in.get<"ack_timeout">(); code != 0)
        qp->timeout = std::chrono::nanoseconds{4096} * (std::int64_t{1} << code);
    qp->next_psn = qp->acknowledged = qp->unsent = abi::Psn{in.get<"send_psn">()};
    qp->expected = abi::Psn{in.get<"receive_psn">()};
    qp->state = QpState::ready;
    return {};
}

port::Path Commands::path_of(abi::ConstView<ConnectQp> in, const port::Gid& gid) const {
    port::Path path;
    path.service_level = static_cast<std::uint8_t>(in.get<"service_level">());
    path.traffic_class = static_cast<std::uint8_t>(in.get<"traffic_class">());
    path.hop_limit = static_cast<std::uint8_t>(in.get<"hop_limit">());
    path.source_gid = gid;
    path.destination_gid = in.get<"remote_gid">();
    if (!config_.is_ethernet) {
        path.encapsulation = port::Encapsulation::infiniband;
        path.source_lid = config_.lid;
        path.destination_lid = static_cast<std::uint16_t>(in.get<"remote_lid">());
        return path;
    }
    // An IPv4 address stands in the last four bytes of a GID, behind ten zeroes and two ones (annex A17.4.5).
    const bool is_ipv4 = std::ranges::all_of(std::span(gid).first(10), [](std::byte b) { return b == std::byte{}; }) &&
                         gid[10] == std::byte{0xff} && gid[11] == std::byte{0xff};
    path.encapsulation = is_ipv4 ? port::Encapsulation::roce_v2_ipv4 : port::Encapsulation::roce_v2_ipv6;
    path.source_mac = config_.mac;
    path.destination_mac = in.get<"remote_mac">();
    path.udp_source_port = static_cast<std::uint16_t>(in.get<"udp_source_port">());
    return path;
}

} // namespace model::simple
