#include "model/tlm/initiator.h"

#include "model/tlm/time.h"

#include <algorithm>
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

std::uint64_t piece_of(const Window* window, std::uint64_t address, std::uint64_t length) {
    const auto limit = window != nullptr ? window->left(address) : request_boundary - address % request_boundary;
    return std::min(limit, length);
}
} // namespace

void Initiator::set_enabled(bool is_enabled) {
    is_enabled_ = is_enabled;
    if (!is_enabled)
        forget_all();
}

void Initiator::set_sizes(pcie::TlpSizes sizes) {
    if (request_.extension.sizes == sizes)
        return;
    request_.extension.sizes = sizes;
    forget_all();
}

port::Loan Initiator::lend(abi::BusAddress address, std::size_t length, Time at, Purpose purpose) {
    auto* window = windows_.find(address.value, purpose);
    if (window == nullptr) [[unlikely]]
        window = resolve(address.value, purpose, ::tlm::TLM_READ_COMMAND);
    if (window == nullptr || window->target.memory == nullptr || length > window->left(address.value))
        return {nullptr, {DmaStatus::ok, at}};
    const auto* data = window->target.memory + (address.value - window->begin);
    if (window->target.posted != nullptr && window->target.posted->has_held()) [[unlikely]]
        window->target.posted->settle(data, length);
    const auto done = window->route.read(address.value, length, at, purpose);
    if (events_.is_on()) [[unlikely]]
        events_.emit(at, traces::DmaRead{address.value, length, 0});
    return {data, {DmaStatus::ok, done}};
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

DmaResult Initiator::store_slowly(std::uint64_t address, std::span<const std::byte> from, Time at, Purpose purpose) {
    DmaResult result{DmaStatus::ok, at};
    do {
        auto* window = resolve(address, purpose, ::tlm::TLM_WRITE_COMMAND);
        const auto length = piece_of(window, address, from.size());
        const auto piece = store_piece(window, address, from.first(length), at, purpose);
        result.done = std::max(result.done, piece.done);
        if (!piece.is_ok())
            return {piece.status, result.done};
        address += length;
        from = from.subspan(length);
    } while (!from.empty());
    return result;
}

DmaResult Initiator::fetch_piece(Window* window, std::uint64_t address, std::span<std::byte> into, Time at,
                                 Purpose purpose) {
    if (window == nullptr)
        return transport(::tlm::TLM_READ_COMMAND, address, into, at);
    if (window->target.memory != nullptr)
        return get(*window, address, into, at, purpose);
    const pcie::WindowCache::Hold hold(windows_);
    const auto& target = window->target;
    const auto arrival = window->route.request(address, into.size(), at);
    const auto answer =
        target.completer->complete_read(target.cookie, target.offset + (address - window->begin), into, arrival);
    return {answer.status, window->route.complete(address, into.size(), answer.done, purpose)};
}

DmaResult Initiator::store_piece(Window* window, std::uint64_t address, std::span<const std::byte> from, Time at,
                                 Purpose purpose) {
    if (window == nullptr) {
        const auto data = std::span(const_cast<std::byte*>(from.data()), from.size()); // TLM: one pointer for both ways
        const auto result = transport(::tlm::TLM_WRITE_COMMAND, address, data, at);
        return result.is_ok() ? result : refuse(result.status, result.done);
    }
    if (window->target.memory == nullptr)
        return ring(*window, address, from, at, purpose);
    return put(*window, address, from, at, purpose);
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
    ::tlm::tlm_dmi dmi;
    dmi.init();
    const bool is_memory = fabric_.enter_direct(request_.payload, request, dmi);
    if (!request.hops.is_complete || (!is_memory && request.answer.completer == nullptr))
        return nullptr;
    if (is_memory)
        request.answer.memory = reinterpret_cast<std::byte*>(dmi.get_dmi_ptr());
    return &windows_.insert(std::make_unique<Window>(pcie::Range{dmi.get_start_address(), dmi.get_end_address() + 1},
                                                     request.answer, request.hops, request.sizes));
}

DmaResult Initiator::transport(::tlm::tlm_command command, std::uint64_t address, std::span<std::byte> data, Time at) {
    if (!is_enabled_)
        return {DmaStatus::unsupported_request, at};
    std::unique_ptr<Request> nested; // a target that called back while request_ was under way
    if (is_busy_) {
        nested = std::make_unique<Request>();
        nested->extension.requester = request_.extension.requester;
        nested->extension.sizes = request_.extension.sizes;
    }
    auto& request = nested ? *nested : request_;
    request.prepare(command, address, data);
    request.extension.kind = RequestKind::memory;
    const auto now = kernel_now();
    auto delay = to_sc(at - now);

    const bool was_busy = std::exchange(is_busy_, true);
    fabric_.enter(request.payload, request.extension, delay);
    is_busy_ = was_busy;

    return {status_of(request.payload), std::max(at, now + from_sc(delay))};
}

DmaResult Initiator::refuse(DmaStatus status, Time at) {
    if (is_enabled_)
        fabric_.refused(status);
    return {status, at};
}

} // namespace model::tlm
