#include "sw/nvmf/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace sw::nvmf {

using abi::nvme::ConnectData;
using abi::nvme::FabricsStatus;
using abi::nvme::RdmaRejection;
using abi::nvme::Status;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

constexpr std::uint16_t record_format = 0;
constexpr std::uint32_t most_entries = 4096, admin_pieces = 64;
constexpr std::uint32_t hosts_admin_entries = 32; // what hosts ask for, whatever I/O queues have
/// Connect Invalid Parameters: where the parameter is, and whether in the data ("IPO", "IATTR").
constexpr std::uint32_t in_data = 1 << 16;
template <abi::Name Row> Answer invalid_parameter_of_data() {
    return Answer::refuse(FabricsStatus::invalid_parameters, in_data | ConnectData::field<Row>::offset);
}
template <abi::Name Row> Answer invalid_parameter_of_command() {
    return Answer::refuse(FabricsStatus::invalid_parameters, abi::nvme::Connect::field<Row>::offset);
}

std::string text_of(const std::array<std::byte, 256>& field) {
    const std::string text(reinterpret_cast<const char*>(field.data()), field.size());
    return text.substr(0, text.find('\0'));
}

} // namespace

Result<std::unique_ptr<Target>> Target::open(nvme::Controller& drive, const RdmaPort& port,
                                             const PayloadMemory& payload, const TargetOptions& options) {
    const auto page = nvme::page_bytes;
    if (options.entries < 2 || options.entries > most_entries)
        return failure(
            EINVAL, fmt::format("target: queues of {} entries; there can be 2 to {}", options.entries, most_entries));
    if (options.largest_transfer < page || !std::has_single_bit(options.largest_transfer))
        return failure(EINVAL, fmt::format("target: transfers of {} bytes; a power of two of pages of {} can be",
                                           options.largest_transfer, page));
    if (const auto most = drive.facts().largest_transfer; most != 0 && options.largest_transfer > most)
        return failure(EINVAL, fmt::format("target: transfers of {} bytes, and the drive moves {} at most",
                                           options.largest_transfer, most));
    if (options.entries > drive.facts().largest_queue)
        return failure(EINVAL, fmt::format("target: queues of {} entries, and the drive's have {} at most",
                                           options.entries, drive.facts().largest_queue));
    if (drive.queue_pairs() < 2)
        return failure(EINVAL, "target: the drive has one queue pair, which is the target's own; hosts need others");
    if (options.in_capsule_bytes % abi::nvme::capsule_unit_bytes != 0 ||
        options.in_capsule_bytes > options.largest_transfer)
        return failure(EINVAL,
                       fmt::format("target: {} bytes in a capsule; whole units of {}, no more than a transfer "
                                   "of {}, can be",
                                   options.in_capsule_bytes, abi::nvme::capsule_unit_bytes, options.largest_transfer));
    if (payload.bytes < options.largest_transfer || payload.drive % page != 0)
        return failure(EINVAL, fmt::format("target: memory of {} bytes at {:#x} has no room for a transfer of {}",
                                           payload.bytes, payload.drive, options.largest_transfer));
    std::unique_ptr<Target> target(new Target(drive, port, payload, options));
    TRY(target->start());
    return target;
}

Result<void> Target::start() {
    const auto numbers = drive_.active_namespaces();
    if (!numbers)
        return std::unexpected(numbers.error());
    for (const auto number : *numbers) {
        const auto space = nvme::Namespace::open(drive_, number);
        if (space)
            spaces_.push_back(*space);
        else if (space.error().code != ENOTSUP) // with metadata, which capsules do not carry here
            return std::unexpected(space.error());
    }
    if (spaces_.empty())
        return failure(ENODEV, "target: the drive has no namespace that can be offered");
    auto pages = HostPayload::make(*port_.context, port_.pd, drive_.transport(), admin_pieces * nvme::page_bytes);
    if (!pages)
        return std::unexpected(pages.error());
    admin_pages_.emplace(std::move(*pages));
    admin_.emplace(admin_pages_->memory(), nvme::page_bytes);
    auto queue = drive_.create_queue_pair({.entries = 2});
    if (!queue)
        return std::unexpected(queue.error());
    flushes_ = std::move(*queue);
    return {};
}

Target::~Target() {
    for (auto& connection : queues_)
        connection.queue->end("the target goes");
    if (flushes_)
        release(std::move(flushes_));
}

std::optional<RdmaRejection> Target::check(abi::ConstView<abi::nvme::RdmaRequest> request) const {
    if (request.get<"recfmt">() != record_format)
        return RdmaRejection::invalid_recfmt;
    const auto number = request.get<"qid">();
    if (number >= drive_.queue_pairs()) // one of the drive's is ours, one here is the admin queue
        return RdmaRejection::invalid_qid;
    const auto most = number == 0 ? std::max(hosts_admin_entries, options_.entries) : options_.entries;
    if (request.get<"hsqsize">() == 0 || request.get<"hsqsize">() + 1u > most)
        return RdmaRejection::invalid_hsqsize;
    if (request.get<"hrqsize">() <= request.get<"hsqsize">())
        return RdmaRejection::invalid_hrqsize; // not every response could come
    // A controller of zero is any: hosts of older kernels say nothing there.
    if (const auto id = request.get<"cntlid">(); number != 0 && id != 0 && !controllers_.contains(id))
        return RdmaRejection::invalid_cntlid;
    return std::nullopt;
}

ConnectionReply Target::accept(const ConnectionRequest& request) {
    ConnectionReply reply;
    const auto reject = [&](RdmaRejection why) {
        reply.rejected.view().set<"recfmt">(record_format).set<"sts">(static_cast<std::uint16_t>(why));
        return reply;
    };
    const abi::ConstView<abi::nvme::RdmaRequest> said(request.data.bytes);
    if (const auto why = check(said))
        return reject(*why);
    const auto number = said.get<"qid">();
    const auto entries = said.get<"hsqsize">() + 1u;
    auto queue = TargetQueue::make(port_, *this, drive_, *admin_, payload_, counters_, number, entries,
                                   number == 0 ? ConnectData::size : options_.in_capsule_bytes);
    if (!queue || !(*queue)->channel().connect(request.peer))
        return reject(RdmaRejection::no_resources);
    reply.is_accepted = true;
    reply.peer = (*queue)->channel().self();
    reply.accepted.view().set<"recfmt">(record_format).set<"crqsize">(static_cast<std::uint16_t>(entries));
    queues_.push_back({request.peer, std::move(*queue), port_.context->transport().now()});
    return reply;
}

bool Target::poll() {
    if (is_polling_)
        return false; // a driver below waits, and lets this machine go on
    is_polling_ = true;
    bool has_moved = false;
    for (std::size_t i = 0; i < queues_.size(); ++i)
        has_moved |= queues_[i].queue->poll();
    const auto now = port_.context->transport().now();
    for (auto& [id, controller] : controllers_) {
        if (controller.take_reset()) {
            end_queues(id, false, "the host has reset its controller");
            abort_parked(id);
        }
        if (controller.take_shutdown()) {
            flush();
            controller.has_shut_down();
        }
        if (controller.is_silent(now))
            end_queues(id, true, "the host is silent for longer than its keep alive timer");
    }
    end_strangers(now);
    clean_up();
    is_polling_ = false;
    return has_moved;
}

void Target::disconnect(const mlx::Peer& peer) {
    const auto found =
        std::ranges::find_if(queues_, [&](const Connection& one) { return is_same_end(one.peer, peer); });
    if (found == queues_.end())
        return;
    auto last = std::exchange(last_end_, {});
    found->queue->end("the host has disconnected");
    clean_up();
    last_end_ = std::move(last);
}

/// A queue that has ended goes, and with an admin queue its controller and the other queues of that.
void Target::clean_up() {
    for (auto& connection : queues_)
        if (connection.queue->is_over() && connection.queue->number() == 0 && connection.queue->controller() != 0)
            end_queues(connection.queue->controller(), true, connection.queue->why());
    std::erase_if(queues_, [&](const Connection& connection) {
        const auto& queue = *connection.queue;
        if (!queue.is_over())
            return false;
        last_end_ = queue.why();
        if (queue.number() == 0)
            controllers_.erase(queue.controller());
        return true;
    });
}

void Target::end_queues(std::uint16_t controller, bool with_admin, const std::string& why) {
    for (auto& connection : queues_)
        if (connection.queue->controller() == controller && (with_admin || connection.queue->number() != 0))
            connection.queue->end(why);
}

/// What waited for an event that a controller would have had does so no longer.
void Target::abort_parked(std::uint16_t controller) {
    for (auto& connection : queues_)
        if (connection.queue->controller() == controller)
            connection.queue->abort_parked();
}

/// Connections whose host has not said who it is: they would have the place of others.
void Target::end_strangers(std::chrono::nanoseconds now) {
    for (auto& connection : queues_)
        if (connection.queue->controller() == 0 && now - connection.begin > options_.patience)
            connection.queue->end("the host sends no Connect");
}

void Target::flush() {
    for (const auto& space : spaces_)
        (void)space.flush(*flushes_); // a shutdown ends in any case
}

Answer Target::connect(TargetQueue& queue, abi::ConstView<abi::nvme::Connect> command,
                       std::span<const std::byte> data) {
    abi::Block<ConnectData> host;
    if (data.size() != host.bytes.size())
        return Answer::refuse(Status::invalid_data_sgl_length);
    std::ranges::copy(data, host.bytes.begin());
    if (command.get<"recfmt">() != record_format)
        return Answer::refuse(FabricsStatus::incompatible_format);
    if (command.get<"qid">() != queue.number())
        return invalid_parameter_of_command<"qid">();
    if (command.get<"sqsize">() + 1u != queue.entries())
        return invalid_parameter_of_command<"sqsize">();
    const abi::ConstView<ConnectData> said(host.bytes);
    if (text_of(said.get<"subnqn">()) != options_.subsystem)
        return invalid_parameter_of_data<"subnqn">();
    if (text_of(said.get<"hostnqn">()).empty())
        return invalid_parameter_of_data<"hostnqn">();
    return queue.number() == 0 ? connect_admin(queue, command, host) : connect_io(queue, host);
}

std::uint16_t Target::free_id() const {
    std::uint16_t id = 1;
    while (controllers_.contains(id))
        ++id;
    return id;
}

Answer Target::connect_admin(TargetQueue& queue, abi::ConstView<abi::nvme::Connect> command,
                             const abi::Block<ConnectData>& host) {
    if (abi::ConstView<ConnectData>(host.bytes).get<"cntlid">() != abi::nvme::any_controller)
        return invalid_parameter_of_data<"cntlid">(); // controllers here are made when they are asked for
    const auto id = free_id();
    if (id > abi::nvme::largest_controller_id)
        return Answer::refuse(FabricsStatus::controller_busy);
    controllers_.try_emplace(id, drive_, spaces_, options_, drive_.queue_pairs() - 1, id, host, command.get<"kato">(),
                             port_.context->transport().now());
    queue.belong_to(id, nullptr);
    return {.dw0 = id};
}

Answer Target::connect_io(TargetQueue& queue, const abi::Block<ConnectData>& host) {
    const auto id = abi::ConstView<ConnectData>(host.bytes).get<"cntlid">();
    const auto found = controllers_.find(id);
    if (found == controllers_.end())
        return invalid_parameter_of_data<"cntlid">();
    if (!found->second.is_of(host))
        return invalid_parameter_of_data<"hostid">();
    if (!found->second.is_ready())
        return Answer::refuse(Status::command_sequence_error);
    const bool is_taken = std::ranges::any_of(queues_, [&](const Connection& other) {
        return other.queue->controller() == id && other.queue->number() == queue.number();
    });
    if (is_taken || queue.number() > found->second.queues())
        return invalid_parameter_of_command<"qid">();
    auto made =
        drive_.create_queue_pair({.entries = queue.entries() + 1, .largest_transfer = options_.largest_transfer});
    if (!made)
        return Answer::refuse(FabricsStatus::controller_busy); // other hosts have them
    queue.belong_to(id, std::move(*made));
    return {.dw0 = id};
}

Answer Target::administer(TargetQueue& queue, TargetController::Command command, const AdminData& data) {
    auto& controller = controllers_.at(queue.controller());
    controller.hear(port_.context->transport().now());
    return controller.execute(command, data);
}

const nvme::Namespace* Target::find(std::uint32_t nsid) const {
    const auto found = std::ranges::find(spaces_, nsid, &nvme::Namespace::number);
    return found == spaces_.end() ? nullptr : &*found;
}

void Target::release(std::unique_ptr<nvme::QueuePair> queue) {
    (void)drive_.destroy(std::move(queue)); // whatever became of it, the drive uses its memory no more
}

std::size_t Target::under_way() const {
    std::size_t sum = 0;
    for (const auto& connection : queues_)
        sum += connection.queue->under_way();
    return sum;
}

} // namespace sw::nvmf
