// Read, Write, Compare and Verify. NVM command set 1.0 "Read command" and its neighbours.
#include "model/nvme/io/ends.h"
#include "model/nvme/io/io.h"

#include <algorithm>
#include <cstring>

namespace model::nvme {

namespace {

constexpr std::uint64_t verified_bytes = 1 << 20;

/// Puts the metadata of each block behind its data.
void interleave(const Shape& shape, std::span<const std::byte> data, std::span<const std::byte> metadata,
                std::byte* to) {
    for (; !data.empty();
         data = data.subspan(shape.data_bytes()), metadata = metadata.subspan(shape.metadata_bytes())) {
        std::memcpy(to, data.data(), shape.data_bytes());
        std::memcpy(to + shape.data_bytes(), metadata.data(), shape.metadata_bytes());
        to += shape.stored_bytes();
    }
}

void separate(const Shape& shape, std::span<const std::byte> both, std::byte* data, std::byte* metadata) {
    for (; !both.empty(); both = both.subspan(shape.stored_bytes())) {
        std::memcpy(data, both.data(), shape.data_bytes());
        std::memcpy(metadata, both.data() + shape.data_bytes(), shape.metadata_bytes());
        data += shape.data_bytes(), metadata += shape.metadata_bytes();
    }
}

} // namespace

Outcome Io::load(Namespace& space, std::uint64_t lba, std::uint64_t blocks, Stored& stored, port::Time& at) {
    if (auto outcome = unreadable(space, lba, blocks, at); !outcome.is_ok())
        return outcome;
    const auto& shape = space.shape();
    const auto length = blocks * shape.data_bytes();
    const auto view = space.medium().view(space.data_at(lba), length, at);
    auto result = view.result;
    stored.data = {view.data, length};
    if (view.data == nullptr && result.is_ok()) {
        const auto into = take(stored_data_, length);
        result = space.medium().read(space.data_at(lba), into, at);
        stored.data = into;
    }
    if (!result.is_ok() || result.done == port::never)
        return ended(result, space);
    stored.metadata = {};
    auto done = result.done;
    if (shape.metadata_bytes() != 0) {
        stored.metadata = take(stored_metadata_, blocks * shape.metadata_bytes());
        result = space.medium().read(space.metadata_at(lba), stored.metadata, at);
        if (!result.is_ok() || result.done == port::never)
            return ended(result, space);
        done = std::max(done, result.done);
        if (shape.is_protected()) {
            // A block that was never written has no guard: its tuple is all ones, which nobody checks.
            for (auto next = space.allocated().find(lba, blocks, false); next;) {
                fill_escape(shape,
                            stored.metadata.subspan((*next - lba) * shape.metadata_bytes(), shape.metadata_bytes()));
                const auto behind = *next + 1;
                next = space.allocated().find(behind, lba + blocks - behind, false);
            }
        }
    }
    at = done;
    return ended(at);
}

Outcome Io::store(Namespace& space, std::uint64_t lba, std::uint64_t blocks, Pieces data,
                  std::span<const std::byte> metadata, Durability durability, port::Time at) {
    auto result = space.medium().write(space.data_at(lba), data, durability, at);
    auto done = result.done;
    if (result.is_ok() && !metadata.empty()) {
        const std::array piece{metadata};
        result = space.medium().write(space.metadata_at(lba), piece, durability, at);
        done = std::max(done, result.done);
    }
    result.done = done;
    if (!result.is_ok())
        return ended(result, space);
    return mark(space, lba, blocks, {}, durability, done);
}

Refusal Io::fetch(const Request& request, port::Time& at) {
    const auto& shape = request.shape();
    const auto host = take(host_data_, request.host_length());
    if (const auto refusal = data_.fetch(data_ranges_, host, at); !refusal.is_ok())
        return refusal;
    const auto metadata = take(host_metadata_, request.metadata_length());
    if (request.is_interleaved()) {
        const auto data = take(stored_data_, request.data_length());
        separate(shape, host, data.data(), metadata.data());
        std::swap(stored_data_, host_data_);
        return {};
    }
    if (request.has_own_metadata())
        return data_.fetch(metadata_ranges_, metadata, at);
    // What the controller makes itself is protection information, and nothing else.
    std::ranges::fill(metadata, std::byte{});
    return {};
}

Outcome Io::write(Request& request, port::Time at) {
    if (const auto refusal = walk(request, Direction::from_host, at); !refusal.is_ok())
        return ended(refusal, at);
    auto& space = *request.space;
    if (request.metadata_length() == 0) {
        if (const auto refusal = data_.gather(data_ranges_, pieces_, at); !refusal.is_ok())
            return ended(refusal, at);
        return store(space, request.lba, request.blocks, pieces_, {}, request.durability, at);
    }
    // What is checked must be what is written: the host could change bytes that were only lent.
    if (const auto refusal = fetch(request, at); !refusal.is_ok())
        return ended(refusal, at);
    const auto data = std::span<const std::byte>(host_data_).first(request.data_length());
    const auto metadata = std::span(host_metadata_).first(request.metadata_length());
    if (request.shape().is_protected()) {
        if (request.protection.is_automatic)
            protect(request.shape(), request.protection, data, metadata);
        else if (auto outcome = check_protection(request, data, metadata, at); !outcome.is_ok())
            return outcome;
    }
    const std::array piece{data};
    return store(space, request.lba, request.blocks, piece, metadata, request.durability, at);
}

Outcome Io::read(Request& request, port::Time at) {
    if (const auto refusal = walk(request, Direction::to_host, at); !refusal.is_ok())
        return ended(refusal, at);
    Stored stored;
    if (auto outcome = load(*request.space, request.lba, request.blocks, stored, at);
        !outcome.is_ok() || outcome.done == port::never)
        return outcome;
    if (request.shape().is_protected())
        if (auto outcome = check_protection(request, stored.data, stored.metadata, at); !outcome.is_ok())
            return outcome;
    if (!request.is_interleaved()) {
        if (const auto refusal = data_.scatter(data_ranges_, stored.data, at); !refusal.is_ok())
            return ended(refusal, at);
        if (!request.has_own_metadata())
            return ended(at);
        const auto refusal = data_.scatter(metadata_ranges_, stored.metadata, at);
        return ended(refusal, at);
    }
    const auto both = take(host_data_, request.host_length());
    interleave(request.shape(), stored.data, stored.metadata, both.data());
    const auto refusal = data_.scatter(data_ranges_, both, at);
    return ended(refusal, at);
}

Outcome Io::verify(Request& request, port::Time at) {
    // In parts, since no limit of a transfer applies: what is looked at needs a buffer, but not all at once.
    const auto in_part = verified_bytes / request.shape().data_bytes();
    for (auto left = request.blocks; left != 0;) {
        request.blocks = std::min(left, in_part);
        Stored stored;
        if (auto outcome = load(*request.space, request.lba, request.blocks, stored, at);
            !outcome.is_ok() || outcome.done == port::never)
            return outcome;
        if (request.shape().is_protected())
            if (auto outcome = check_protection(request, stored.data, stored.metadata, at); !outcome.is_ok())
                return outcome;
        left -= request.blocks, request.lba += request.blocks;
        if (request.shape().protection != Protection::type3)
            request.protection.reference_tag += request.blocks;
    }
    return ended(at);
}

Outcome Io::compare(Request& request, port::Time at) {
    if (const auto refusal = walk(request, Direction::from_host, at); !refusal.is_ok())
        return ended(refusal, at);
    if (const auto refusal = fetch(request, at); !refusal.is_ok())
        return ended(refusal, at);
    Stored stored;
    if (auto outcome = load(*request.space, request.lba, request.blocks, stored, at);
        !outcome.is_ok() || outcome.done == port::never)
        return outcome;
    const auto& shape = request.shape();
    if (shape.is_protected())
        if (auto outcome = check_protection(request, stored.data, stored.metadata, at); !outcome.is_ok())
            return outcome;
    const std::uint64_t compared = request.host_metadata();
    for (std::uint64_t i = 0; i < request.blocks; ++i) {
        const auto data = i * shape.data_bytes(), metadata = i * shape.metadata_bytes();
        if (std::memcmp(host_data_.data() + data, stored.data.data() + data, shape.data_bytes()) != 0 ||
            (compared != 0 &&
             std::memcmp(host_metadata_.data() + metadata, stored.metadata.data() + metadata, compared) != 0))
            return ended(Status::compare_failure, request.lba + i, at);
    }
    return ended(at);
}

} // namespace model::nvme
