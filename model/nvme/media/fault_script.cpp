#include "model/nvme/media/fault_script.h"

#include "model/nvme/media/faulty_medium.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <expected>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace model::nvme {

namespace {

constexpr std::uint32_t atomic_bytes = 512; ///< a loss of power tears no such unit

/// What follows the word.
enum class Takes : std::uint8_t { nothing, blocks, number };

struct Word {
    std::string_view name;
    Takes takes;
    void (*make)(FaultyMedium& medium, Extent bytes, std::uint64_t number);
};
constexpr std::array words{
    Word{"read", Takes::blocks, [](FaultyMedium& medium, Extent bytes, std::uint64_t) { medium.make_latent(bytes); }},
    Word{"write", Takes::blocks,
         [](FaultyMedium& medium, Extent bytes, std::uint64_t) { medium.make_read_only(bytes); }},
    Word{"full", Takes::blocks, [](FaultyMedium& medium, Extent bytes, std::uint64_t) { medium.make_full(bytes); }},
    Word{"silent", Takes::blocks, [](FaultyMedium& medium, Extent bytes, std::uint64_t) { medium.make_silent(bytes); }},
    Word{"flush", Takes::nothing, [](FaultyMedium& medium, Extent, std::uint64_t) { medium.fail_flushes(); }},
    Word{"power", Takes::number,
         [](FaultyMedium& medium, Extent, std::uint64_t seed) { medium.lose_power_at_end(seed); }},
};

struct Fault {
    const Word* word = nullptr;
    Extent blocks{}; ///< both included
    std::uint64_t number = 0;
};

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(' ');
    return first == text.npos ? std::string_view{} : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<Fault> fault_of(std::string_view text) {
    const auto space = std::min(text.find(' '), text.size());
    const auto rest = trim(text.substr(space));
    const auto* const word = std::ranges::find(words, text.substr(0, space), &Word::name);
    if (word == words.end())
        return std::nullopt;
    if (word->takes == Takes::nothing)
        return rest.empty() ? std::optional(Fault{word}) : std::nullopt;
    if (word->takes == Takes::number) {
        const auto number = number_of(rest);
        return number ? std::optional(Fault{.word = word, .number = *number}) : std::nullopt;
    }
    const auto dots = rest.find("..");
    const auto first = number_of(rest.substr(0, dots));
    const auto last = dots == rest.npos ? first : number_of(rest.substr(dots + 2));
    return first && last && *first <= *last ? std::optional(Fault{.word = word, .blocks = {*first, *last}})
                                            : std::nullopt;
}

std::expected<std::vector<Fault>, std::string> parse(std::string_view script) {
    std::vector<Fault> faults;
    for (auto rest = script; !rest.empty();) {
        const auto comma = std::min(rest.find(','), rest.size());
        const auto one = trim(rest.substr(0, comma));
        rest = rest.substr(std::min(comma + 1, rest.size()));
        const auto fault = fault_of(one);
        if (!fault)
            return std::unexpected(
                "has \"" + std::string(one) +
                "\", which is none: there are read, write, full and silent, each with a block or with "
                "first..last, flush, and power with a number");
        faults.push_back(*fault);
    }
    return faults;
}

} // namespace

std::optional<std::string> fault_of_script(std::string_view script) {
    const auto faults = parse(script);
    return faults ? std::nullopt : std::optional(faults.error());
}

std::unique_ptr<Medium> make_faulty(std::unique_ptr<Medium> medium, std::string_view script,
                                    std::uint32_t block_bytes) {
    const auto faults = parse(script);
    if (!faults)
        throw std::invalid_argument("faults " + faults.error());
    auto faulty = std::make_unique<FaultyMedium>(std::move(medium), atomic_bytes);
    for (const auto& [word, blocks, number] : *faults) {
        if (blocks.end >= faulty->size() / block_bytes)
            throw std::invalid_argument("faults has block " + std::to_string(blocks.end) + ", and the medium has " +
                                        std::to_string(faulty->size() / block_bytes));
        word->make(*faulty, {blocks.begin * block_bytes, (blocks.end + 1) * block_bytes}, number);
    }
    return faulty;
}

} // namespace model::nvme
