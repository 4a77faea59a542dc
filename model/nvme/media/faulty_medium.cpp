#include "model/nvme/media/faulty_medium.h"

#include <algorithm>
#include <array>
#include <set>

namespace model::nvme {

MediumResult FaultyMedium::fault(const std::vector<Extent>& bad, Extent bytes, MediumStatus status,
                                 port::Time at) const {
    MediumResult result{.done = at};
    for (const auto& extent : bad) {
        if (bytes.begin >= extent.end || extent.begin >= bytes.end)
            continue;
        const auto where = std::max(bytes.begin, extent.begin);
        result = {status, at, result.is_ok() ? where : std::min(result.where, where)};
    }
    return result;
}

void FaultyMedium::heal() {
    latent_.clear(), read_only_.clear(), full_.clear(), silent_.clear();
    flushes_fail_ = false;
}

void FaultyMedium::remember(Extent bytes) {
    for (auto unit = bytes.begin / atomic_bytes_; unit * atomic_bytes_ < bytes.end; ++unit) {
        const auto begin = unit * atomic_bytes_;
        Old old{unit, std::vector<std::byte>(std::min<std::uint64_t>(atomic_bytes_, size() - begin))};
        medium_->read(begin, old.bytes, {});
        undo_.push_back(std::move(old));
    }
}

void FaultyMedium::forget(Extent bytes) {
    std::erase_if(undo_, [&](const Old& old) {
        return old.unit >= bytes.begin / atomic_bytes_ && old.unit * atomic_bytes_ < bytes.end;
    });
}

std::uint64_t FaultyMedium::next_random() { // xorshift64
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
    return random_;
}

void FaultyMedium::lose_power() {
    std::set<std::uint64_t> kept; // units of which a later write has reached the medium
    for (auto old = undo_.rbegin(); old != undo_.rend(); ++old) {
        if (kept.contains(old->unit))
            continue;
        if (next_random() % 2 == 0) {
            kept.insert(old->unit);
            continue;
        }
        const std::array piece{std::span<const std::byte>(old->bytes)};
        medium_->write(old->unit * atomic_bytes_, piece, Durability::durable, {});
    }
    undo_.clear();
}

MediumResult FaultyMedium::read(std::uint64_t offset, std::span<std::byte> into, port::Time at) {
    const Extent bytes{offset, offset + into.size()};
    if (auto result = fault(silent_, bytes, MediumStatus::no_answer, port::never); !result.is_ok())
        return result;
    if (auto result = fault(latent_, bytes, MediumStatus::read_error, at); !result.is_ok())
        return result;
    return medium_->read(offset, into, at);
}

MediumResult FaultyMedium::write(std::uint64_t offset, Pieces from, Durability durability, port::Time at) {
    const Extent bytes{offset, offset + length_of(from)};
    if (auto result = fault(silent_, bytes, MediumStatus::no_answer, port::never); !result.is_ok())
        return result;
    if (auto result = fault(read_only_, bytes, MediumStatus::write_fault, at); !result.is_ok())
        return result;
    if (auto result = fault(full_, bytes, MediumStatus::no_space, at); !result.is_ok())
        return result;
    if (durability == Durability::durable)
        forget(bytes);
    else
        remember(bytes);
    std::vector<Extent> still_latent;
    for (const auto& extent : latent_) {
        if (extent.begin < bytes.begin)
            still_latent.push_back({extent.begin, std::min(extent.end, bytes.begin)});
        if (extent.end > bytes.end)
            still_latent.push_back({std::max(extent.begin, bytes.end), extent.end});
    }
    latent_ = std::move(still_latent);
    return medium_->write(offset, from, durability, at);
}

MediumResult FaultyMedium::discard(std::uint64_t offset, std::uint64_t length, Durability durability, port::Time at) {
    const Extent bytes{offset, offset + length};
    if (auto result = fault(silent_, bytes, MediumStatus::no_answer, port::never); !result.is_ok())
        return result;
    if (auto result = fault(read_only_, bytes, MediumStatus::write_fault, at); !result.is_ok())
        return result;
    if (durability == Durability::durable)
        forget(bytes);
    else
        remember(bytes);
    return medium_->discard(offset, length, durability, at);
}

MediumResult FaultyMedium::flush(port::Time at) {
    if (flushes_fail_)
        return {MediumStatus::write_fault, at};
    const auto result = medium_->flush(at);
    if (result.is_ok())
        undo_.clear();
    return result;
}

} // namespace model::nvme
