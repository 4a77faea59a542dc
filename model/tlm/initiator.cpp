#include "model/tlm/initiator.h"

#include "model/tlm/time.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace model::tlm {

using pcie::Window;
using port::DmaResult;
using port::DmaStatus;
using port::Purpose;
using port::Time;

namespace {
/// A request without a known window is sent in pieces that cross no such boundary (PCIe 6.0 §2.2.7: 4 KiB).
constexpr std::uint64_t request_boundary = 4096;
/// Of one translation in a translation completion (§10.2.3).
constexpr std::size_t translation_bytes = 8;

std::uint64_t header_of(std::uint64_t address, const Extension& request) {
    return pcie::request_header(address) + (request.pasid != pcie::no_pasid ? abi::pcie::pasid_prefix_bytes : 0);
}

std::uint64_t piece_of(const Window* window, std::uint64_t address, std::uint64_t length) {
    auto limit = window != nullptr ? window->left(address) : request_boundary;
    if (window == nullptr || window->remapper != nullptr)
        limit = std::min(limit, request_boundary - address % request_boundary);
    return std::min(limit, length);
}
} // namespace

void Initiator::set_enabled(bool is_enabled) {
    is_enabled_ = is_enabled;
    if (!is_enabled)
        forget_all();
}

void Initiator::set_requester(abi::pcie::Bdf bdf) {
    if (std::exchange(request_.extension.requester, bdf) != bdf)
        forget_all(); // ports and remapping units on the way were asked about another one
}

void Initiator::set_sizes(pcie::TlpSizes sizes) {
    if (request_.extension.sizes == sizes)
        return;
    request_.extension.sizes = sizes;
    forget_all();
}

port::Loan Initiator::lend(abi::BusAddress address, std::size_t length, Time at, Purpose purpose) {
    const auto requests = pcie::read_requests(address.value, length, request_.extension.sizes);
    if (tags_ == nullptr || requests > tags_->most())
        return tags_ == nullptr ? lend_now(address, length, at, purpose) : port::Loan{nullptr, {DmaStatus::ok, at}};
    const auto begin = tags_->take(at, static_cast<unsigned>(requests));
    const auto loan = lend_now(address, length, begin, purpose);
    tags_->give(begin, loan.result.done, static_cast<unsigned>(requests));
    return loan;
}

port::Loan Initiator::lend_now(abi::BusAddress address, std::size_t length, Time at, Purpose purpose) {
    auto* window = windows_.find(address.value, purpose);
    if (window == nullptr) [[unlikely]]
        window = resolve(address.value, purpose, ::tlm::TLM_READ_COMMAND);
    if (window != nullptr && window->remapper != nullptr)
        return lend_remapped(*window, address.value, length, at, purpose);
    if (window == nullptr || window->target.memory == nullptr || length > window->left(address.value) || length == 0)
        return {nullptr, {DmaStatus::ok, at}};
    const auto* data = window->target.memory + (address.value - window->begin);
    if (window->target.posted != nullptr && window->target.posted->is_held(data, length)) [[unlikely]]
        return {nullptr, {DmaStatus::ok, at}}; // in part it is not in memory yet
    const auto done =
        window->route.read(address.value, length, at, purpose) + late_read(*window, address.value, length);
    if (is_observed_) [[unlikely]]
        tell_read(address.value, length, DmaStatus::ok, at, purpose);
    return {data, {DmaStatus::ok, done}};
}

/// A read longer than the tags allow at once asks for the rest when tags have come free.
DmaResult Initiator::fetch_in_parts(std::uint64_t address, std::span<std::byte> into, Time at, Purpose purpose) {
    const auto sizes = request_.extension.sizes;
    const auto request_bytes = std::uint64_t{1} << sizes.read_shift;
    DmaResult result{DmaStatus::ok, at};
    do { // once for a zero-length read, which is a request as any other
        const auto most = tags_->most() * request_bytes - address % request_bytes;
        const auto part = into.first(std::min<std::uint64_t>(into.size(), most));
        const auto requests = static_cast<unsigned>(pcie::read_requests(address, part.size(), sizes));
        const auto begin = tags_->take(at, requests);
        const auto done = fetch_now(address, part, begin, purpose);
        tags_->give(begin, done.done, requests);
        result = {done.status, std::max(result.done, done.done)};
        address += part.size();
        into = into.subspan(part.size());
    } while (!into.empty() && result.is_ok());
    return result;
}

DmaResult Initiator::fetch_slowly(std::uint64_t address, std::span<std::byte> into, Time at, Purpose purpose) {
    DmaResult result{DmaStatus::ok, at};
    do {
        auto* window = resolve(address, purpose, ::tlm::TLM_READ_COMMAND);
        const auto length = piece_of(window, address, into.size());
        const auto piece = fetch_piece(window, address, into.first(length), at, purpose);
        result.done = std::max(result.done, piece.done);
        if (!piece.is_ok())
            return refuse(piece.status, result.done);
        address += length;
        into = into.subspan(length);
    } while (!into.empty());
    return result;
}

DmaResult Initiator::store_slowly(std::uint64_t address, std::span<const std::byte> from, Issue issue,
                                  Purpose purpose) {
    if (!is_enabled_)
        return {DmaStatus::unsupported_request, issue.at};
    DmaResult result{DmaStatus::ok, issue.at};
    do {
        auto* window = resolve(address, purpose, ::tlm::TLM_WRITE_COMMAND);
        const auto length = piece_of(window, address, from.size());
        result.done = std::max(result.done, store_piece(window, address, from.first(length), issue, purpose).done);
        address += length;
        from = from.subspan(length);
    } while (!from.empty());
    return result;
}

DmaResult Initiator::fetch_piece(Window* window, std::uint64_t address, std::span<std::byte> into, Time at,
                                 Purpose purpose) {
    if (window == nullptr)
        return transport(::tlm::TLM_READ_COMMAND, address, into, at, purpose);
    if (window->remapper != nullptr)
        return fetch_remapped(*window, address, into, at, purpose);
    if (window->target.memory != nullptr && into.empty()) {
        const auto arrival = window->route.request(address, 0, at);
        return {DmaStatus::ok, window->route.complete(address, 0, flush(*window, at, arrival), purpose)};
    }
    if (window->target.memory != nullptr)
        return get(*window, address, into, at, purpose);
    const pcie::WindowCache::Hold hold(windows_);
    const auto& target = window->target;
    const auto arrival = arrive_behind(*window, at, window->route.request(address, into.size(), at));
    const auto answer =
        target.completer->complete_read(target.cookie, target.offset + (address - window->begin), into, arrival);
    const auto done = window->route.complete(address, into.size(), answer.done, purpose);
    return {answer.status, answered(target, answer.done, done)};
}

DmaResult Initiator::store_piece(Window* window, std::uint64_t address, std::span<const std::byte> from, Issue issue,
                                 Purpose purpose) {
    if (window == nullptr) {
        const auto data = std::span(const_cast<std::byte*>(from.data()), from.size()); // TLM: one pointer for both ways
        const auto result = transport(::tlm::TLM_WRITE_COMMAND, address, data, issue, purpose);
        return result.is_ok() ? result : lose(address, from.size(), result.status, result.done);
    }
    if (window->remapper != nullptr)
        return store_remapped(*window, address, from, issue, purpose);
    if (window->target.memory == nullptr)
        return ring(*window, address, from, issue, purpose);
    return put(*window, address, from, issue, purpose);
}

Window* Initiator::resolve(std::uint64_t address, Purpose purpose, ::tlm::tlm_command command) {
    if (auto* known = windows_.find(address, purpose); known != nullptr)
        return known;
    if (!is_enabled_ || is_busy_)
        return nullptr;
    auto& request = request_.extension;
    request_.prepare(command, address, {});
    request.kind = RequestKind::memory;
    request.hops = {};
    request.answer = {};
    request.remapper = nullptr;
    ::tlm::tlm_dmi dmi;
    dmi.init();
    const bool is_memory = fabric_.enter_direct(request_.payload, request, dmi);
    if (!request.hops.is_complete || (!is_memory && request.answer.completer == nullptr && request.remapper == nullptr))
        return nullptr;
    if (is_memory)
        request.answer.memory = reinterpret_cast<std::byte*>(dmi.get_dmi_ptr());
    const pcie::Range range{dmi.get_start_address(), dmi.get_end_address() + 1};
    auto window =
        std::make_unique<Window>(range, request.answer, request.hops, request.sizes, header_of(range.begin, request));
    window->remapper = request.remapper;
    return &windows_.insert(std::move(window));
}

// --- through a remapping unit ---

/// Asks about one request, which lies within 4 KiB.
Initiator::RemappedAccess Initiator::remap(Window& window, std::uint64_t address, std::size_t length, bool is_write,
                                           Time at, Purpose purpose) {
    const auto& extension = request_.extension;
    const auto packets = is_write ? pcie::write_packets(address, length, extension.sizes)
                                  : pcie::read_requests(address, length, extension.sizes);
    const auto crossing = window.route.approach(address, length, is_write, at);
    const auto remapped = window.remapper->remap({.requester = extension.requester,
                                                  .type = extension.address_type,
                                                  .pasid = extension.pasid,
                                                  .address = address,
                                                  .length = length,
                                                  .is_write = is_write,
                                                  .packets = packets},
                                                 crossing.there);
    if (!remapped.is_ok())
        return {{remapped.status, remapped.address,
                 window.route.refuse(address, length, is_write, remapped.ready, purpose)},
                crossing.sent};
    if (watch_ != nullptr) [[unlikely]]
        watch_->landed({.requester = extension.requester,
                        .address = address,
                        .physical = remapped.address,
                        .length = length,
                        .is_write = is_write,
                        .is_translated = true,
                        .purpose = purpose},
                       at);
    auto* behind = remapped_.find(remapped.address, purpose);
    if (behind == nullptr)
        behind =
            resolve_remapped(address, remapped.address, is_write ? ::tlm::TLM_WRITE_COMMAND : ::tlm::TLM_READ_COMMAND);
    if (!is_write) // it is in the root port until memory, or the next link, has it
        window.route.leave_end(remapped.ready + (behind != nullptr ? behind->target.read_latency : Time{}));
    return {remapped, crossing.sent, behind};
}

Window* Initiator::resolve_remapped(std::uint64_t address, std::uint64_t remapped, ::tlm::tlm_command command) {
    if (is_busy_)
        return nullptr;
    auto& request = request_.extension;
    request_.prepare(command, address, {});
    request.kind = RequestKind::memory;
    request.hops = {};
    request.answer = {};
    request.remapper = nullptr;
    request.remapped = remapped;
    request.remapped_range = {};
    ::tlm::tlm_dmi dmi;
    dmi.init();
    fabric_.enter_direct(request_.payload, request, dmi);
    if (!request.hops.is_complete || !request.remapped_range.contains(remapped))
        return nullptr;
    return &remapped_.insert(std::make_unique<Window>(request.remapped_range, request.answer, request.hops,
                                                      request.sizes, header_of(address, request)));
}

DmaResult Initiator::fetch_remapped(Window& window, std::uint64_t address, std::span<std::byte> into, Time at,
                                    Purpose purpose) {
    const pcie::WindowCache::Hold hold(windows_), hold_beyond(remapped_);
    const auto [remapped, sent, behind] = remap(window, address, into.size(), false, at, purpose);
    if (!remapped.is_ok())
        return {remapped.status, remapped.ready};
    if (behind == nullptr)
        return transport(::tlm::TLM_READ_COMMAND, address, into, at, purpose, remapped.address);
    auto& route = behind->route;
    if (behind->target.memory != nullptr && into.empty()) {
        const auto arrival = route.request_from(behind->hops_before, remapped.address, 0, remapped.ready);
        return {DmaStatus::ok, route.complete(remapped.address, 0, flush(*behind, at, arrival), purpose)};
    }
    if (behind->target.memory != nullptr) {
        take(*behind, remapped.address, into);
        return {DmaStatus::ok,
                route.read_from(behind->hops_before, remapped.address, into.size(), remapped.ready, purpose) +
                    late_read(*behind, remapped.address, into.size())};
    }
    const auto& target = behind->target;
    const auto arrival = arrive_behind(
        *behind, at, route.request_from(behind->hops_before, remapped.address, into.size(), remapped.ready));
    const auto answer = target.completer->complete_read(
        target.cookie, target.offset + (remapped.address - behind->begin), into, arrival);
    return {answer.status, route.complete(remapped.address, into.size(), answer.done, purpose)};
}

DmaResult Initiator::store_remapped(Window& window, std::uint64_t address, std::span<const std::byte> from, Issue issue,
                                    Purpose purpose) {
    const pcie::WindowCache::Hold hold(windows_), hold_beyond(remapped_);
    const auto [remapped, sent, behind] = remap(window, address, from.size(), true, issue.at, purpose);
    if (!remapped.is_ok()) {
        lose(address, from.size(), remapped.status, remapped.ready);
        return {DmaStatus::ok, sent};
    }
    if (behind == nullptr) {
        window.route.land(remapped.ready);
        const auto data = std::span(const_cast<std::byte*>(from.data()), from.size());
        const auto result = transport(::tlm::TLM_WRITE_COMMAND, address, data, issue, purpose, remapped.address);
        if (!result.is_ok())
            lose(address, from.size(), result.status, result.done);
        return {DmaStatus::ok, sent};
    }
    const auto crossing =
        behind->route.write_from(behind->hops_before, remapped.address, from.size(), remapped.ready, purpose);
    const auto done =
        land(*behind, behind->route, issue.issued, crossing.there + late_write(*behind, remapped.address, from.size()));
    window.route.land(crossing.sent + (done - crossing.there));
    if (behind->target.memory == nullptr)
        return tell(*behind, remapped.address, from, done, sent);
    give(*behind, remapped.address, from, done, purpose);
    return {DmaStatus::ok, sent};
}

port::Loan Initiator::lend_remapped(Window& window, std::uint64_t address, std::size_t length, Time at,
                                    Purpose purpose) {
    if (length == 0 || length > piece_of(&window, address, length))
        return {nullptr, {DmaStatus::ok, at}};
    const pcie::WindowCache::Hold hold(windows_), hold_beyond(remapped_);
    const auto [remapped, sent, behind] = remap(window, address, length, false, at, purpose);
    if (!remapped.is_ok()) {
        if (events_.is_on()) [[unlikely]]
            events_.emit(at, traces::DmaRead{address, length, static_cast<std::uint8_t>(remapped.status)});
        return {nullptr, refuse(remapped.status, remapped.ready)};
    }
    if (behind == nullptr || behind->target.memory == nullptr)
        return {nullptr, {DmaStatus::ok, at}};
    const auto* data = behind->target.memory + (remapped.address - behind->begin);
    if (behind->target.posted != nullptr && behind->target.posted->is_held(data, length)) [[unlikely]]
        return {nullptr, {DmaStatus::ok, at}};
    const auto done = behind->route.read_from(behind->hops_before, remapped.address, length, remapped.ready, purpose) +
                      late_read(*behind, remapped.address, length);
    if (events_.is_on()) [[unlikely]]
        events_.emit(at, traces::DmaRead{address, length, 0});
    return {data, {DmaStatus::ok, done}};
}

// --- what is said of it ---

void Initiator::tell_read(std::uint64_t address, std::uint64_t length, DmaStatus status, Time at, Purpose purpose) {
    events_.emit(at, traces::DmaRead{address, length, static_cast<std::uint8_t>(status)});
    if (watch_ != nullptr && status == DmaStatus::ok)
        tell_landing(address, length, false, at, purpose);
}

void Initiator::tell_written(std::uint64_t address, std::uint64_t length, DmaStatus status, Time at, Purpose purpose) {
    events_.emit(at, traces::DmaWritten{address, length, static_cast<std::uint8_t>(status)});
    if (watch_ != nullptr && status == DmaStatus::ok)
        tell_landing(address, length, true, at, purpose);
}

/// Of what went by direct paths; a remapping unit on the way was asked, and has been told of each part.
void Initiator::tell_landing(std::uint64_t address, std::uint64_t length, bool is_write, Time at, Purpose purpose) {
    while (length != 0) {
        const auto* window = windows_.find(address, purpose);
        const auto part = piece_of(window, address, length);
        const bool is_lost =
            std::ranges::any_of(lost_, [&](const pcie::Range& range) { return range.contains(address); });
        if (!is_lost && (window == nullptr || window->remapper == nullptr))
            watch_->landed({.requester = request_.extension.requester,
                            .address = address,
                            .physical = address,
                            .length = part,
                            .is_write = is_write,
                            .purpose = purpose},
                           at);
        address += part;
        length -= part;
    }
}

// --- one request after the other ---

Initiator::TranslationAnswer Initiator::ask_translation(std::uint64_t address, bool is_write, Time at) {
    std::array<std::byte, translation_bytes> completion{}; // the answer is in the extension
    Request request;
    request.prepare(::tlm::TLM_READ_COMMAND, address & ~(request_boundary - 1), completion);
    request.extension.address_type = AddressType::translation_request;
    request.extension.pasid = request_.extension.pasid;
    request.extension.message.is_write = is_write;
    const auto result = send(request, at);
    return {result, request.extension.translation};
}

DmaResult Initiator::send_message(RequestKind kind, std::uint64_t address, const AtsMessage& message, Time at) {
    Request request;
    request.prepare(::tlm::TLM_IGNORE_COMMAND, address, {});
    request.extension.kind = kind;
    request.extension.pasid = request_.extension.pasid;
    request.extension.message = message;
    return send(request, at);
}

DmaResult Initiator::send(Request& request, Time at) {
    if (!is_enabled_)
        return {DmaStatus::unsupported_request, at};
    request.extension.requester = request_.extension.requester;
    request.extension.sizes = request_.extension.sizes;
    auto delay = to_sc(at - kernel_now());
    fabric_.enter(request.payload, request.extension, delay);
    return {status_of(request.payload), std::max(at, kernel_now() + from_sc(delay))};
}

DmaResult Initiator::transport(::tlm::tlm_command command, std::uint64_t address, std::span<std::byte> data,
                               Issue issue, Purpose purpose, std::optional<std::uint64_t> remapped) {
    if (!is_enabled_)
        return {DmaStatus::unsupported_request, issue.at};
    std::unique_ptr<Request> nested; // a target that called back while request_ was under way
    if (is_busy_) {
        nested = std::make_unique<Request>();
        nested->extension = request_.extension;
    }
    auto& request = nested ? *nested : request_;
    request.prepare(command, address, data);
    request.extension.kind = RequestKind::memory;
    request.extension.purpose = purpose;
    request.extension.issued = issue.issued;
    request.extension.remapped = remapped;
    auto delay = to_sc(issue.at - kernel_now());

    const bool was_busy = std::exchange(is_busy_, true);
    fabric_.enter(request.payload, request.extension, delay);
    is_busy_ = was_busy;

    return {status_of(request.payload), std::max(issue.at, kernel_now() + from_sc(delay))};
}

DmaResult Initiator::refuse(DmaStatus status, Time at) {
    if (is_enabled_)
        fabric_.refused(status);
    return {status, at};
}

/// A part of a write that was sent and has not arrived. Its requester is not told, so that nothing of it shows there:
/// neither in the result nor in the status register, whose aborts are those of completions (§7.5.1.1.4).
DmaResult Initiator::lose(std::uint64_t address, std::uint64_t length, DmaStatus status, Time at) {
    lost_.push_back({address, address + length});
    ++losses_;
    loss_events_.emit(
        at, traces::WriteLost{request_.extension.requester.value, address, length, static_cast<std::uint8_t>(status)});
    return {DmaStatus::ok, at};
}

} // namespace model::tlm
