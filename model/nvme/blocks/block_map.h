// One bit for each logical block of a namespace: which are allocated, which are marked as uncorrectable. Blocks
// that nobody has touched cost 16 bytes for 32768 of them, so a large namespace costs what was touched of it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace model::nvme {

class BlockMap {
public:
    void resize(std::uint64_t blocks) {
        chunks_.clear();
        chunks_.resize((blocks + chunk_blocks - 1) / chunk_blocks);
        blocks_ = blocks, count_ = 0;
    }
    bool is_empty() const { return count_ == 0; }
    /// Blocks whose bit is set.
    std::uint64_t count() const { return count_; }
    bool is_full() const { return count_ == blocks_; }

    void set(std::uint64_t first, std::uint64_t count, bool value) {
        if (value ? is_full() : is_empty())
            return;
        each_chunk(first, count, [&](Chunk& chunk, std::uint64_t begin, std::uint64_t end) {
            set_in(chunk, begin, end, value);
            return true;
        });
    }
    /// The first block of the range whose bit is `value`.
    std::optional<std::uint64_t> find(std::uint64_t first, std::uint64_t count, bool value) const {
        if (value ? is_empty() : is_full())
            return std::nullopt;
        std::optional<std::uint64_t> found;
        each_chunk(first, count, [&](const Chunk& chunk, std::uint64_t begin, std::uint64_t end) {
            const auto place = find_in(chunk, begin, end, value);
            if (place)
                found = static_cast<std::uint64_t>(&chunk - chunks_.data()) * chunk_blocks + *place;
            return !place;
        });
        return found;
    }

    /// Bits of 64 blocks, the first one lowest; a file has them so. Those beyond the last block are zero.
    std::uint64_t word(std::uint64_t index) const {
        const auto& chunk = chunks_[index / chunk_words];
        return chunk.words ? (*chunk.words)[index % chunk_words] : chunk.all ? ~std::uint64_t{0} : 0;
    }
    /// Sets those blocks whose bit is set.
    void set_word(std::uint64_t index, std::uint64_t bits) {
        for (unsigned at = 0; at < 64 && bits >> at != 0;) {
            at += static_cast<unsigned>(std::countr_zero(bits >> at));
            const auto run = static_cast<unsigned>(std::countr_one(bits >> at));
            const auto first = index * 64 + at;
            if (first < blocks_)
                set(first, std::min<std::uint64_t>(run, blocks_ - first), true);
            at += run;
        }
    }

private:
    static constexpr std::uint64_t chunk_blocks = 32768, chunk_words = chunk_blocks / 64;
    using Words = std::array<std::uint64_t, chunk_blocks / 64>;
    struct Chunk {
        std::unique_ptr<Words> words; ///< none: all bits are `all`
        bool all = false;
    };

    template <class Visit> void each_chunk(std::uint64_t first, std::uint64_t count, Visit&& visit) {
        for (const auto end = first + count; first < end;) {
            const auto begin = first % chunk_blocks;
            const auto part = std::min(end - first, chunk_blocks - begin);
            if (!visit(chunks_[first / chunk_blocks], begin, begin + part))
                return;
            first += part;
        }
    }
    template <class Visit> void each_chunk(std::uint64_t first, std::uint64_t count, Visit&& visit) const {
        for (const auto end = first + count; first < end;) {
            const auto begin = first % chunk_blocks;
            const auto part = std::min(end - first, chunk_blocks - begin);
            if (!visit(chunks_[first / chunk_blocks], begin, begin + part))
                return;
            first += part;
        }
    }
    /// Bits [begin, end) of the word that has bit `begin`, and where the next word starts.
    static std::uint64_t mask(std::uint64_t begin, std::uint64_t end) {
        const auto top = std::min(end, begin / 64 * 64 + 64) - begin / 64 * 64;
        return ~std::uint64_t{0} >> (64 - top) & ~std::uint64_t{0} << begin % 64;
    }
    void set_in(Chunk& chunk, std::uint64_t begin, std::uint64_t end, bool value) {
        if (!chunk.words) {
            if (chunk.all == value)
                return;
            chunk.words = std::make_unique<Words>();
            chunk.words->fill(chunk.all ? ~std::uint64_t{0} : 0);
        }
        for (; begin < end; begin = begin / 64 * 64 + 64) {
            auto& word = (*chunk.words)[begin / 64];
            const auto bits = mask(begin, end);
            const auto before = static_cast<unsigned>(std::popcount(word & bits));
            if (value)
                word |= bits, count_ += static_cast<unsigned>(std::popcount(bits)) - before;
            else
                word &= ~bits, count_ -= before;
        }
    }
    static std::optional<std::uint64_t> find_in(const Chunk& chunk, std::uint64_t begin, std::uint64_t end,
                                                bool value) {
        if (!chunk.words)
            return chunk.all == value ? std::optional(begin) : std::nullopt;
        for (; begin < end; begin = begin / 64 * 64 + 64) {
            const auto word = (*chunk.words)[begin / 64];
            const auto hits = (value ? word : ~word) & mask(begin, end);
            if (hits != 0)
                return begin / 64 * 64 + static_cast<unsigned>(std::countr_zero(hits));
        }
        return std::nullopt;
    }

    std::vector<Chunk> chunks_;
    std::uint64_t blocks_ = 0, count_ = 0;
};

} // namespace model::nvme
