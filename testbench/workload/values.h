// What the data of ranks are, and what they must be in the end, by a way that has nothing in common with how they are
// added up: word i of a rank is a_i + c_rank * b_i modulo 2^32, where a_i and b_i are drawn for the operation, and
// c_rank for the rank. So the sum over any ranks is count * a_i + (sum of their c) * b_i. A contribution that is
// missing, there twice, of another place or of another operation changes it, but for one chance in 2^32 a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace workload {

/// Of an operation of a run, by its number.
class Values {
public:
    Values(std::uint64_t seed, std::uint64_t operation);

    /// The words of `rank` whose places in its data begin at byte `from`. Both are multiples of 4.
    void fill(std::span<std::byte> into, std::uint32_t rank, std::uint64_t from) const;
    /// What ranks have together: how many, and the sum of their factors.
    struct Sum {
        std::uint32_t count = 0, factor = 0;
    };
    void add(Sum& sum, std::uint32_t rank) const;
    /// The byte at which the first word that is not `sum` begins, from the begin of `bytes`.
    std::optional<std::size_t> find_wrong(std::span<const std::byte> bytes, const Sum& sum, std::uint64_t from) const;

private:
    std::uint32_t factor_of(std::uint32_t rank) const;

    std::uint64_t base_;
};

/// Adds word by word, modulo 2^32. Both have the same length, a multiple of 4.
void add_words(std::span<std::byte> to, std::span<const std::byte> from);

} // namespace workload
