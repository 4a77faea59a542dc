// What the host has granted the controller, for whoever watches (model/port/grant.h): the places of queues since they
// were created, and those that the data pointer of a command names since the host rang for it. Without a watch each
// call is a branch.
#pragma once

#include "model/port/grant.h"

#include <cstdint>
#include <vector>

namespace model::nvme {

class CommandGrants {
public:
    void set_watch(port::GrantWatch* watch) { watch_ = watch; }
    bool is_watched() const { return watch_ != nullptr; }

    /// What follows is done for this command, for which the host rang at `since`.
    void begin(std::uint16_t sqid, std::uint16_t cid, port::Time since) {
        if (watch_ != nullptr) [[unlikely]]
            command_ = {.object = cid, .holder = sqid, .since = since};
    }
    /// Since when the command under way is granted what it names, to begin it again when its data moves.
    port::Time since() const { return command_.since; }
    /// The command under way is the second half of a fused pair: the first one is done before it.
    void begin_pair(std::uint16_t first, port::Time since) {
        second_ = command_, command_.object = first, command_.since = since;
    }
    void begin_second() { command_ = second_; }
    /// A walk of the command's data pointer begins; one of its metadata goes on where that has ended.
    void begin_walk() {
        if (watch_ != nullptr) [[unlikely]]
            places_.clear(), command_.part = 0;
    }
    /// The next entry of the pointer.
    void add(port::GrantKind kind, std::uint64_t address, std::uint64_t length) {
        if (watch_ != nullptr) [[unlikely]] {
            ++command_.part;
            places_.push_back({.grant = of_command(kind), .address = address, .length = length});
        }
    }
    void end_walk() {
        if (watch_ != nullptr) [[unlikely]]
            watch_->use(port::Purpose::payload, places_);
    }
    /// A list of entries, or a segment, is read.
    void use_list(port::GrantKind kind, std::uint64_t address, std::uint64_t length) {
        if (watch_ == nullptr) [[likely]]
            return;
        auto grant = of_command(kind);
        ++grant.part; // of the entry that leads to it
        use({.grant = grant, .address = address, .length = length});
    }
    /// Memory of a queue, or shadow doorbells, is read or written.
    void use_queue(port::GrantKind kind, std::uint16_t id, std::uint64_t address, std::uint64_t length,
                   port::Time since) {
        if (watch_ != nullptr) [[unlikely]]
            use({.grant = {.kind = kind, .object = id, .since = since}, .address = address, .length = length});
    }

private:
    port::Grant of_command(port::GrantKind kind) const {
        auto grant = command_;
        grant.kind = kind;
        return grant;
    }
    void use(const port::Allowance& one) { watch_->use(port::Purpose::control, {&one, 1}); }

    port::GrantWatch* watch_ = nullptr;
    port::Grant command_, second_;
    std::vector<port::Allowance> places_;
};

} // namespace model::nvme
