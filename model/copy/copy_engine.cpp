#include "model/copy/copy_engine.h"

#include <algorithm>

namespace model::copy {

using port::Time;

namespace {
constexpr std::uint64_t bar_bytes = 4096, msix_table = 0x800, msix_pending = 0xc00;
constexpr std::uint64_t doorbell = Registers::field<"doorbell">::offset;
constexpr std::uint64_t doorbell_end = doorbell + Registers::field<"doorbell">::bytes;
constexpr std::uint64_t highest_latency = 1'000'000'000; // 1 ms
/// Bytes that software has moved by one doorbell are up to 4 GiB: others work in between.
constexpr unsigned pieces_a_turn = 16;
constexpr std::uint64_t bytes_a_turn = 64 << 10;
/// Turns have times of their own, even where moving takes none: a simulation that is paced from outside (a served
/// machine's) returns between two instants only.
constexpr Time between_turns{1};
} // namespace

std::vector<pcie::Setting> CopyEngineConfig::settings() {
    return {{.name = "start_latency_ns",
             .help = "from the doorbell to the first read",
             .value = &start_latency,
             .maximum = highest_latency},
            {.name = "piece",
             .help = "bytes read and written at a time",
             .value = &piece_bytes,
             .minimum = 64,
             .maximum = 1 << 20,
             .is_power_of_two = true}};
}

pcie::FunctionConfig CopyEngine::function_config(const CopyEngineConfig&) {
    pcie::FunctionConfig function;
    function.identity = {.vendor_id = 0x1234, .device_id = 0xc0b1, .class_code = 0x088000};
    function.bars[0] = {.size = bar_bytes};
    function.msix_vectors = 1;
    function.msix_table_offset = msix_table;
    function.msix_pending_offset = msix_pending;
    return function;
}

CopyEngine::CopyEngine(const CopyEngineConfig& config, const pcie::DevicePorts& ports)
    : ports_(ports), start_latency_(config.timed ? config.start_latency : Time{}), piece_(config.piece_bytes) {}

port::DmaResult CopyEngine::bar_read(unsigned, std::uint64_t offset, std::span<std::byte> into, Time at) {
    std::ranges::fill(into, std::byte{});
    if (offset < registers_.bytes.size())
        std::ranges::copy(std::span(registers_.bytes)
                              .subspan(offset)
                              .first(std::min<std::uint64_t>(into.size(), registers_.bytes.size() - offset)),
                          into.begin());
    return {port::DmaStatus::ok, at};
}

void CopyEngine::bar_write(unsigned, std::uint64_t offset, std::span<const std::byte> from, Time at) {
    if (step_ != Step::none || from.empty())
        return; // what a copy works with stands still, and a write of no bytes has no effect (PCIe 6.0 §2.2.5)
    if (offset < doorbell)
        std::ranges::copy(from.first(std::min<std::uint64_t>(from.size(), doorbell - offset)),
                          registers_.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    if (offset >= doorbell_end || offset + from.size() <= doorbell)
        return;
    registers_.view().set<"state">(State::busy).set<"copied">(0);
    wait(Step::start, at + start_latency_);
}

void CopyEngine::reset(Time) {
    registers_ = {};
    step_ = Step::none, until_ = port::never;
}

void CopyEngine::wait(Step step, Time until) {
    step_ = step, until_ = until;
    ports_.clock.wake_at(until);
}

void CopyEngine::wake(Time now) {
    if (step_ == Step::none)
        return;
    if (now < until_) // asked for before a reset; the clock keeps the earliest time only, so ours is asked for again
        return ports_.clock.wake_at(until_);
    if (step_ == Step::start) {
        outcome_ = State::done;
        copied_ = 0;
        landed_ = now;
        move(now);
    } else if (step_ == Step::move)
        move(now);
    else if (step_ == Step::end)
        end(now);
}

/// Reads each piece as soon as the one before has come, and ends when the last write is there.
void CopyEngine::move(Time now) {
    const auto source = registers_.view().get<"source">(), destination = registers_.view().get<"destination">();
    const std::uint64_t length = registers_.view().get<"length">();
    const auto next_turn = now + between_turns;
    for (std::uint64_t pieces = 0; copied_ < length && outcome_ == State::done; ++pieces) {
        if (pieces == pieces_a_turn || pieces * piece_.size() >= bytes_a_turn)
            return wait(Step::move, std::max(now, next_turn));
        const auto piece = std::span(piece_).first(std::min<std::uint64_t>(piece_.size(), length - copied_));
        const auto read = ports_.dma.read(abi::BusAddress{source + copied_}, piece, now, port::Purpose::payload);
        now = read.done;
        landed_ = std::max(landed_, now);
        const auto written =
            read.is_ok() ? ports_.dma.write(abi::BusAddress{destination + copied_}, piece, now, port::Purpose::payload)
                         : read;
        if (!written.is_ok()) {
            outcome_ = State::failed;
            break;
        }
        landed_ = std::max(landed_, written.done);
        copied_ += piece.size();
    }
    registers_.view().set<"copied">(static_cast<std::uint32_t>(copied_));
    wait(Step::end, landed_);
}

void CopyEngine::end(Time now) {
    step_ = Step::none, until_ = port::never;
    registers_.view().set<"state">(outcome_).set<"copies">(registers_.view().get<"copies">() + 1);
    ports_.interrupts.raise(copy_ended, now);
}

} // namespace model::copy
