// Memory around an NVMe controller that is fuzzed: it knows the rings of the queues, and holds what the controller does
// there against what it may.
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/completion.h"
#include "abi/nvme/opcode.h"
#include "model/port/memory_dma.h"
#include "testbench/fuzz/require.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace fuzz {

inline constexpr std::uint32_t queue_pairs = 3, most_entries = 64;
/// Rings have a region for themselves, 64 KiB each, so that what is read and written there tells what goes on.
inline constexpr std::uint64_t rings = 0x1000'0000, ring_bytes = 0x10000,
                               rings_end = rings + 2 * ring_bytes * (queue_pairs + 1);

constexpr std::uint64_t ring_of(std::uint32_t id, bool is_completion) {
    return rings + (2 * id + (is_completion ? 1 : 0)) * ring_bytes;
}

/// Memory that knows the rings: what is fetched from them, and what is completed there.
class Watched final : public model::port::Dma {
public:
    model::port::MemoryDma memory;
    bool is_closed = true; ///< the controller is disabled

    model::port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, model::port::Time at,
                                model::port::Purpose purpose = {}) override {
        require(!is_closed, "a read of a controller that is disabled");
        const auto result = memory.read(address, into, at, purpose);
        if (const auto id = ring_at(address.value, false); result.is_ok() && id)
            for (std::size_t i = 0; i + abi::nvme::command_bytes <= into.size(); i += abi::nvme::command_bytes)
                fetched(*id, abi::ConstView<abi::nvme::Command>(into.subspan(i, abi::nvme::command_bytes)));
        return result;
    }
    model::port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, model::port::Time at,
                                 model::port::Purpose purpose = {}) override {
        require(!is_closed, "a write of a controller that is disabled");
        require(!ring_at(address.value, false), "a write to a submission queue");
        const auto result = memory.write(address, from, at, purpose);
        if (const auto id = ring_at(address.value, true); result.is_ok() && id)
            completed(*id, from);
        return result;
    }
    model::port::Loan lend(abi::BusAddress address, std::size_t length, model::port::Time at,
                           model::port::Purpose purpose = {}) override {
        require(!is_closed, "an access of a controller that is disabled");
        return memory.lend(address, length, at, purpose);
    }
    void forget() { under_way_.clear(), left_.clear(), live_ = {0}; }
    /// Commands that were fetched and have no completion, but for those that wait for something to happen.
    std::size_t under_way() const {
        std::size_t count = 0;
        for (const auto& [key, commands] : under_way_)
            count += static_cast<std::size_t>(
                std::ranges::count_if(commands, [&](const Fetched& f) { return !f.may_wait; }));
        return count;
    }

private:
    struct Fetched {
        abi::nvme::AdminOpcode opcode{};
        std::uint16_t queue = 0; ///< that is created or deleted
        bool may_wait = false;   ///< an event request, or a half of a fused pair
    };
    using Key = std::pair<std::uint16_t, std::uint16_t>; ///< queue and command identifier

    static std::optional<std::uint16_t> ring_at(std::uint64_t address, bool is_completion) {
        if (address < rings || address >= rings_end)
            return std::nullopt;
        const auto index = (address - rings) / ring_bytes;
        return index % 2 == (is_completion ? 1 : 0) ? std::optional(static_cast<std::uint16_t>(index / 2))
                                                    : std::nullopt;
    }
    void fetched(std::uint16_t sqid, abi::ConstView<abi::nvme::Command> command) {
        const bool is_admin = sqid == 0;
        const Fetched one{
            is_admin ? static_cast<abi::nvme::AdminOpcode>(command.get<"opcode">()) : abi::nvme::AdminOpcode::identify,
            static_cast<std::uint16_t>(command.get<"cdw10">()),
            is_admin ? command.get<"opcode">() == static_cast<std::uint8_t>(abi::nvme::AdminOpcode::async_event_request)
                     : command.get<"fuse">() == abi::nvme::fused_first};
        under_way_[{sqid, command.get<"cid">()}].push_back(one);
        if (is_admin && one.opcode == abi::nvme::AdminOpcode::create_cq)
            live_.insert(one.queue); // it may be used before the host is told
    }
    void completed(std::uint16_t cqid, std::span<const std::byte> bytes) {
        require(bytes.size() == abi::nvme::Completion::size, "a completion of another size");
        const abi::ConstView<abi::nvme::Completion> entry(bytes);
        require(live_.contains(cqid), "a completion in a queue that is deleted");
        const Key key{static_cast<std::uint16_t>(entry.get<"sqid">()), entry.get<"cid">()};
        auto& commands = under_way_[key];
        if (commands.empty()) { // of a submission queue that is deleted, whose completions had no room
            require(left_[key] != 0, "a completion of no command");
            --left_[key];
            return;
        }
        const bool is_ok = entry.get<"status">() == abi::nvme::Status::success;
        const auto one = commands.front();
        commands.erase(commands.begin());
        if (key.first != 0 || !is_ok)
            return;
        if (one.opcode == abi::nvme::AdminOpcode::delete_cq)
            live_.erase(one.queue);
        if (one.opcode == abi::nvme::AdminOpcode::delete_sq)
            for (auto& [other, rest] : under_way_)
                if (other.first == one.queue && !rest.empty())
                    left_[other] += rest.size(), rest.clear();
    }

    std::map<Key, std::vector<Fetched>> under_way_;
    std::map<Key, std::size_t> left_;
    std::set<std::uint16_t> live_{0};
};

} // namespace fuzz
