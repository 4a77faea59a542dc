#include "traces/codec/erf.h"

#include <array>
#include <cassert>

namespace traces::codec {

using namespace abi;

namespace {

/// 32.32 seconds.
std::uint64_t erf_time(std::uint64_t ps) {
    constexpr std::uint64_t second = 1'000'000'000'000;
    const auto high = (ps % second) << 24;
    const auto low = (high % second) << 8;
    return (ps / second) << 32 | high / second << 8 | low / second;
}

} // namespace

abi::Block<ErfHeader> erf_header(std::uint64_t time_ps, std::size_t length, std::size_t captured) {
    assert(ErfHeader::size + captured <= most_erf_bytes && length <= most_erf_bytes);
    std::array<std::byte, 8> time{};
    store<std::uint64_t, Endian::little>(time.data(), erf_time(time_ps));
    abi::Block<ErfHeader> header;
    header.view()
        .set<"time">(time)
        .set<"type">(erf_infiniband)
        .set<"flags">(erf_varying_length)
        .set<"record_length">(static_cast<std::uint16_t>(ErfHeader::size + captured))
        .set<"wire_length">(static_cast<std::uint16_t>(length));
    return header;
}

} // namespace traces::codec
