// A medium that fails as a test has written: latent sectors, writes that fail, accesses that never end, and a loss of
// power after which writes that were never flushed are gone, or there in part. What it does follows from its script and
// its seed.
#pragma once

#include "model/nvme/media/medium.h"

#include <memory>
#include <vector>

namespace model::nvme {

class FaultyMedium final : public Medium {
public:
    /// `atomic_bytes`: a power loss tears no unit of this size.
    FaultyMedium(std::unique_ptr<Medium> medium, std::uint32_t atomic_bytes, std::uint64_t seed = 1)
        : medium_(std::move(medium)), atomic_bytes_(atomic_bytes), random_(seed | 1) {}
    ~FaultyMedium() override {
        if (loses_power_)
            lose_power();
    }
    FaultyMedium(const FaultyMedium&) = delete;
    FaultyMedium& operator=(const FaultyMedium&) = delete;

    /// Reads of these bytes fail until they are written again.
    void make_latent(Extent bytes) { latent_.push_back(bytes); }
    /// Writes and discards of these bytes fail, and change nothing.
    void make_read_only(Extent bytes) { read_only_.push_back(bytes); }
    /// There is no room for these bytes: writes of them fail, and change nothing.
    void make_full(Extent bytes) { full_.push_back(bytes); }
    /// Accesses of these bytes never end.
    void make_silent(Extent bytes) { silent_.push_back(bytes); }
    /// Flushes fail from now on.
    void fail_flushes() { flushes_fail_ = true; }
    void heal();
    /// Each unit that was written since the last flush is as it is now, or as it was before one of those writes.
    void lose_power();
    /// The power is lost when this goes.
    void lose_power_at_end(std::uint64_t seed) { loses_power_ = true, random_ = seed * 0x9e37'79b9'7f4a'7c15 | 1; }
    /// Units whose content a loss of power may change.
    std::size_t unsafe_units() const { return undo_.size(); }

    std::uint64_t size() const override { return medium_->size(); }
    MediumResult read(std::uint64_t offset, std::span<std::byte> into, port::Time at) override;
    MediumResult write(std::uint64_t offset, Pieces from, Durability durability, port::Time at) override;
    MediumResult discard(std::uint64_t offset, std::uint64_t length, Durability durability, port::Time at) override;
    MediumResult flush(port::Time at) override;
    std::optional<Extent> next_data(std::uint64_t offset) const override { return medium_->next_data(offset); }

private:
    struct Old {
        std::uint64_t unit;
        std::vector<std::byte> bytes;
    };

    MediumResult fault(const std::vector<Extent>& bad, Extent bytes, MediumStatus status, port::Time at) const;
    void remember(Extent bytes);
    void forget(Extent bytes);
    std::uint64_t next_random();

    std::unique_ptr<Medium> medium_;
    std::uint32_t atomic_bytes_;
    std::uint64_t random_;
    std::vector<Extent> latent_, read_only_, full_, silent_;
    std::vector<Old> undo_; ///< in the order of the writes
    bool flushes_fail_ = false, loses_power_ = false;
};

} // namespace model::nvme
