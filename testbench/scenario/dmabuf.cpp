#include "testbench/scenario/dmabuf.h"

#include "sw/mlx/memory/pager.h"
#include "testbench/scenario/dmabuf_memory.h"
#include "testbench/scenario/endpoint.h"
#include "testbench/scenario/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

namespace scenario {

using sw::failure;
using sw::mlx::CompletionStatus;
using sw::mlx::DmaBufMode;
using sw::mlx::SendOperation;
using namespace std::chrono_literals;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

constexpr std::array steps{
    DmaBufStep{"pinned: WRITE", SendOperation::write, DmaBufMode::pinned},
    DmaBufStep{"pinned: READ", SendOperation::read, DmaBufMode::pinned},
    DmaBufStep{"revocable: WRITE", SendOperation::write, DmaBufMode::revocable},
    DmaBufStep{"revocable: READ", SendOperation::read, DmaBufMode::revocable},
    DmaBufStep{"revoked in the middle of a WRITE", SendOperation::write, DmaBufMode::revocable, Meanwhile::revoke},
    DmaBufStep{"reset, connected anew: WRITE", SendOperation::write, DmaBufMode::revocable, Meanwhile::nothing, true},
    DmaBufStep{"revoked in the middle of a READ", SendOperation::read, DmaBufMode::revocable, Meanwhile::revoke},
    DmaBufStep{"reset, connected anew: READ", SendOperation::read, DmaBufMode::revocable, Meanwhile::nothing, true},
    DmaBufStep{"on demand: WRITE", SendOperation::write, DmaBufMode::on_demand},
    DmaBufStep{"on demand: READ", SendOperation::read, DmaBufMode::on_demand},
    DmaBufStep{"migrated in the middle of a WRITE", SendOperation::write, DmaBufMode::on_demand, Meanwhile::move},
    DmaBufStep{"migrated in the middle of a READ", SendOperation::read, DmaBufMode::on_demand, Meanwhile::move},
};

constexpr std::chrono::nanoseconds patience = 2s, afterwards = 1ms; ///< for a completion; for what is late

constexpr std::array only_sender{Owner::sender};
constexpr std::array only_next{Owner::next};
constexpr std::array either{Owner::nobody, Owner::sender};

/// What B tells A to do. Step `none` is the end.
struct Order {
    static constexpr std::size_t none = ~std::size_t{0};
    std::size_t step = none;
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
};

/// What came of it.
struct Answer {
    bool has_completion = false;
    CompletionStatus status{};
    std::chrono::nanoseconds took{};
    std::uint64_t arrived = 0;       ///< bytes of a READ
    std::array<char, 64> sha256{};   ///< of what a READ has filled, or a WRITE was sent from
    std::array<char, 200> finding{}; ///< ends with 0
};

/// What the specification has for a request on memory that the responder's owner takes away (IBA 9.7.5.2.4: NAK, remote
/// access error); else it succeeds.
CompletionStatus expected_status(const DmaBufStep& step) {
    return step.meanwhile == Meanwhile::revoke ? CompletionStatus::remote_access_error : CompletionStatus::success;
}

bool is_in_error(Endpoint& endpoint) {
    const auto context = endpoint.queue_pair().query();
    return context && context->view().get<"state">() == abi::prm::QpState::err;
}

sw::Result<void> begin_again(Endpoint& endpoint) {
    TRY(endpoint.reset());
    return endpoint.connect();
}

/// Of a READ's target or of a WRITE's source on A, after the transfer.
std::string look_at_user(const DmaBufStep& step, std::size_t number, std::span<const std::byte> memory, bool is_done) {
    if (step.operation == SendOperation::write || is_done)
        return find_foreign(memory, number, only_sender);
    return find_foreign(memory, number, either);
}

/// B's steps, one after the other.
class Lender {
public:
    Lender(Endpoint& endpoint, const DmaBufOptions& options) : endpoint_(endpoint), options_(options) {}
    sw::Result<void> run(std::size_t number, DmaBufStepReport& report);

private:
    std::uint64_t page_faults() const;
    bool is_target(const DmaBufStep& step) const { return step.operation == SendOperation::write; }
    sw::Result<void> transfer(const DmaBufStep& step, std::size_t number, DmaBufStepReport& report);
    void get_in_the_way(const DmaBufStep& step, std::size_t number, DmaBufStepReport& report);
    void hear_of_the_end(DmaBufStepReport& report);
    void judge_end(const DmaBufStep& step, const Answer& answer, DmaBufStepReport& report);
    std::string judge_memory(const DmaBufStep& step, std::size_t number, const Answer& answer,
                             DmaBufStepReport& report);

    Endpoint& endpoint_;
    const DmaBufOptions& options_;
    std::optional<ExportedPart> part_;
    Bytes snapshot_;                 ///< of the part, at the end or when it had been taken back
    bool is_somebody_elses_ = false; ///< the part
};

void find(DmaBufStepReport& report, std::string what) {
    if (report.finding.empty())
        report.finding = std::move(what);
}

/// The exporter's side, in the middle of the transfer. When it has its memory back, that is given away.
void Lender::get_in_the_way(const DmaBufStep& step, std::size_t number, DmaBufStepReport& report) {
    if (!options_.wait_for_middle())
        find(report, "the transfer had no middle to be interrupted in");
    const bool is_revoked = step.meanwhile == Meanwhile::revoke;
    if (const auto done = is_revoked ? part_->revoke() : part_->evict(); !done)
        return find(report,
                    fmt::format("the {} failed: {}", is_revoked ? "revocation" : "migration", done.error().what));
    snapshot_ = part_->left();
    part_->put(number, Owner::next);
    is_somebody_elses_ = true;
}

std::uint64_t Lender::page_faults() const {
    const auto* pager = endpoint_.context().device().pager();
    return pager == nullptr ? 0 : pager->brought() + pager->refused();
}

void Lender::hear_of_the_end(DmaBufStepReport& report) {
    const auto event = endpoint_.context().get_async_event(1s);
    if (!event)
        return;
    report.owner_heard = fmt::format("{}{}", abi::prm::name(event->type),
                                     event->number == endpoint_.queue_pair().number().value ? "" : " of another queue");
}

void Lender::judge_end(const DmaBufStep& step, const Answer& answer, DmaBufStepReport& report) {
    const auto wanted = expected_status(step);
    if (!answer.has_completion)
        report.ended_with = "nothing within 2 s";
    else
        report.ended_with = sw::mlx::name(answer.status);
    if (!answer.has_completion || answer.status != wanted)
        find(report, fmt::format("the request ended with {}, not with {}", report.ended_with, sw::mlx::name(wanted)));
    if (step.meanwhile == Meanwhile::move && report.owner_heard.empty())
        find(report, "host B's driver was asked for no page");
    if (wanted == CompletionStatus::success)
        return;
    hear_of_the_end(report);
    if (report.owner_heard != abi::prm::name(abi::prm::EventType::wq_access_error))
        find(report, fmt::format("host B heard {}, not of an access error of its queue pair",
                                 report.owner_heard.empty() ? "nothing" : report.owner_heard));
    if (!is_in_error(endpoint_))
        find(report, "host B's queue pair is not in error");
}

/// What is wrong with it; empty: nothing.
std::string Lender::judge_memory(const DmaBufStep& step, std::size_t number, const Answer& answer,
                                 DmaBufStepReport& report) {
    const bool is_done = answer.has_completion && answer.status == CompletionStatus::success;
    const bool is_moved = step.meanwhile == Meanwhile::move;
    const auto held = is_moved ? part_->held() : snapshot_; // by the part's owner, at the end
    report.sha256_sent = sha256(contents(number, Owner::sender, options_.bytes));
    report.landed = is_target(step) ? count(held, number, Owner::sender) : answer.arrived;
    report.sha256_arrived = is_target(step) ? sha256(held) : std::string(answer.sha256.begin(), answer.sha256.end());

    // A card is not told of a posted write that does not arrive: it vouches for bytes that are not there.
    if (is_target(step) && is_done && report.landed != options_.bytes && find_foreign(held, number, either).empty())
        return fmt::format("the request ended with success, and {} of {} bytes are not there: {}",
                           options_.bytes - report.landed, options_.bytes,
                           options_.describe_losses ? options_.describe_losses() : "posted writes were lost");
    const std::span<const Owner> allowed = !is_target(step) || is_done ? std::span<const Owner>(only_sender) : either;
    if (const auto foreign = find_foreign(held, number, allowed); !foreign.empty())
        return "in the buffer, " + foreign;
    if (is_somebody_elses_) {
        if (const auto foreign = find_foreign(part_->left(), number, only_next); !foreign.empty())
            return "after the exporter had its memory back, in what is somebody else's now, " + foreign;
        const auto before = is_target(step) ? count(snapshot_, number, Owner::sender) : is_moved ? 1 : answer.arrived;
        if (before == options_.bytes || before == 0)
            return fmt::format("{} of {} bytes had landed when the exporter came: that was not the middle", before,
                               options_.bytes);
    }
    if (const auto at = part_->find_change())
        return fmt::format("beside the buffer, a byte of VRAM at {:#x} was written", *at);
    if (answer.finding[0] != 0)
        return fmt::format("in host A's memory, {}", answer.finding.data());
    if (is_done && report.sha256_arrived != report.sha256_sent)
        return "the bytes that arrived differ from those that were sent";
    return {};
}

sw::Result<void> Lender::transfer(const DmaBufStep& step, std::size_t number, DmaBufStepReport& report) {
    auto& peer = endpoint_.machine().peer;
    part_->put(number, is_target(step) ? Owner::nobody : Owner::sender);
    part_->note_surroundings();
    if (options_.boundary)
        options_.boundary(number, false);
    peer.send_value(Order{number, part_->region().iova().value, part_->region().rkey()});
    is_somebody_elses_ = false;
    const auto faults_before = page_faults();
    if (step.meanwhile != Meanwhile::nothing)
        get_in_the_way(step, number, report);
    Answer answer;
    if (!peer.receive_value(answer))
        return failure(EPIPE, endpoint_.machine().name + ": the peer gave up");
    report.took = answer.took;
    endpoint_.let(afterwards); // what is late lands now
    if (options_.boundary)
        options_.boundary(number, true);
    if (!is_somebody_elses_)
        snapshot_ = part_->held();
    if (const auto faults = page_faults() - faults_before; faults != 0)
        report.owner_heard = fmt::format("{} page fault{}", faults, faults == 1 ? "" : "s");
    judge_end(step, answer, report);
    const auto wrong = judge_memory(step, number, answer, report);
    if (!wrong.empty())
        report.finding += (report.finding.empty() ? "" : "; and ") + wrong;
    else if (!report.finding.empty())
        report.finding +=
            fmt::format("; {} of {} bytes landed, and none in a wrong place", report.landed, options_.bytes);
    return {};
}

sw::Result<void> Lender::run(std::size_t number, DmaBufStepReport& report) {
    const auto& step = steps[number];
    if (step.is_recovery) {
        endpoint_.machine().peer.send_value(Order{number});
        TRY(begin_again(endpoint_));
    }
    auto made = ExportedPart::make(endpoint_, options_.bytes, step.mode);
    if (!made) {
        report.ended_with = "registration refused";
        report.finding = fmt::format("host B cannot register its VRAM: {}; no byte was moved", made.error().what);
        return {};
    }
    part_.emplace(std::move(*made));
    TRY(transfer(step, number, report));
    TRY(part_->deregister());
    part_.reset();
    return {};
}

/// A's part of a step: its memory in DRAM, one request, and a look at the memory afterwards.
sw::Result<void> use(Endpoint& endpoint, const Order& order, std::uint64_t bytes) {
    const auto& step = steps[order.step];
    const auto number = order.step;
    auto memory = endpoint.context().allocate(bytes);
    if (!memory)
        return std::unexpected(std::move(memory.error()));
    auto region = endpoint.context().reg_mr(endpoint.pd(), *memory, sw::mlx::all_access);
    if (!region)
        return std::unexpected(std::move(region.error()));
    const auto mine = memory->bytes().first(bytes);
    std::ranges::copy(contents(number, step.operation == SendOperation::write ? Owner::sender : Owner::nobody, bytes),
                      mine.begin());
    const sw::mlx::Sge sge{region->iova().value, static_cast<std::uint32_t>(bytes), region->lkey()};
    const auto begin = endpoint.now();
    auto completion = endpoint.carry_out({.wr_id = number,
                                          .sge = &sge,
                                          .sge_count = 1,
                                          .operation = step.operation,
                                          .flags = sw::mlx::send_flag::signaled,
                                          .rkey = order.rkey,
                                          .remote_address = order.address},
                                         patience);
    if (!completion)
        return std::unexpected(std::move(completion.error()));
    Answer answer;
    answer.took = endpoint.now() - begin;
    answer.has_completion = completion->has_value();
    if (*completion)
        answer.status = (*completion)->status;
    const bool is_done = answer.has_completion && answer.status == CompletionStatus::success;
    if (!is_done)
        endpoint.let(afterwards);
    answer.arrived = count(mine, number, Owner::sender);
    const auto digest = sha256(mine);
    std::ranges::copy(digest, answer.sha256.begin());
    auto finding = look_at_user(step, number, mine, is_done);
    if (finding.empty() && !is_done && !is_in_error(endpoint))
        finding = "the queue pair is not in error";
    finding.copy(answer.finding.data(), answer.finding.size() - 1);
    endpoint.machine().peer.send_value(answer);
    return region->destroy();
}

} // namespace

std::span<const DmaBufStep> dmabuf_steps() { return steps; }

sw::Result<void> lend_memory(const Machine& machine, const DmaBufOptions& options, DmaBufReport& report) {
    auto opened = Endpoint::open(machine, options.endpoint);
    if (!opened)
        return std::unexpected(std::move(opened.error()));
    auto& endpoint = **opened;
    TRY(endpoint.connect());
    {
        Lender lender(endpoint, options);
        for (std::size_t number = 0; number < steps.size(); ++number) {
            TRY(lender.run(number, report.emplace_back()));
            if (!report.back().finding.empty())
                break;
        }
    }
    machine.peer.send_value(Order{});
    TRY(endpoint.close());
    char done = 0;
    return machine.peer.receive_value(done) ? sw::Result<void>{} : failure(EPIPE, machine.name + ": the peer gave up");
}

sw::Result<void> use_memory(const Machine& machine, const DmaBufOptions& options) {
    auto opened = Endpoint::open(machine, options.endpoint);
    if (!opened)
        return std::unexpected(std::move(opened.error()));
    auto& endpoint = **opened;
    TRY(endpoint.connect());
    for (Order order;;) {
        if (!machine.peer.receive_value(order))
            return failure(EPIPE, machine.name + ": the peer gave up");
        if (order.step == Order::none)
            break;
        TRY(order.rkey == 0 ? begin_again(endpoint) : use(endpoint, order, options.bytes));
    }
    TRY(endpoint.close());
    machine.peer.send_value('D');
    return {};
}

} // namespace scenario
