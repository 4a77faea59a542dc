// The requester's end of memory requests: implements port::Dma for a function, and carries the processor's own
// accesses. The first use of a range looks for a direct path through the fabric; after that an access is a bounds
// check, a copy and a few counters. With a remapping unit on the way, one path leads to the unit, the unit gives each
// request a host address from its caches, even from stale entries, and another path leads on from there. A request
// without a direct path goes by b_transport. PCIe 6.0 §2.2.7, §2.3.
#pragma once

#include "model/memory/copy.h"
#include "model/pcie/landing.h"
#include "model/pcie/tags.h"
#include "model/pcie/window_cache.h"
#include "model/port/dma.h"
#include "model/tlm/debug_access.h"
#include "model/tlm/extension.h"
#include "model/tlm/fabric.h"
#include "traces/events.h"

#include <algorithm>
#include <tlm>
#include <vector>

namespace model::tlm {

/// When a write was issued, which is its place among those of its function, and when it is sent: a function that
/// translates its addresses itself has waited for a translation in between.
struct Issue {
    port::Time issued, at;
    Issue(port::Time when) : Issue(when, when) {}
    Issue(port::Time place, port::Time sent) : issued(place), at(sent) {}
};

class Initiator final : public port::Dma {
public:
    /// All its requests have this address type and this PASID. `order` is the order of the writes of its function, when
    /// the function has several initiators.
    explicit Initiator(Fabric& fabric, AddressType type = AddressType::untranslated,
                       std::uint32_t pasid = pcie::no_pasid, pcie::WriteOrder* order = nullptr)
        : fabric_(fabric), order_(order != nullptr ? *order : own_order_) {
        request_.extension.address_type = type;
        request_.extension.pasid = pasid;
        request_.extension.order = &order_;
    }
    Initiator(const Initiator&) = delete;
    Initiator& operator=(const Initiator&) = delete;

    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, port::Time at,
                         port::Purpose purpose = port::Purpose::control) override {
        const auto result = fetch(address.value, into, at, purpose);
        if (is_observed_) [[unlikely]]
            tell_read(address.value, into.size(), result.status, at, purpose);
        return result;
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, port::Time at,
                          port::Purpose purpose = port::Purpose::control) override {
        note_issued(at);
        const auto result = store(address.value, from, at, purpose);
        if (is_observed_) [[unlikely]]
            tell_written(address.value, from.size(), result.status, at, purpose);
        return result;
    }
    port::Loan lend(abi::BusAddress address, std::size_t length, port::Time at,
                    port::Purpose purpose = port::Purpose::control) override;

    const std::byte* lend_units(abi::BusAddress address, std::size_t length, std::uint32_t unit) override;
    bool write_units(abi::BusAddress address, std::span<const std::byte> from, std::uint32_t unit) override;

    /// How many parts of writes have been lost.
    std::uint64_t losses() const { return losses_; }

    /// As write(), without an event: for interrupt messages, which have an event of their own.
    port::DmaResult store(std::uint64_t address, std::span<const std::byte> from, Issue issue, port::Purpose purpose) {
        lost_.clear(); // of interrupt messages, too: a guest may send them to nowhere without end
        auto* window = windows_.find(address, purpose);
        if (window == nullptr || from.size() > window->left(address)) [[unlikely]]
            return store_slowly(address, from, issue, purpose);
        if (window->target.memory == nullptr)
            return window->remapper == nullptr ? ring(*window, address, from, issue, purpose)
                                               : store_slowly(address, from, issue, purpose);
        return put(*window, address, from, issue, purpose);
    }
    port::DmaResult fetch(std::uint64_t address, std::span<std::byte> into, port::Time at, port::Purpose purpose) {
        return tags_ == nullptr ? fetch_now(address, into, at, purpose) : fetch_in_parts(address, into, at, purpose);
    }
    port::Time next_read(port::Time now) override { return tags_ == nullptr ? now : tags_->next(now); }
    /// It is a processor: it has its own writes at once, and sees those of devices when they show.
    void set_processor() { is_processor_ = true; }
    /// The function's tags; nullptr: as many as it likes.
    void set_tags(pcie::Tags* tags) { tags_ = tags; }

    /// A translation request (PCIe 6.0 §10.2.2) for the page that `address` lies in.
    struct TranslationAnswer {
        port::DmaResult result;
        TranslationCompletion completion;
    };
    TranslationAnswer ask_translation(std::uint64_t address, bool is_write, port::Time at);
    /// See debug_access.h. Nothing is seen while this requester may send nothing.
    std::size_t peek(std::uint64_t address, std::span<std::byte> into) {
        return is_enabled_ ? tlm::peek(fabric_, request_.extension, address, into) : 0;
    }
    std::size_t poke(std::uint64_t address, std::span<const std::byte> from) {
        return is_enabled_ ? tlm::poke(fabric_, request_.extension, address, from) : 0;
    }

    /// A message to the root complex; posted.
    port::DmaResult send_message(RequestKind kind, std::uint64_t address, const AtsMessage& message, port::Time at);

    /// A disabled requester ends every request with Unsupported Request, without sending it.
    void set_enabled(bool is_enabled);
    void set_requester(abi::pcie::Bdf bdf);
    abi::pcie::Bdf requester() const { return request_.extension.requester; }
    void set_sizes(pcie::TlpSizes sizes);
    void set_events(traces::Events events) {
        events_ = events;
        is_observed_ = events_.is_on() || watch_ != nullptr;
    }
    /// Where lost writes are reported, also those of writes whose events come from elsewhere.
    void set_loss_events(traces::Events events) { loss_events_ = events; }
    /// Is told where accesses land; nullptr: nobody.
    void set_watch(pcie::LandingWatch* watch) {
        watch_ = watch;
        is_observed_ = events_.is_on() || watch_ != nullptr;
    }

    /// Paths to these bus addresses, on either side of a remapping unit.
    void forget(pcie::Range range) {
        windows_.forget(range);
        remapped_.forget(range);
    }
    void forget_all() { forget({0, ~std::uint64_t{0}}); }
    std::size_t known_windows() const { return windows_.size() + remapped_.size(); }
    /// All traffic to targets of this kind.
    pcie::Volume volume(pcie::TargetKind kind) const {
        auto sum = windows_.volume(kind);
        return sum += remapped_.volume(kind);
    }

private:
    using Window = pcie::Window;

    /// A read whose tags are taken, or that needs none.
    port::DmaResult fetch_now(std::uint64_t address, std::span<std::byte> into, port::Time at, port::Purpose purpose) {
        auto* window = windows_.find(address, purpose);
        if (window == nullptr || into.size() > window->left(address) || window->target.memory == nullptr ||
            into.empty()) [[unlikely]]
            return fetch_slowly(address, into, at, purpose);
        return get(*window, address, into, at, purpose);
    }
    port::DmaResult fetch_in_parts(std::uint64_t address, std::span<std::byte> into, port::Time at,
                                   port::Purpose purpose);
    port::Loan lend_now(abi::BusAddress address, std::size_t length, port::Time at, port::Purpose purpose);
    Window* window_of_units(std::uint64_t address, std::size_t length, std::uint32_t unit);
    port::DmaResult get(Window& window, std::uint64_t address, std::span<std::byte> into, port::Time at,
                        port::Purpose purpose) {
        take(window, address, into);
        const auto done =
            window.route.read(address, into.size(), at, purpose) + late_read(window, address, into.size());
        return {port::DmaStatus::ok, is_processor_ ? answered(window.target, at, done) : done};
    }
    /// When an answer is here that left the target at `left` or later and could be here at `at`. It passes nothing that
    /// the target has written before: software reads a register to have what is in memory by then (PCIe 6.0 §2.4.1).
    port::Time answered(const pcie::Target& target, port::Time left, port::Time at) const {
        return is_processor_ && target.completer != nullptr ? std::max(at, target.completer->all_there(left)) : at;
    }
    void take(Window& window, std::uint64_t address, std::span<std::byte> into) const {
        const auto* from = window.target.memory + (address - window.begin);
        memory::copy(into.data(), from, into.size());
        if (window.target.posted != nullptr && !is_processor_)
            window.target.posted->show_to_device(from, into);
    }
    port::DmaResult put(Window& window, std::uint64_t address, std::span<const std::byte> from, Issue issue,
                        port::Purpose purpose) {
        const auto crossing = window.route.write(address, from.size(), issue.at, purpose);
        const auto there = crossing.there + late_write(window, address, from.size());
        give(window, address, from, land(window, window.route, issue.issued, there), purpose);
        return {port::DmaStatus::ok, crossing.sent};
    }
    /// What memory takes longer where the host's cache does not have it.
    static port::Time late_read(const Window& window, std::uint64_t address, std::size_t length) {
        return window.target.cache == nullptr ? port::Time{} : window.target.cache->read(address, length);
    }
    static port::Time late_write(const Window& window, std::uint64_t address, std::size_t length) {
        return window.target.cache == nullptr ? port::Time{} : window.target.cache->write(address, length);
    }
    /// A write that could be at its target at `at` is there, and leaves the way free for others.
    port::Time land(const Window& window, pcie::Route& route, port::Time issued, port::Time at) {
        const auto done = is_ordered(window) ? order_of(window).arrive(issued, at) : at;
        route.land(done);
        return done;
    }
    /// When a zero-length read that has arrived at its target at `at` is answered: after all earlier posted writes of
    /// its function (§2.2.5, §2.4.1).
    port::Time flush(const Window& window, port::Time issued, port::Time at) {
        const auto& target = window.target;
        if (!window.route.is_timed())
            return at;
        return (target.posted != nullptr ? std::max(at, order_of(window).all_there(issued)) : at) + target.read_latency;
    }
    /// Whether what is sent there has a time of its own there. Where nothing is held, a peer's memory has its bytes at
    /// once.
    static bool is_ordered(const Window& window) {
        return window.is_delayed && (window.target.posted != nullptr || window.target.memory == nullptr);
    }
    /// What goes to a peer without the root complex meets only what goes there, too.
    pcie::WriteOrder& order_of(const Window& window) {
        return window.target.kind == pcie::TargetKind::peer ? peer_order_ : order_;
    }
    /// When a read of registers that could be there at `at` is: it passes no write (PCIe 6.0 §2.4.1).
    port::Time arrive_behind(const Window& window, port::Time issued, port::Time at) {
        return is_ordered(window) ? std::max(at, order_of(window).all_there(issued)) : at;
    }
    void give(Window& window, std::uint64_t address, std::span<const std::byte> from, port::Time done,
              port::Purpose purpose) {
        auto* to = window.target.memory + (address - window.begin);
        if (window.target.posted == nullptr) {
            memory::copy(to, from.data(), from.size());
        } else if (window.is_delayed && !is_processor_ &&
                   (purpose == port::Purpose::control || order_of(window).held != 0)) {
            window.target.posted->post(to, from, done, order_of(window));
        } else {
            memory::copy(to, from.data(), from.size());
            window.target.posted->note();
        }
    }

    /// A write to registers.
    port::DmaResult ring(Window& window, std::uint64_t address, std::span<const std::byte> from, Issue issue,
                         port::Purpose purpose) {
        const pcie::WindowCache::Hold hold(windows_);
        const auto crossing = window.route.write(address, from.size(), issue.at, purpose);
        return tell(window, address, from, land(window, window.route, issue.issued, crossing.there), crossing.sent);
    }
    port::DmaResult tell(Window& window, std::uint64_t address, std::span<const std::byte> from, port::Time arrival,
                         port::Time sent) {
        const auto& target = window.target;
        const auto status =
            target.completer->complete_write(target.cookie, target.offset + (address - window.begin), from, arrival);
        if (status != port::DmaStatus::ok) [[unlikely]]
            lose(address, from.size(), status, arrival);
        return {port::DmaStatus::ok, sent};
    }

    port::DmaResult fetch_slowly(std::uint64_t address, std::span<std::byte> into, port::Time at,
                                 port::Purpose purpose);
    port::DmaResult store_slowly(std::uint64_t address, std::span<const std::byte> from, Issue issue,
                                 port::Purpose purpose);
    port::DmaResult fetch_piece(Window* window, std::uint64_t address, std::span<std::byte> into, port::Time at,
                                port::Purpose purpose);
    port::DmaResult store_piece(Window* window, std::uint64_t address, std::span<const std::byte> from, Issue issue,
                                port::Purpose purpose);
    Window* resolve(std::uint64_t address, port::Purpose purpose, ::tlm::tlm_command command);
    struct RemappedAccess { ///< a request that has come to a remapping unit
        pcie::Remapper::Remapped remapped;
        port::Time sent{};        ///< when a write had left the function
        Window* window = nullptr; ///< behind the unit; nullptr: no direct path leads there
    };
    RemappedAccess remap(Window& window, std::uint64_t address, std::size_t length, bool is_write, port::Time at,
                         port::Purpose purpose);
    Window* resolve_remapped(std::uint64_t address, std::uint64_t remapped, ::tlm::tlm_command command);
    port::DmaResult fetch_remapped(Window& window, std::uint64_t address, std::span<std::byte> into, port::Time at,
                                   port::Purpose purpose);
    port::DmaResult store_remapped(Window& window, std::uint64_t address, std::span<const std::byte> from, Issue issue,
                                   port::Purpose purpose);
    port::Loan lend_remapped(Window& window, std::uint64_t address, std::size_t length, port::Time at,
                             port::Purpose purpose);
    port::DmaResult transport(::tlm::tlm_command command, std::uint64_t address, std::span<std::byte> data, Issue issue,
                              port::Purpose purpose, std::optional<std::uint64_t> remapped = {});
    port::DmaResult send(Request& request, port::Time at);
    port::DmaResult refuse(port::DmaStatus status, port::Time at);
    port::DmaResult lose(std::uint64_t address, std::uint64_t length, port::DmaStatus status, port::Time at);
    void tell_read(std::uint64_t address, std::uint64_t length, port::DmaStatus status, port::Time at,
                   port::Purpose purpose);
    void tell_written(std::uint64_t address, std::uint64_t length, port::DmaStatus status, port::Time at,
                      port::Purpose purpose);
    void tell_landing(std::uint64_t address, std::uint64_t length, bool is_write, port::Time at, port::Purpose purpose);

    Fabric& fabric_;
    pcie::WriteOrder own_order_, peer_order_;
    pcie::WriteOrder& order_;
    pcie::WindowCache windows_;
    pcie::WindowCache remapped_; ///< by the addresses that a remapping unit gave
    traces::Events events_, loss_events_;
    std::vector<pcie::Range> lost_; ///< of the last write
    std::uint64_t losses_ = 0;
    pcie::LandingWatch* watch_ = nullptr;
    pcie::Tags* tags_ = nullptr; ///< of the function
    bool is_observed_ = false;   ///< by events_ or watch_
    bool is_enabled_ = true;
    bool is_processor_ = false;
    bool is_busy_ = false; ///< request_ is under way: a target called back
    Request request_;
};

} // namespace model::tlm
