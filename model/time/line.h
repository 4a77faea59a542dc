// A line: bytes a second, one after the other. A link, a bus, a channel of a drive, a memory interface.
#pragma once

#include "model/time/schedule.h"
#include "model/time/usage.h"

namespace model::time {

class Line {
public:
    /// bytes_per_second  at most 10^12; 0: bytes take no time
    Line(std::string name, std::uint64_t bytes_per_second, Gaps gaps = Gaps::usable)
        : meter_(std::move(name)), rate_(std::min(bytes_per_second, second)), schedule_(gaps) {}

    /// Bytes that arrive at `at`: they cross in one piece, in the first free time that is long enough.
    Booking use(port::Time at, std::uint64_t bytes) {
        bytes_ += bytes;
        const auto span = take(bytes);
        // What takes no time meets nobody.
        const auto begin = span.count() == 0 ? at : schedule_.book(at, span);
        meter_.count(at, begin);
        meter_.add_busy(span);
        return {begin, begin + span};
    }

    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t bytes_per_second() const { return rate_; }
    port::Time free_from() const { return schedule_.free_from(); }
    const Usage& usage() const { return meter_.usage(); }
    Account account() const { return {meter_.name(), Kind::line, 1, meter_.usage(), bytes_}; }

private:
    static constexpr std::uint64_t second = 1'000'000'000'000; ///< in picoseconds
    /// So many bytes times a second, and the carry, are below 2^64.
    static constexpr std::uint64_t at_once = 18'000'000;

    /// The time of so many bytes. Fractions of a picosecond are carried on, so that many small uses take as long as
    /// one large one.
    port::Time take(std::uint64_t bytes) {
        if (rate_ == 0)
            return {};
        std::uint64_t picoseconds = bytes / rate_ * second;
        bytes %= rate_;
        while (bytes > 0) {
            const auto piece = std::min(bytes, at_once);
            bytes -= piece;
            const auto scaled = piece * second + carry_;
            picoseconds += scaled / rate_;
            carry_ = scaled % rate_;
        }
        return port::Time{static_cast<std::int64_t>(picoseconds)};
    }

    Meter meter_;
    std::uint64_t rate_;
    Schedule schedule_;
    std::uint64_t carry_ = 0; ///< of a picosecond, in 1/rate_
    std::uint64_t bytes_ = 0;
};

} // namespace model::time
