// Bringing a controller up and down. What it is asked afterwards is in admin.cpp.
#include "sw/nvme/controller.h"

#include "sw/transport/function.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace sw::nvme {

namespace {

using abi::nvme::ControllerConfiguration;
using abi::nvme::ShutdownStatus;
using namespace std::chrono_literals;

constexpr std::uint32_t all_ones = ~std::uint32_t{0};
constexpr auto patience_unit = 500ms; // of CAP.TO and CRTO
constexpr unsigned log_command_bytes = 6, log_completion_bytes = 4;
constexpr unsigned normal_shutdown = 1;

} // namespace

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

Result<std::unique_ptr<Controller>> Controller::open(transport::Transport& transport,
                                                     const ControllerOptions& options) {
    TRY(transport::enable_function(transport));
    std::unique_ptr<Controller> controller(new Controller(transport, options));
    if (auto begun = controller->begin(); !begun) {
        transport::disable_function(transport);
        return std::unexpected(begun.error());
    }
    return controller;
}

Controller::~Controller() { (void)close(); }

Result<void> Controller::begin() {
    if (transport_->bar_size(0) < abi::nvme::doorbells_offset + page_bytes)
        return failure(ENODEV,
                       fmt::format("open NVMe: BAR 0 of {:#x} bytes has no doorbells", transport_->bar_size(0)));
    if (registers_.get<"vs">() == all_ones)
        return failure(ENODEV, "open NVMe: the registers read as all ones: the function is gone");
    if (const auto smallest = registers_.get<"mpsmin">(); smallest != 0)
        return failure(ENODEV, fmt::format("open NVMe: memory pages of {:#x} bytes at least, ours have {:#x}",
                                           page_bytes << smallest, page_bytes));
    if ((registers_.get<"css">() & 1) == 0)
        return failure(ENODEV, "open NVMe: the controller has no NVM command set");
    stride_ = registers_.get<"dstrd">();
    facts_.largest_queue = registers_.get<"mqes">() + 1u;
    facts_.version = registers_.get<"vs">();
    if (options_.has_interrupts)
        TRY(transport_->enable_interrupts(1 + options_.queue_pairs));
    auto page = memory::Buffer::allocate(*transport_, page_bytes);
    if (!page)
        return std::unexpected(page.error());
    page_ = std::move(*page);
    is_open_ = true;
    return reset();
}

std::chrono::nanoseconds Controller::ready_timeout() const {
    const auto units = std::max<std::uint32_t>(registers_.get<"to">(), registers_.get<"crwmt">());
    return std::max<std::uint32_t>(units, 1) * patience_unit;
}

Result<void> Controller::disable() {
    abi::Block<ControllerConfiguration> configuration;
    abi::store<std::uint32_t, abi::Endian::little>(configuration.bytes.data(), registers_.get<"cc">());
    configuration.view().set<"en">(false);
    configuration.view().set<"shn">(0);
    registers_.set<"cc">(abi::load<std::uint32_t, abi::Endian::little>(configuration.bytes.data()));
    if (!transport::poll_until(*transport_, ready_timeout(), [&] { return !registers_.get<"rdy">(); }))
        return failure(ETIMEDOUT, "NVMe: the controller stays ready after CC.EN was cleared");
    return {};
}

Result<void> Controller::enable() {
    const auto entries = std::min(options_.admin_entries, facts_.largest_queue);
    // The admin queue has registers for doorbells always: shadow doorbells are for I/O queues.
    auto admin = QueuePair::make(*transport_, 0, stride_, {},
                                 {.entries = entries,
                                  .vector = options_.has_interrupts ? std::optional<std::uint16_t>(0) : std::nullopt,
                                  .largest_transfer = page_bytes});
    if (!admin)
        return std::unexpected(admin.error());
    admin_ = std::move(*admin);
    registers_.set_dword<"asqs">((entries - 1) << 16 | (entries - 1));
    registers_.set_qword<"asq">(admin_->submissions().bus);
    registers_.set_qword<"acq">(admin_->completions().bus);
    abi::Block<ControllerConfiguration> configuration;
    auto view = configuration.view();
    view.set<"ams">(options_.arbitration);
    view.set<"iosqes">(log_command_bytes);
    view.set<"iocqes">(log_completion_bytes);
    view.set<"en">(true);
    registers_.set<"cc">(abi::load<std::uint32_t, abi::Endian::little>(configuration.bytes.data()));
    const auto is_over = [&] { return registers_.get<"rdy">() || registers_.get<"cfs">(); };
    if (!transport::poll_until(*transport_, ready_timeout(), is_over))
        return failure(ETIMEDOUT, "NVMe: the controller does not become ready");
    if (registers_.get<"cfs">())
        return failure(EIO, "NVMe: the controller reports a fatal status when it is enabled");
    return {};
}

Result<void> Controller::reset() {
    TRY(disable());
    // It masters the bus no more: memory of queues may go now.
    shadow_ = {};
    is_used_.clear();
    TRY(enable());
    TRY(learn());
    return set_up_queues();
}

Result<void> Controller::set_up_queues() {
    abi::Block<abi::nvme::QueuesFeature> wanted;
    const auto last = std::max(options_.queue_pairs, 1u) - 1;
    wanted.view().set<"nsq">(last);
    wanted.view().set<"ncq">(last);
    const auto told = set_feature(abi::nvme::Feature::number_of_queues,
                                  abi::load<std::uint32_t, abi::Endian::little>(wanted.bytes.data()));
    if (!told)
        return std::unexpected(told.error());
    abi::Block<abi::nvme::QueuesFeature> granted;
    abi::store<std::uint32_t, abi::Endian::little>(granted.bytes.data(), *told);
    granted_ = std::min({options_.queue_pairs, granted.view().get<"nsq">() + 1u, granted.view().get<"ncq">() + 1u});
    is_used_.assign(granted_, false);
    // Before there are queues: those that are created from now on have shadow doorbells from their begin.
    return options_.shadow_doorbells && facts_.has_shadow_doorbells ? configure_shadow_doorbells() : Result<void>{};
}

Result<void> Controller::configure_shadow_doorbells() {
    if (abi::nvme::doorbell_offset(granted_ + 1u, false, stride_) > page_bytes)
        return {}; // a page has no room for so many queues: they keep registers
    if (shadow_pages_.size() == 0) {
        auto pages = memory::Buffer::allocate(*transport_, 2 * page_bytes);
        if (!pages)
            return std::unexpected(pages.error());
        shadow_pages_ = std::move(*pages);
    }
    std::ranges::fill(shadow_pages_.bytes(), std::byte{});
    Command command;
    command.view().set<"opcode">(static_cast<std::uint8_t>(abi::nvme::AdminOpcode::doorbell_buffer_config));
    command.view().set<"prp1">(shadow_pages_.bus());
    command.view().set<"prp2">(shadow_pages_.bus() + page_bytes);
    TRY(succeed(command));
    shadow_ = {.doorbells = shadow_pages_.data(), .events = shadow_pages_.data() + page_bytes};
    return {};
}

Result<void> Controller::shutdown() {
    abi::Block<ControllerConfiguration> configuration;
    abi::store<std::uint32_t, abi::Endian::little>(configuration.bytes.data(), registers_.get<"cc">());
    configuration.view().set<"shn">(normal_shutdown);
    registers_.set<"cc">(abi::load<std::uint32_t, abi::Endian::little>(configuration.bytes.data()));
    const auto is_complete = [&] {
        return static_cast<ShutdownStatus>(registers_.get<"shst">()) == ShutdownStatus::complete;
    };
    if (!transport::poll_until(*transport_, options_.admin_timeout, is_complete))
        return failure(ETIMEDOUT, "NVMe: the controller does not shut down");
    return {};
}

Result<void> Controller::close() {
    if (!std::exchange(is_open_, false))
        return {};
    const auto ended = shutdown();
    const auto disabled = disable();
    if (options_.has_interrupts)
        transport_->disable_interrupts();
    // Whatever it has answered: nothing of it reaches our memory any more when that is released.
    transport::disable_function(*transport_);
    return ended ? disabled : ended;
}

Result<std::unique_ptr<QueuePair>> Controller::create_queue_pair(QueueOptions options) {
    const auto free = std::ranges::find(is_used_, false);
    if (free == is_used_.end())
        return failure(ENOSPC, fmt::format("NVMe: all {} queue pairs are in use", granted_));
    const auto index = static_cast<std::size_t>(free - is_used_.begin());
    const auto number = static_cast<std::uint16_t>(index + 1);
    options.entries = std::min(options.entries, facts_.largest_queue);
    if (facts_.largest_transfer != 0)
        options.largest_transfer = std::min(options.largest_transfer, facts_.largest_transfer);
    if (options.vector && !options_.has_interrupts)
        return failure(EINVAL, "NVMe: a queue with a vector, and the controller was opened without interrupts");
    auto queue = QueuePair::make(*transport_, number, stride_, shadow_, options);
    if (!queue)
        return std::unexpected(queue.error());
    TRY(create(**queue));
    is_used_[index] = true;
    return std::move(*queue);
}

Result<void> Controller::create(const QueuePair& queue) {
    const auto entries = static_cast<std::uint16_t>(queue.entries() - 1);
    Command completions;
    completions.view().set<"opcode">(static_cast<std::uint8_t>(abi::nvme::AdminOpcode::create_cq));
    abi::View<abi::nvme::CreateCq> cq(completions.bytes);
    cq.set<"prp1">(queue.completions().bus);
    cq.set<"qid">(queue.number());
    cq.set<"qsize">(entries);
    cq.set<"pc">(true);
    cq.set<"ien">(queue.vector().has_value());
    cq.set<"iv">(queue.vector().value_or(0));
    TRY(succeed(completions));
    Command submissions;
    submissions.view().set<"opcode">(static_cast<std::uint8_t>(abi::nvme::AdminOpcode::create_sq));
    abi::View<abi::nvme::CreateSq> sq(submissions.bytes);
    sq.set<"prp1">(queue.submissions().bus);
    sq.set<"qid">(queue.number());
    sq.set<"qsize">(entries);
    sq.set<"pc">(true);
    sq.set<"qprio">(queue.priority());
    sq.set<"cqid">(queue.number());
    auto created = succeed(submissions);
    if (created)
        return {};
    Command undo;
    undo.view().set<"opcode">(static_cast<std::uint8_t>(abi::nvme::AdminOpcode::delete_cq));
    abi::View<abi::nvme::DeleteQueue>(undo.bytes).set<"qid">(queue.number());
    if (!succeed(undo))
        (void)disable();
    return std::unexpected(created.error());
}

Result<void> Controller::destroy(std::unique_ptr<QueuePair> queue) {
    if (!queue || queue->number() == 0 || queue->number() > is_used_.size() || !is_used_[queue->number() - 1u])
        return {}; // gone with a reset
    // The submission queue first: one is attached to the completion queue until then.
    for (const auto opcode : {abi::nvme::AdminOpcode::delete_sq, abi::nvme::AdminOpcode::delete_cq}) {
        Command command;
        command.view().set<"opcode">(static_cast<std::uint8_t>(opcode));
        abi::View<abi::nvme::DeleteQueue>(command.bytes).set<"qid">(queue->number());
        if (auto deleted = succeed(command); !deleted) {
            (void)disable();
            return std::unexpected(deleted.error());
        }
    }
    is_used_[queue->number() - 1u] = false;
    return {};
}

} // namespace sw::nvme
