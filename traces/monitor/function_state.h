// One function of a recorded device: its BARs, its command interface, the objects that its driver has made, and where
// in host memory these live. Live objects bound what is kept.
#pragma once

#include "traces/monitor/command_watch.h"
#include "traces/monitor/facts.h"

#include <array>
#include <map>
#include <optional>
#include <string>

namespace traces::monitor {

/// What lies in a piece of host memory.
struct Area {
    std::uint64_t end = 0;
    Place place = Place::elsewhere;
    std::uint32_t number = 0;      ///< of the queue
    std::uint64_t ring_offset = 0; ///< of the piece's first byte
};

class FunctionState {
public:
    FunctionState(std::uint32_t link, std::string name) : link_(link), name_(std::move(name)) {}
    std::uint32_t link() const { return link_; }
    const std::string& name() const { return name_; }

    void bar_is_at(std::uint32_t bar, std::uint64_t address) { bars_[bar] = address; }
    /// Which BAR an address lies in, and where: the one that begins nearest below it.
    struct InBar {
        std::uint32_t bar = 0;
        std::uint64_t offset = 0;
    };
    std::optional<InBar> in_bar(std::uint64_t address) const;

    /// The first half of a doorbell that is rung in two stores, by its place in BAR 0.
    std::array<std::byte, 4>& half_of(std::uint64_t offset) { return halves_[offset]; }

    CommandWatch& commands() { return commands_; }
    const CommandWatch& commands() const { return commands_; }
    /// A command has succeeded: objects come, change and go. Calls gone(kind, number) and connected(qp).
    template <class Gone, class Connected>
    void apply(const CommandWatch::Done& done, Gone&& gone, Connected&& connected) {
        const auto effect = apply(done);
        if (effect.gone)
            gone(effect.gone->kind, effect.gone->number);
        if (effect.connected != nullptr)
            connected(*effect.connected);
        if (effect.is_all_gone)
            clear(gone);
    }
    /// Everything that there is goes.
    template <class Gone> void clear(Gone&& gone) {
        for (const auto& [number, eq] : eqs_)
            gone(ObjectKind::eq, number);
        for (const auto& [number, cq] : cqs_)
            gone(ObjectKind::cq, number);
        for (const auto& [number, qp] : qps_)
            gone(ObjectKind::qp, number);
        for (const auto& [number, variant] : mkeys_)
            gone(ObjectKind::mkey, number);
        eqs_.clear(), cqs_.clear(), qps_.clear(), mkeys_.clear(), areas_.clear(), records_.clear(), peers_.clear();
        halves_.clear();
        is_followed_ = false;
    }

    std::optional<std::pair<std::uint64_t, Area>> area(std::uint64_t address) const;
    EventQueue* eq(std::uint32_t number) { return find(eqs_, number); }
    CompletionQueue* cq(std::uint32_t number) { return find(cqs_, number); }
    QueuePair* qp(std::uint32_t number) { return find(qps_, number); }
    /// Each event queue that has this vector was made in the trace, in memory that is known; and there is one.
    bool knows_queues_of(std::uint16_t vector) const;
    /// The queue pair whose doorbell record has this address, or has it four bytes before.
    const QueuePair* qp_of_record(std::uint64_t address);
    /// The connected one whose peer this is; nullptr: none, or several.
    const QueuePair* qp_towards(abi::Qpn remote, const NetworkAddress& destination, bool is_infiniband) const;

private:
    struct Effect {
        struct Gone {
            ObjectKind kind;
            std::uint32_t number;
        };
        std::optional<Gone> gone{};
        const QueuePair* connected = nullptr;
        bool is_all_gone = false;
    };
    Effect apply(const CommandWatch::Done& done);
    void create_eq(const CommandWatch::Done& done);
    void create_cq(const CommandWatch::Done& done);
    void resize_cq(const CommandWatch::Done& done);
    void forget_qp(std::uint32_t number);
    void create_qp(const CommandWatch::Done& done);
    Effect change_qp(const CommandWatch::Done& done);
    /// `skipped` bytes of the ring belong to something else.
    void place(const Ring& ring, Place place, std::uint32_t number, std::uint64_t skipped = 0);
    void disconnect(std::uint32_t qpn);
    void displace(Place place, std::uint32_t number);

    template <class Table> static typename Table::mapped_type* find(Table& table, std::uint32_t number) {
        const auto found = table.find(number);
        return found == table.end() ? nullptr : &found->second;
    }

    std::uint32_t link_;
    std::string name_;
    std::map<std::uint32_t, std::uint64_t> bars_;
    CommandWatch commands_;
    std::map<std::uint32_t, EventQueue> eqs_;
    std::map<std::uint32_t, CompletionQueue> cqs_;
    std::map<std::uint32_t, QueuePair> qps_;
    std::map<std::uint32_t, std::uint8_t> mkeys_;       ///< variant by index
    std::map<std::uint64_t, Area> areas_;               ///< by their first byte; they do not overlap
    std::map<std::uint64_t, std::uint32_t> records_;    ///< doorbell records of queue pairs
    std::multimap<std::uint32_t, std::uint32_t> peers_; ///< connected queue pairs by the number of their peer
    std::map<std::uint64_t, std::array<std::byte, 4>> halves_;
    bool is_followed_ = false; ///< its commands are in the trace from the beginning on
};

} // namespace traces::monitor
