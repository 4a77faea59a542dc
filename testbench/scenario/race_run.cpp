#include "testbench/scenario/race_run.h"

#include "sw/mlx/memory/umr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace scenario::race {

using harness::Cluster;
using harness::must;
using sw::mlx::Completion;
using sw::mlx::SendOperation;
using namespace rdma_rows;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t offset = 0x1dc8;  ///< of the region in the buffer
constexpr std::uint32_t probe_bytes = 64; ///< at the region's first byte, or its last
constexpr std::uint64_t probe_id = 1000000;

template <class E> const E* get(const traces::Event& event) { return std::get_if<E>(&event); }

} // namespace

Race::Race(Cluster& cluster, const Setup& setup, Outcome& outcome)
    : cluster_(cluster), setup_(setup), outcome_(outcome),
      operation_(static_cast<const RdmaOperation&>(*setup.operation).facts),
      size_(operation_.is_atomic ? 8 : setup.bytes), owner_(is_responder() ? cluster.b : cluster.a),
      other_(is_responder() ? cluster.a : cluster.b), moment_(cluster.log, setup, outcome) {}

bool Race::has(const Action& action) const {
    return std::ranges::find(setup_.actions, &action) != setup_.actions.end();
}

bool Race::is_target() const { return is_responder() ? operation_.to_responder : operation_.to_requester; }

bool Race::has_ended(std::size_t importer) const {
    return has(revoke) || has(release) || (has(unmap) && importer == 0);
}

unsigned Race::next_content() const { return setup_.has_alike_owner ? sent : after; }

Race::Bytes Race::contents(unsigned kind, const Transfer& transfer) const {
    Bytes bytes(size_);
    for (std::uint64_t i = 0; i < size_; ++i)
        bytes[i] = content(kind, transfer.begin + i);
    return bytes;
}

void Race::set_up() {
    owner_.gpu = must(sw::gpu::Gpu::open(*owner_.gpu_function, {}, {.block_bytes = 4096, .fragment_bytes = 8192}));
    const auto importers = std::max(1u, setup_.importers);
    const auto count = std::max(cluster_.platform.config().scenario.queue_pairs, importers);
    memory_.emplace(owner_, kind_of(setup_.actions), offset, size_ * count, importers);
    for (auto& region : memory_->regions())
        keys_.push_back({region.lkey(), region.iova().value});
    if (setup_.plant == &stale_key)
        must(owner_.context->device().umr())->plant_missing_revocations(1);
    if (const auto giver = undrained(setup_.plant))
        owner_.hca_card.endpoint().plant_missing_drains(*giver);
    auto options = harness::quick;
    // A cable that loses packets costs tries; else a peer that is gone is found soon.
    const auto& link = cluster_.platform.config().link;
    options.retry_count = link.loss > 0 || link.corrupt > 0 || link.reorder > 0 ? 7 : 2;
    for (std::uint32_t i = 0; i < count; ++i) {
        auto& transfer = transfers_.emplace_back(Transfer{.begin = i * size_, .importer = i % importers});
        transfer.peer = other_.dram(size_);
        std::ranges::copy(contents(is_target() ? sent : before, transfer), transfer.peer->bytes().begin());
        transfer.connection = cluster_.connect(options);
    }
    // What comes is in the memory that it comes from.
    put(is_target() ? before : sent, [](const Transfer&) { return true; });
    around_.assign(memory_->all().begin(), memory_->all().end());
    snapshot_.resize(size_ * count);
    if (setup_.is_bare)
        return;
    // What comes out by the old key shows in bytes, or not: then nothing here may show it either.
    if (has_ended(0) && !has(flr) && !has(death) && !setup_.has_alike_owner) {
        probing_ = cluster_.connect(options);
        probe_memory_ = other_.dram(probe_bytes);
        probe_memory_->fill(7);
        probe_before_.assign(probe_memory_->bytes().begin(), probe_memory_->bytes().end());
    }
    if (has(flr))
        reset_.emplace(*owner_.hca_function);
    if (has(death))
        peer_reset_.emplace(*other_.hca_function);
}

void Race::post(Transfer& transfer) {
    const auto& key = keys_[transfer.importer];
    const sw::mlx::Sge mine{key.address + transfer.begin, static_cast<std::uint32_t>(size_), key.key},
        theirs = transfer.peer->sge();
    sw::mlx::SendRequest request{.wr_id = transfer.begin / size_,
                                 .flags = sw::mlx::send_flag::signaled,
                                 .rkey = is_responder() ? key.key : transfer.peer->rkey(),
                                 .remote_address = is_responder() ? mine.address : transfer.peer->address()};
    request.operation = operation_.opcode;
    if (operation_.needs_receive)
        harness::post_receive(*transfer.connection.b, request.wr_id, {is_responder() ? mine : theirs});
    if (operation_.is_atomic)
        request.swap_or_add = addend;
    harness::post(*transfer.connection.a, request, {is_responder() ? theirs : mine});
}

void Race::post() {
    moment_.open([this](const Action& action) {
        if (setup_.plant == &missing_invalidation)
            owner_.functions->unit()->plant_missing_invalidations(1);
        static_cast<const RdmaAction&>(action).perform(*this);
    });
    for (auto& transfer : transfers_)
        post(transfer);
    await();
    moment_.close();
}

bool Race::succeeds(const sw::Result<void>& result) {
    if (!result && !has(flr))
        violate(fmt::format("the action failed: {}", result.error().what));
    return result.has_value();
}

/// The card has let go when the write of the register has returned.
void Race::reset_card() {
    reset_->begin();
    give_back();
    reset_->finish();
}

void Race::release_memory() {
    memory_->release();
    around_.assign(memory_->all().begin(), memory_->all().end());
    give_back();
}

void Race::give_back(std::optional<std::size_t> importer) {
    moment_.note_end();
    const auto is_going = [&](const Transfer& transfer) {
        return !transfer.is_given_back && (!importer || transfer.importer == *importer);
    };
    const auto held = memory_->held();
    for (const auto& transfer : transfers_)
        if (is_going(transfer))
            std::copy_n(held.begin() + static_cast<std::ptrdiff_t>(transfer.begin), size_,
                        snapshot_.begin() + static_cast<std::ptrdiff_t>(transfer.begin));
    put(next_content(), is_going);
    for (auto& transfer : transfers_)
        transfer.is_given_back = transfer.is_given_back || is_going(transfer);
}

void Race::let_peer_die() {
    peer_reset_->begin();
    moment_.note_end();
    // Writes that had left the card land yet; software gives memory away behind them (PCIe 6.0 §6.6.2).
    const auto landed = other_.machine.host->root_complex().memory_writes().landed_at();
    while (model::port::Time{other_.hca_function->now()} < landed)
        other_.hca_function->relax();
    for (auto& transfer : transfers_) {
        const auto bytes = transfer.peer->bytes();
        transfer.peer_snapshot.assign(bytes.begin(), bytes.end());
        std::ranges::copy(contents(after, transfer), bytes.begin());
    }
    peer_reset_->finish();
}

/// The requests' completions; a card that was reset owes none.
void Race::await() {
    std::size_t missing = transfers_.size();
    for (const auto deadline = owner_.hca_function->now() + 2s;
         missing != 0 && owner_.hca_function->now() < deadline;) {
        for (const auto& completion : cluster_.a.wait(*cluster_.a.send_cq, missing, 1ms)) {
            transfers_.at(completion.wr_id).completion = completion;
            --missing;
        }
        if (is_requester_dead() && moment_.is_over())
            break;
    }
}

void Race::let_it_end() {
    moment_.settle();
    cluster_.let(1ms); // what is late lands now
    if (outcome_.is_reached && probing_.a)
        probe();
    // What came before and after a move, together.
    const auto now = has(migrate) && outcome_.is_reached ? memory_->moved() : memory_->held();
    for (const auto& transfer : transfers_)
        if (!transfer.is_given_back || has(migrate))
            std::copy_n(now.begin() + static_cast<std::ptrdiff_t>(transfer.begin), size_,
                        snapshot_.begin() + static_cast<std::ptrdiff_t>(transfer.begin));
}

/// Somebody tries the first or the last bytes of the region again, by the old key.
void Race::probe() {
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(probe_bytes, size_));
    const auto at = setup_.point % 2 == 0 ? 0 : snapshot_.size() - length;
    const sw::mlx::Sge mine{keys_.front().address + at, length, keys_.front().key},
        theirs = probe_memory_->sge(0, length);
    probe_begin_ = cluster_.log.entries.size();
    harness::post(*probing_.a,
                  {.wr_id = probe_id,
                   .operation = is_target() == is_responder() ? SendOperation::write : SendOperation::read,
                   .flags = sw::mlx::send_flag::signaled,
                   .rkey = is_responder() ? mine.lkey : probe_memory_->rkey(),
                   .remote_address = is_responder() ? mine.address : probe_memory_->address()},
                  {is_responder() ? theirs : mine});
    if (const auto found = cluster_.a.wait(*cluster_.a.send_cq, 1, 2s); !found.empty())
        probed_ = found.front();
}

/// An access of the victim's card, or what the victim's memory held arriving at the peer.
bool Race::is_touch(const traces::Stamp& stamp, const traces::Event& event) const {
    const auto source = cluster_.sources.name(stamp.source);
    const auto is_key = [&](std::uint32_t key) {
        return std::ranges::any_of(keys_, [&](const Key& one) { return one.key >> 8 == key >> 8; });
    };
    if (source == owner_.source()) {
        if (const auto* translated = get<traces::Translated>(event))
            return is_key(translated->key);
        if (const auto* refused = get<traces::Refused>(event))
            return is_key(refused->key);
        return false;
    }
    const bool is_told = operation_.is_atomic && is_responder(); // the old value
    const auto* received = source == other_.source() ? get<traces::PacketReceived>(event) : nullptr;
    return received != nullptr && (is_told || (!is_target() && received->payload != 0));
}

void Race::measure() {
    moment_.measure([this](const auto& stamp, const auto& event) { return is_touch(stamp, event); });
    auto& touches = outcome_.touches;
    for (auto i = moment_.first(); i != moment_.last(); ++i) {
        const auto& [stamp, event] = cluster_.log.entries[i];
        if (get<traces::PacketSent>(event) != nullptr && i < moment_.begun() &&
            cluster_.sources.name(stamp.source) == cluster_.a.source())
            outcome_.has_begun = true;
        if (get<traces::PacketForwarded>(event) != nullptr)
            touches.forwards.push_back(i - moment_.first());
        if (get<traces::Translated>(event) != nullptr && is_touch(stamp, event))
            touches.translations.push_back(i - moment_.first());
    }
}

void Race::take_down() {
    std::array<Completion, 8> rest;
    for (auto* side : {&cluster_.a, &cluster_.b}) {
        if (outcome_.is_reached && has(side == &owner_ ? flr : death))
            continue;
        while (side->receive_cq->poll(rest) != 0 || side->send_cq->poll(rest) != 0)
            ;
        while (side->context->get_async_event(0ns))
            ;
    }
    probing_ = {};
    probe_memory_.reset();
    transfers_.clear();
    memory_.reset();
    if (outcome_.is_reached && has(flr))
        owner_.abandon();
    if (outcome_.is_reached && has(death))
        other_.abandon();
}

void Race::run() {
    set_up();
    post();
    let_it_end();
    measure();
    check_status();
    for (const auto& transfer : transfers_) {
        check_victim(transfer);
        check_peer(transfer);
    }
    check_probe();
    check_around();
    for (auto* side : {&cluster_.a, &cluster_.b})
        if (side->machine.ownership)
            for (const auto& finding : side->machine.ownership->take_findings())
                violate(to_string(finding));
    take_down();
}

} // namespace scenario::race
