// A medium whose accesses take the time of the drive that it is part of. The bytes are those of the medium behind it,
// in memory or in a file, as are its faults.
#pragma once

#include "model/nvme/flash/flash.h"
#include "model/nvme/media/medium.h"

#include <memory>

namespace model::nvme {

class TimedMedium final : public Medium {
public:
    /// first   place of the medium's first byte in the drive
    TimedMedium(std::unique_ptr<Medium> medium, Flash& flash, std::uint64_t first)
        : medium_(std::move(medium)), flash_(flash), first_(first) {}

    std::uint64_t size() const override { return medium_->size(); }
    MediumResult read(std::uint64_t offset, std::span<std::byte> into, port::Time at) override {
        return timed(medium_->read(offset, into, at),
                     [&](port::Time from) { return flash_.read(place(offset, into.size()), from); });
    }
    View view(std::uint64_t offset, std::uint64_t length, port::Time at) override {
        auto seen = medium_->view(offset, length, at);
        if (seen.data != nullptr || !seen.result.is_ok()) // otherwise the caller reads
            seen.result = timed(seen.result, [&](port::Time from) { return flash_.read(place(offset, length), from); });
        return seen;
    }
    MediumResult write(std::uint64_t offset, Pieces from, Durability durability, port::Time at) override {
        return timed(medium_->write(offset, from, durability, at),
                     [&](port::Time begin) { return flash_.write(place(offset, length_of(from)), durability, begin); });
    }
    MediumResult discard(std::uint64_t offset, std::uint64_t length, Durability durability, port::Time at) override {
        return timed(medium_->discard(offset, length, durability, at),
                     [&](port::Time from) { return flash_.discard(place(offset, length), from); });
    }
    MediumResult flush(port::Time at) override {
        return timed(medium_->flush(at), [&](port::Time from) { return flash_.flush(from); });
    }
    std::optional<Extent> next_data(std::uint64_t offset) const override { return medium_->next_data(offset); }
    port::Time prepare(std::uint64_t offset, std::uint64_t length, port::Time at) override {
        return flash_.read(place(offset, length), at);
    }
    Medium& bare() override { return medium_->bare(); }

private:
    Extent place(std::uint64_t offset, std::uint64_t length) const {
        return {first_ + offset, first_ + offset + length};
    }
    /// An access that fails has taken its time as well; one that never ends takes nobody else's.
    template <class Take> static MediumResult timed(MediumResult result, Take&& take) {
        if (result.done != port::never)
            result.done = take(result.done);
        return result;
    }

    std::unique_ptr<Medium> medium_;
    Flash& flash_;
    std::uint64_t first_;
};

} // namespace model::nvme
