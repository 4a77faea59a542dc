#include "testbench/workload/participant.h"

#include "model/tlm/kernel_clock.h"
#include "testbench/harness/must.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

namespace workload {

using harness::must;
using load::Place;
using load::Verb;
using model::port::Time;
using model::tlm::kernel_now;
using sw::verbs::SendOperation;

namespace {

constexpr std::uint32_t is_credit = 1u << 31; ///< of an immediate, beside how many

Place behind(Place place, std::uint64_t offset) {
    place.address += offset, place.offset += offset;
    if (place.data != nullptr) // which a place elsewhere has not
        place.data += offset;
    return place;
}

} // namespace

Participant::Participant(load::Device& device, const RankMemory& memory, Rank rank, std::vector<Link*> links,
                         const std::vector<std::uint32_t>& channels, CollectiveShared& shared)
    : device_(device), memory_(memory), rank_(rank), links_(std::move(links)), shared_(shared), plan_(shared.plan),
      program_(plan_.programs[rank]), core_(device.cores().front()), random_(plan_.load.work.seed, rank),
      lanes_(program_.lanes.size()) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const auto& lane = program_.lanes[i];
        const auto find = [&](const Move& move) {
            std::uint32_t number = 0;
            while (links_[number]->peer != move.peer || channels[number] != lane.channel)
                ++number;
            return number;
        };
        std::ranges::transform(lane.out, std::back_inserter(lanes_[i].out_links), find);
        std::ranges::transform(lane.in, std::back_inserter(lanes_[i].in_links), find);
    }
}

void Participant::run() {
    for (std::uint64_t i = 0; i < plan_.operations && shared_.failure.empty(); ++i)
        play(i);
    // The last credits are on their way, and the peer may wait for their packets to be acknowledged.
    while (shared_.failure.empty() &&
           std::ranges::any_of(links_, [](const Link* link) { return !link->under_way.empty(); })) {
        if (poll_sent() + poll_received() == 0)
            wait(model::port::never);
    }
}

void Participant::play(std::uint64_t operation) {
    begin(operation);
    const auto since = kernel_now();
    while (shared_.failure.empty()) {
        const auto begin = kernel_now();
        const auto found = poll_sent() + poll_received();
        const bool has_moved = advance();
        shared_.ledger.add_work(rank_, kernel_now() - begin);
        if (is_done())
            break;
        if (found != 0 || has_moved)
            shared_.last_progress = kernel_now();
        else
            wait(additions_.empty() ? model::port::never : additions_.front().end);
    }
    if (!shared_.failure.empty())
        return;
    verify(operation);
    if (plan_.kind != Collective::parameter_server || program_.contributes)
        shared_.ledger.add_operation(0, since, kernel_now());
}

/// Ranks do not begin at the same time: what they compute in between takes some longer than others.
void Participant::begin(std::uint64_t operation) {
    operation_ = operation;
    for (auto& lane : lanes_)
        lane.next_out = 0, lane.taken = lane.dealt_with = lane.fetching = 0;
    const Time later{plan_.skew.count() == 0
                         ? 0
                         : static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(plan_.skew.count())))};
    for (const auto until = kernel_now() + later; kernel_now() < until && shared_.failure.empty();)
        if (poll_sent() + poll_received() == 0)
            wait(until);
    fill(operation);
}

void Participant::fill(std::uint64_t operation) {
    const auto place = data_at(0);
    const std::span bytes(place.data, plan_.shape.bytes);
    if (program_.contributes)
        Values(plan_.load.work.seed, operation).fill(bytes, rank_, 0);
    else
        std::ranges::fill(bytes, std::byte{});
    memory_.data.note_filled(place, bytes.size());
    if (plan_.kind != Collective::alltoall)
        return;
    const auto own = piece({0, plan_.shape.bytes}, plan_.shape.ranks, rank_);
    const auto result = result_at(operation, own.begin);
    std::ranges::copy(bytes.subspan(own.begin, own.bytes()), result.data);
    memory_.result.note_filled(result, own.bytes());
}

Place Participant::data_at(std::uint64_t offset) const { return behind(memory_.data.slot(0), offset); }

Place Participant::result_at(std::uint64_t operation, std::uint64_t offset) const {
    return behind(memory_.result.slot(operation % 2), offset);
}

bool Participant::is_done() const {
    if (data_under_way_ != 0 || !additions_.empty())
        return false;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].next_out != program_.lanes[i].out.size() || lanes_[i].dealt_with != program_.lanes[i].in.size())
            return false;
    return true;
}

bool Participant::advance() {
    bool has_moved = finish_additions();
    for (std::uint32_t lane = 0; lane < lanes_.size() && shared_.failure.empty(); ++lane) {
        while (take_next(lane))
            has_moved = true;
        while (post_next(lane))
            has_moved = true;
    }
    for (std::uint32_t number = 0; number < links_.size(); ++number)
        has_moved |= give_credits(*links_[number], number);
    return has_moved;
}

bool Participant::take_next(std::uint32_t number) {
    auto& state = lanes_[number];
    const auto& in = program_.lanes[number].in;
    if (state.taken == in.size() || !shared_.failure.empty())
        return false;
    const auto& move = in[state.taken];
    const auto link_number = state.in_links[state.taken];
    auto& link = *links_[link_number];
    // What needs no adding is not before what is still being added.
    if (link.arrived.empty() || (move.deed != Deed::add && state.dealt_with != state.taken))
        return false;
    const auto bytes = link.arrived.front();
    link.arrived.pop_front();
    if (bytes != move.bytes) {
        shared_.fail(fmt::format("{}: message {} from {} of operation {} has {} bytes, not {}", device_.planned().name,
                                 state.taken, plan_.load.nodes[link.peer].name, operation_, bytes, move.bytes));
        return false;
    }
    ++state.taken;
    if (move.deed != Deed::add) {
        ++state.dealt_with, ++link.owed;
        return true;
    }
    const Time took{plan_.reduce_gbps > 0 ? std::llround(static_cast<double>(bytes) * 8000 / plan_.reduce_gbps) : 0};
    adder_free_ = std::max(adder_free_, kernel_now()) + took;
    additions_.push_back({adder_free_, took, number, link_number, link.first_place + link.adds_received++ % link.places,
                          move.near, bytes});
    finish_additions();
    return true;
}

/// The sum is made when adding ends: whoever writes over the place before that spoils it, and is found.
bool Participant::finish_additions() {
    bool has_finished = false;
    for (const auto now = kernel_now(); !additions_.empty() && additions_.front().end <= now;) {
        const auto one = additions_.front();
        additions_.pop_front();
        const auto to = data_at(one.near);
        add_words({to.data, one.bytes}, {memory_.places.slot(one.place).data, one.bytes});
        memory_.data.note_filled(to, one.bytes);
        ++lanes_[one.lane].dealt_with;
        ++links_[one.link]->owed;
        shared_.ledger.add_reduction(rank_, one.took);
        has_finished = true;
    }
    return has_finished;
}

bool Participant::post_next(std::uint32_t number) {
    auto& state = lanes_[number];
    const auto& out = program_.lanes[number].out;
    if (state.next_out == out.size())
        return false;
    const auto& move = out[state.next_out];
    const auto link_number = state.out_links[state.next_out];
    auto& link = *links_[link_number];
    if (lanes_[move.after.lane].dealt_with < move.after.count || link.under_way.size() >= queue_size(link) / 2)
        return false;
    if (move.deed == Deed::tell && state.fetching != 0)
        return false;
    if (move.deed != Deed::fetch && link.credits == 0)
        return false;
    ++state.next_out;
    post(link, number, link_number, move);
    return true;
}

void Participant::post(Link& link, std::uint32_t lane, std::uint32_t number, const Move& move) {
    const auto near = data_at(move.near);
    const sw::verbs::Sge sge{.address = near.address, .length = move.bytes, .lkey = near.key};
    sw::verbs::SendRequest request{
        .wr_id = number, .sge = &sge, .sge_count = 1, .flags = sw::verbs::send_flag::signaled};
    const auto& peer = *link.far;
    Place far;
    auto verb = Verb::write;
    switch (move.deed) {
    case Deed::add:
        request.operation = SendOperation::write_imm;
        far = peer.places.slot(link.other->first_place + link.adds_sent++ % link.other->places);
        break;
    case Deed::keep:
        request.operation = SendOperation::write_imm;
        far =
            behind(plan_.kind == Collective::alltoall ? peer.result.slot(operation_ % 2) : peer.data.slot(0), move.far);
        break;
    case Deed::tell:
        request.operation = SendOperation::send_imm;
        request.sge_count = 0;
        verb = Verb::send;
        break;
    case Deed::fetch:
        request.operation = SendOperation::read;
        far = behind(peer.data.slot(0), move.far);
        verb = Verb::read;
        ++lanes_[lane].fetching;
        break;
    }
    request.rkey = far.key;
    request.remote_address = far.address;
    if (move.deed != Deed::fetch) {
        request.immediate = static_cast<std::uint32_t>(link.sent++) & ~is_credit;
        --link.credits;
    }
    link.under_way.push_back({kernel_now(), verb, move.bytes, lane});
    ++data_under_way_, ++shared_.under_way;
    must(link.qp->post_send(request));
}

/// Half a window at a time, so that they cost little and the peer does not wait for them.
bool Participant::give_credits(Link& link, std::uint32_t number) {
    if (link.owed == 0 || link.owed < link.window / 2 || link.under_way.size() >= queue_size(link))
        return false;
    link.under_way.push_back({.since = kernel_now(), .is_credit = true});
    must(link.qp->post_send({.wr_id = number,
                             .operation = SendOperation::send_imm,
                             .flags = sw::verbs::send_flag::signaled,
                             .immediate = is_credit | std::exchange(link.owed, 0)}));
    return true;
}

std::size_t Participant::poll_sent() {
    const auto completions = device_.poll(core_, *core_.sent);
    const auto now = kernel_now();
    done_.clear();
    for (const auto& completion : completions) {
        auto& link = *links_[completion.wr_id];
        if (completion.status != sw::verbs::CompletionStatus::success) {
            shared_.fail(fmt::format("{}: a request to {} has ended with: {}", device_.planned().name,
                                     plan_.load.nodes[link.peer].name, name(completion.status)));
            return completions.size();
        }
        const auto posted = link.under_way.front();
        link.under_way.pop_front();
        if (posted.is_credit)
            continue;
        --data_under_way_, --shared_.under_way;
        if (posted.verb == Verb::read)
            --lanes_[posted.lane].fetching;
        done_.push_back({link.flow, posted.verb, posted.bytes, posted.since, now});
    }
    if (!done_.empty())
        shared_.ledger.add(done_);
    return completions.size();
}

std::size_t Participant::poll_received() {
    const auto completions = device_.poll(core_, *core_.received);
    for (const auto& completion : completions) {
        auto& link = *links_[completion.wr_id];
        if (completion.status != sw::verbs::CompletionStatus::success) {
            shared_.fail(fmt::format("{}: a receive from {} has ended with: {}", device_.planned().name,
                                     plan_.load.nodes[link.peer].name, name(completion.status)));
            return completions.size();
        }
        must(link.qp->post_receive({.wr_id = completion.wr_id}));
        if ((completion.immediate & is_credit) != 0) {
            link.credits += completion.immediate & ~is_credit;
            continue;
        }
        const auto expected = static_cast<std::uint32_t>(link.received++) & ~is_credit;
        if (completion.immediate != expected) {
            shared_.fail(fmt::format("{}: message {} from {} has come instead of {}", device_.planned().name,
                                     completion.immediate, plan_.load.nodes[link.peer].name, expected));
            return completions.size();
        }
        link.arrived.push_back(completion.byte_count);
    }
    return completions.size();
}

void Participant::verify(std::uint64_t operation) {
    if (!plan_.load.work.how.verifies)
        return;
    const Values values(plan_.load.work.seed, operation);
    const auto& shape = plan_.shape;
    if (plan_.kind == Collective::alltoall) {
        const auto own = piece({0, shape.bytes}, shape.ranks, rank_);
        for (Rank from = 0; from < shape.ranks; ++from) {
            Values::Sum one;
            values.add(one, from);
            const auto block = piece({0, shape.bytes}, shape.ranks, from);
            look_at(result_at(operation, block.begin), block, own.begin, values, one, operation);
        }
    } else {
        Values::Sum sum;
        for (Rank rank = 0; rank < shape.ranks; ++rank)
            if (plan_.programs[rank].contributes)
                values.add(sum, rank);
        Part part{0, shape.bytes};
        if (!program_.contributes) { // a server, which has a part of all
            const auto number = std::ranges::find(shape.servers, rank_) - shape.servers.begin();
            part = piece(part, static_cast<std::uint32_t>(shape.servers.size()), static_cast<std::uint32_t>(number));
        }
        look_at(data_at(part.begin), part, part.begin, values, sum, operation);
    }
    for (const auto& lane : program_.lanes)
        shared_.verified += lane.in.size();
}

void Participant::look_at(const Place& place, Part part, std::uint64_t from, const Values& values,
                          const Values::Sum& sum, std::uint64_t operation) {
    if (const auto wrong = values.find_wrong({place.data, part.bytes()}, sum, from))
        shared_.fail(fmt::format("{}, rank {}: the word at byte {} is wrong after operation {}", device_.planned().name,
                                 rank_, part.begin + *wrong, operation));
}

void Participant::wait(Time until) {
    shared_.look_for_progress(plan_.load.work, shared_.under_way);
    if (until == model::port::never)
        core_.eyes->relax();
    else
        core_.eyes->relax_until(until);
}

} // namespace workload
