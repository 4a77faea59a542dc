// BlueFlame bursts of several lines (PRM "BlueFlame"): a processor's write-combining buffers hold one line each, so
// that a longer WQE comes in several stores. The device puts them together; a burst that stays incomplete counts as the
// doorbell that it begins with, and its WQE is read from the send queue, where it stands as well.
#pragma once

#include "abi/prm/doorbell.h"
#include "model/hca/doorbell/doorbell.h"
#include "model/port/clock.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace model::hca::doorbell {

class Bursts {
public:
    /// As many bursts as may be incomplete at a time; another one ends the oldest. Assumed: silicon does not say.
    static constexpr std::size_t capacity = 32;
    /// How long after its first line a burst is waited for. Assumed; lines of one burst leave a processor together.
    static constexpr port::Time patience = std::chrono::microseconds(1);

    explicit Bursts(port::Clock& clock) : clock_(clock) {}

    /// A doorbell, and the UAR page that it came by.
    struct Rung {
        std::uint32_t page = 0;
        SendRing ring;
    };
    /// A doorbell that has come with a part of its WQE, stored at `offset` of UAR page `page`. Where another burst has
    /// to end for it, that one's doorbell.
    std::optional<Rung> begin(std::uint32_t page, std::uint32_t offset, const SendRing& ring, port::Time at);
    /// A store at `offset`, of which nothing is known yet. The doorbell that it completes, with its WQE, which lasts
    /// until the next call; or the one of a burst whose register it uses anew.
    std::optional<Rung> add(std::uint32_t page, std::uint32_t offset, std::span<const std::byte> bytes) {
        if (open_.empty()) [[likely]]
            return std::nullopt;
        return add_to_open(page, offset, bytes);
    }
    /// Calls `give_up(Rung)` for each burst that nobody waits for any more.
    template <class GiveUp> void expire(port::Time now, GiveUp&& give_up) {
        while (!open_.empty() && open_.front().due <= now)
            give_up(end(0, false));
        if (!open_.empty())
            clock_.wake_at(open_.front().due);
    }
    void reset() { open_.clear(); }

private:
    struct Burst {
        std::uint32_t page = 0, offset = 0;
        SendRing ring;
        port::Time due{};
        std::size_t filled = 0;
        std::array<std::byte, abi::prm::bf_buffer_bytes> bytes;
    };

    std::optional<Rung> add_to_open(std::uint32_t page, std::uint32_t offset, std::span<const std::byte> bytes);
    Rung end(std::size_t index, bool is_whole);

    port::Clock& clock_;
    std::vector<Burst> open_; ///< oldest first
    Burst last_;              ///< the one that ended last
};

} // namespace model::hca::doorbell
