#include "testbench/scenario/race.h"

#include "model/tlm/time.h"
#include "sw/mlx/umr.h"
#include "testbench/harness/cluster.h"
#include "testbench/harness/function_reset.h"
#include "testbench/scenario/race_memory.h"

#include <fmt/format.h>
#include <systemc>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace scenario::race {

using harness::Cluster;
using harness::must;
using harness::Side;
using sw::mlx::Completion;
using sw::mlx::CompletionStatus;
using sw::mlx::SendOperation;
using namespace std::chrono_literals;

namespace {

using Bytes = std::vector<std::byte>;

// In the order of their enumerations.
constexpr std::array<std::string_view, 4> operation_names{"write", "read", "send", "atomic"};
constexpr std::array<std::string_view, 7> action_names{"none", "revoke", "move", "unmap", "flr", "release", "migrate"};
constexpr std::array<std::string_view, 2> victim_names{"requester", "responder"};
constexpr std::array<std::string_view, 3> plant_names{"none", "stale_key", "missing_invalidation"};

constexpr std::uint64_t offset = 0x1dc8; ///< of the region in the buffer
constexpr std::uint64_t addend = 0x1234567;
constexpr unsigned before = 1, sent = 2, after = 3; ///< contents: what lies there, what comes, what the next owner has

/// Each byte tells the three contents apart.
std::byte content(unsigned kind, std::uint64_t i) {
    return static_cast<std::byte>((i * 13 + i / 4096) % 64 * 4 + kind);
}
Bytes contents(unsigned kind, std::uint64_t size) {
    Bytes bytes(size);
    for (std::uint64_t i = 0; i < size; ++i)
        bytes[i] = content(kind, i);
    return bytes;
}

Memory::Kind kind_of(Action action) {
    return action == Action::release   ? Memory::Kind::host
           : action == Action::migrate ? Memory::Kind::on_demand
                                       : Memory::Kind::revocable;
}

class Race {
public:
    Race(Cluster& cluster, const Setup& setup, Outcome& outcome)
        : cluster_(cluster), setup_(setup), outcome_(outcome),
          size_(setup.operation == Operation::atomic ? 8 : setup.bytes),
          owner_(setup.victim == Victim::responder ? cluster.b : cluster.a),
          other_(setup.victim == Victim::responder ? cluster.a : cluster.b) {}

    void run();

private:
    void violate(std::string what) { outcome_.violations.push_back(std::move(what)); }
    sw::mlx::MemoryRegion& region() { return memory_->region(); }
    bool is_responder() const { return setup_.victim == Victim::responder; }
    /// Whether the transfer brings bytes into the victim's memory.
    bool is_target() const;
    void set_up();
    void post();
    void act();
    void perform();
    void await();
    void settle();
    void check_status();
    void check_victim();
    void check_peer();
    void check_around();
    void take_down();
    /// What the next owner puts there.
    unsigned next_content() const { return setup_.has_alike_owner ? sent : after; }
    void put(unsigned kind) {
        memory_->each_byte([&](std::uint64_t i, std::byte& byte) { byte = content(kind, i); });
    }

    Cluster& cluster_;
    const Setup& setup_;
    Outcome& outcome_;
    std::uint64_t size_;
    Side &owner_, &other_;

    std::optional<Memory> memory_;
    std::unique_ptr<harness::RegisteredMemory> peer_;
    harness::Connection connection_;
    Bytes around_; ///< memory_->all(), at the start

    sc_core::sc_event go_, done_;
    std::optional<harness::FunctionReset> reset_;
    bool is_acting_ = false, is_called_off_ = false, is_done_ = false, is_given_back_ = false, is_reset_ = false;
    Bytes snapshot_; ///< of the region, when the action had returned
    std::optional<Completion> completion_;
};

bool Race::is_target() const {
    switch (setup_.operation) {
    case Operation::write:
    case Operation::send: return is_responder();
    case Operation::read: return !is_responder();
    case Operation::atomic: return true;
    }
    return false;
}

void Race::set_up() {
    owner_.gpu = must(sw::gpu::Gpu::open(*owner_.gpu_function, {}, {.block_bytes = 4096, .fragment_bytes = 8192}));
    if (setup_.action == Action::flr) { // what its driver does afterwards is never answered
        owner_.close();
        owner_.open({.command = {.timeout = 10ms}});
    }
    memory_.emplace(owner_, kind_of(setup_.action), offset, size_);
    if (setup_.plant == Plant::stale_key)
        must(owner_.context->device().umr())->plant_missing_revocations(1);
    peer_ = other_.dram(size_);
    // What comes is in the memory that it comes from.
    put(is_target() ? before : sent);
    std::ranges::copy(contents(is_target() ? sent : before, size_), peer_->bytes().begin());
    around_.assign(memory_->all().begin(), memory_->all().end());
    auto options = harness::quick;
    options.retry_count = 2;
    connection_ = cluster_.connect(options);
    if (setup_.action == Action::flr)
        reset_.emplace(*owner_.hca_function);
}

void Race::post() {
    const sw::mlx::Sge mine{region().iova().value, static_cast<std::uint32_t>(size_), region().lkey()},
        theirs = peer_->sge();
    const auto local = is_responder() ? theirs : mine;
    sw::mlx::SendRequest request{.wr_id = 1,
                                 .flags = sw::mlx::send_flag::signaled,
                                 .rkey = is_responder() ? region().rkey() : peer_->rkey(),
                                 .remote_address = is_responder() ? region().iova().value : peer_->address()};
    switch (setup_.operation) {
    case Operation::write: request.operation = SendOperation::write; break;
    case Operation::read: request.operation = SendOperation::read; break;
    case Operation::send:
        request.operation = SendOperation::send;
        harness::post_receive(*connection_.b, 2, {is_responder() ? mine : theirs});
        break;
    case Operation::atomic:
        request.operation = SendOperation::fetch_add;
        request.swap_or_add = addend;
        break;
    }
    if (setup_.action != Action::none) {
        sc_core::sc_spawn_options stack;
        stack.set_stack_size(1 << 20);
        sc_core::sc_spawn([this] { act(); }, sc_core::sc_gen_unique_name("action"), &stack);
        sc_core::wait(sc_core::SC_ZERO_TIME); // it waits from now on
        cluster_.log.reached = [this] { go_.notify(sc_core::SC_ZERO_TIME); };
        cluster_.log.watched = cluster_.log.entries.size() + setup_.point + 1;
    }
    const auto first = cluster_.log.entries.size();
    harness::post(*connection_.a, request, {local});
    await();
    outcome_.points = cluster_.log.entries.size() - first;
}

void Race::act() {
    sc_core::wait(go_);
    if (is_called_off_)
        return;
    is_acting_ = true;
    outcome_.at_ps = static_cast<std::uint64_t>(model::tlm::kernel_now().count());
    try {
        perform();
    } catch (const std::exception& error) {
        violate(fmt::format("the action failed: {}", error.what()));
    }
    is_done_ = true;
    done_.notify(sc_core::SC_ZERO_TIME);
}

void Race::perform() {
    if (setup_.plant == Plant::missing_invalidation)
        owner_.functions->unit()->plant_missing_invalidations(1);
    switch (setup_.action) {
    case Action::none: return;
    case Action::revoke: must(owner_.gpu->revoke(memory_->buffer())); break;
    case Action::move:
        if (const auto moved = owner_.gpu->migrate(memory_->buffer(), sw::gpu::Placement::system); moved)
            violate("a buffer that a card has pinned was moved");
        else if (moved.error().code != EBUSY)
            violate(fmt::format("a move of a pinned buffer is refused for another reason: {}", moved.error().what));
        return;
    case Action::unmap: must(region().destroy()); break;
    case Action::flr:
        reset_->begin();
        reset_->finish();
        is_reset_ = true;
        break;
    case Action::release:
        memory_->release();
        around_.assign(memory_->all().begin(), memory_->all().end());
        break;
    case Action::migrate: memory_->migrate(); break;
    }
    // It has returned: from here on the memory is somebody else's.
    snapshot_ = memory_->held();
    put(next_content());
    is_given_back_ = true;
}

/// The request's completion; a card that was reset owes none.
void Race::await() {
    const bool is_silent_end = setup_.action == Action::flr && !is_responder();
    const auto found = cluster_.a.wait(*cluster_.a.send_cq, 1, is_silent_end ? 300ms : 2s);
    if (!found.empty())
        completion_ = found.front();
}

void Race::settle() {
    cluster_.log.watched = 0; // what comes from now on is no point of the transfer
    sc_core::wait(sc_core::SC_ZERO_TIME);
    if (!is_acting_) {
        is_called_off_ = true;
        go_.notify(sc_core::SC_ZERO_TIME);
    }
    while (is_acting_ && !is_done_)
        sc_core::wait(done_);
    outcome_.is_reached = is_done_;
    cluster_.let(1ms); // what is late lands now
    if (!is_given_back_)
        snapshot_ = memory_->held();
    else if (setup_.action == Action::migrate)
        snapshot_ = memory_->moved(); // what came before and after, together
}

void Race::check_status() {
    outcome_.completion = completion_ ? std::string(sw::mlx::name(completion_->status)) : "";
    const auto is = [&](CompletionStatus status) { return completion_ && completion_->status == status; };
    if (is(CompletionStatus::success))
        return;
    const bool has_ended = is_given_back_ && setup_.action != Action::migrate; // nothing else may make it fail
    bool is_right = false;
    if (setup_.action == Action::release) // nobody may reach it any more, and that is no matter of rights
        is_right = has_ended && is(is_responder() ? CompletionStatus::remote_operation_error
                                                  : CompletionStatus::local_qp_operation_error);
    else if (setup_.action == Action::flr)
        is_right = has_ended && (is_responder() ? is(CompletionStatus::transport_retry_exceeded) : !completion_);
    else if (has_ended && is_responder())
        is_right = setup_.operation == Operation::send ? is(CompletionStatus::remote_operation_error)
                                                       : is(CompletionStatus::remote_access_error);
    else if (has_ended)
        is_right = is(CompletionStatus::local_protection_error);
    if (!is_right)
        violate(completion_ ? fmt::format("the completion is {}", outcome_.completion) : "there is no completion");
}

void Race::check_victim() {
    const auto now = memory_->held();
    const auto is_done = completion_ && completion_->status == CompletionStatus::success;
    if (is_given_back_)
        for (std::uint64_t i = 0; i < size_; ++i)
            if (now[i] != content(next_content(), i))
                return violate(fmt::format("byte {} of the buffer was written after the action had returned", i));
    if (is_given_back_ && setup_.action == Action::release)
        return; // what it held is lost
    if (setup_.operation == Operation::atomic)
        return; // its words are looked at in check_peer
    for (std::uint64_t i = 0; i < size_; ++i) {
        const bool is_old = snapshot_[i] == content(before, i), is_new = snapshot_[i] == content(sent, i);
        if (is_target() ? (is_done ? !is_new : !is_old && !is_new) : !is_new)
            return violate(fmt::format("byte {} of the buffer is {:#04x}, which nobody {}", i,
                                       static_cast<unsigned>(snapshot_[i]), is_target() ? "sent" : "put there"));
    }
}

void Race::check_peer() {
    const auto bytes = peer_->bytes();
    const auto is_done = completion_ && completion_->status == CompletionStatus::success;
    if (setup_.operation == Operation::atomic) {
        const auto word = [](std::span<const std::byte> from) {
            return abi::load<std::uint64_t, abi::Endian::little>(from.data());
        };
        const auto initial = [&](unsigned kind) { return word(contents(kind, 8)); };
        // The responder's word, and what the requester was told.
        const auto target = is_responder() ? word(snapshot_) : word(bytes),
                   told = is_responder() ? word(bytes) : word(snapshot_);
        const auto old_target = initial(is_responder() ? before : sent),
                   old_told = initial(is_responder() ? sent : before);
        const bool is_lost = is_given_back_ && setup_.action == Action::release; // what the victim's word was
        const bool has_target = !is_lost || !is_responder(), is_told = !is_lost || is_responder();
        if (is_done && ((has_target && target != old_target + addend) || (is_told && told != old_target)))
            violate("the atomic has another result than it must");
        if (!is_done && ((has_target && target != old_target && target != old_target + addend) ||
                         (is_told && told != old_told && told != old_target)))
            violate("an atomic that failed left a word that is neither old nor new");
        return;
    }
    for (std::uint64_t i = 0; i < size_; ++i) {
        const bool is_old = bytes[i] == content(before, i), is_new = bytes[i] == content(sent, i);
        if (is_target() ? !is_new : (is_done ? !is_new : !is_old && !is_new))
            return violate(fmt::format("byte {} at the peer is {:#04x}{}", i, static_cast<unsigned>(bytes[i]),
                                       bytes[i] == content(after, i) ? ", which is the next owner's" : ""));
    }
}

/// Nothing beside the region has changed.
void Race::check_around() {
    const auto now = memory_->all();
    auto expected = around_;
    memory_->each_byte([&](std::uint64_t, std::byte& byte) {
        expected[static_cast<std::size_t>(&byte - now.data())] = byte;
    });
    if (const auto [was, is] = std::ranges::mismatch(expected, now); was != expected.end())
        violate(fmt::format("byte {:#x} around the buffer was written", was - expected.begin()));
}

void Race::take_down() {
    std::array<Completion, 8> rest;
    for (auto* side : {&cluster_.a, &cluster_.b}) {
        if (is_reset_ && side == &owner_)
            continue;
        while (side->receive_cq->poll(rest) != 0 || side->send_cq->poll(rest) != 0)
            ;
        while (side->context->get_async_event(0ns))
            ;
    }
    connection_ = {};
    peer_.reset();
    memory_.reset();
    if (is_reset_)
        owner_.abandon();
}

void Race::run() {
    set_up();
    post();
    settle();
    check_status();
    check_victim();
    check_peer();
    check_around();
    for (auto* side : {&cluster_.a, &cluster_.b})
        if (side->machine.ownership)
            for (const auto& finding : side->machine.ownership->take_findings())
                violate(to_string(finding));
    take_down();
}

} // namespace

std::span<const std::string_view> operations() { return operation_names; }
std::span<const std::string_view> actions() { return action_names; }
std::span<const std::string_view> victims() { return victim_names; }
std::span<const std::string_view> plants() { return plant_names; }

Outcome run(const platform::topology::Config& config, const Setup& setup) {
    Outcome outcome;
    try {
        Cluster cluster(config, config.observe.has_ownership);
        cluster.expects_refusals = true; // of what is asked of a card that was reset
        cluster.device_options.page_faults = setup.action == Action::migrate;
        cluster.expects_faults = setup.action == Action::release || setup.action == Action::flr;
        cluster.run([&](Side&, Side&) { Race(cluster, setup, outcome).run(); });
    } catch (const std::exception& error) {
        harness::forget_left_frames();
        outcome.violations.push_back(error.what());
    }
    return outcome;
}

} // namespace scenario::race
