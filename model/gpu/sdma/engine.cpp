#include "model/gpu/sdma/engine.h"

#include <algorithm>

namespace model::gpu::sdma {

using abi::gpu::sdma::Opcode;
using abi::gpu::sdma::QueueRegister;
using port::Purpose;
using port::Time;
namespace sdma = abi::gpu::sdma;

namespace {
constexpr std::uint64_t dword = 4;
/// Where moving takes no time others work in between, in turns that have times of their own (model/copy).
constexpr unsigned pieces_a_turn = 128;
constexpr Time between_turns{1};

std::uint64_t with_half(std::uint64_t value, bool is_upper, std::uint32_t half) {
    const auto shift = is_upper ? 32 : 0;
    return (value & ~(std::uint64_t{0xffff'ffff} << shift)) | std::uint64_t{half} << shift;
}
std::uint32_t half_of(std::uint64_t value, bool is_upper) {
    return static_cast<std::uint32_t>(is_upper ? value >> 32 : value);
}
} // namespace

std::string_view name(Halt halt) {
    constexpr std::array<std::string_view, 5> names{"it has not", "page fault", "bus error",
                                                    "a packet it does not know", "a write pointer outside of the ring"};
    return names[static_cast<std::size_t>(halt)];
}

Engine::Engine(unsigned number, const EngineConfig& config, Memory& memory, port::Clock& clock,
               port::Interrupts& interrupts)
    : number_(number), config_(config), memory_(memory), clock_(clock), interrupts_(interrupts),
      packets_("sdma" + std::to_string(number) + ".packets", 1, config.timed ? config.packet : Time{}),
      pieces_("sdma" + std::to_string(number) + ".pieces", config.outstanding), piece_(config.piece_bytes) {}

// --- registers ---

std::uint32_t Engine::read(unsigned queue, QueueRegister which) const {
    const auto& q = queues_[queue];
    switch (which) {
    case QueueRegister::rb_cntl: return q.control;
    case QueueRegister::rb_base: return half_of(q.base >> 8, false);
    case QueueRegister::rb_base_hi: return half_of(q.base >> 8, true);
    case QueueRegister::rb_rptr: return half_of(q.read, false);
    case QueueRegister::rb_rptr_hi: return half_of(q.read, true);
    case QueueRegister::rb_wptr: return half_of(q.write, false);
    case QueueRegister::rb_wptr_hi: return half_of(q.write, true);
    case QueueRegister::rb_rptr_addr_lo: return half_of(q.read_address, false);
    case QueueRegister::rb_rptr_addr_hi: return half_of(q.read_address, true);
    case QueueRegister::doorbell: return q.doorbell;
    case QueueRegister::doorbell_offset: return q.doorbell_offset;
    }
    return 0;
}

void Engine::write(unsigned queue, QueueRegister which, std::uint32_t value, Time at) {
    auto& q = queues_[queue];
    const auto take = [value]<class Register>(Register, std::uint32_t before) {
        return static_cast<std::uint32_t>(Register{before}.written({value}).value());
    };
    switch (which) {
    case QueueRegister::rb_cntl: q.control = take(sdma::RingControl{}, q.control); break;
    case QueueRegister::rb_base: q.base = with_half(q.base >> 8, false, value) << 8; break;
    case QueueRegister::rb_base_hi: q.base = with_half(q.base >> 8, true, value & 0xff'ffff) << 8; break;
    case QueueRegister::rb_rptr: q.read = with_half(q.read, false, value & ~3u); break;
    case QueueRegister::rb_rptr_hi: q.read = with_half(q.read, true, value); break;
    case QueueRegister::rb_wptr: q.write = with_half(q.write, false, value & ~3u); break;
    case QueueRegister::rb_wptr_hi: q.write = with_half(q.write, true, value); break;
    case QueueRegister::rb_rptr_addr_lo: q.read_address = with_half(q.read_address, false, value & ~3u); break;
    case QueueRegister::rb_rptr_addr_hi: q.read_address = with_half(q.read_address, true, value); break;
    case QueueRegister::doorbell: q.doorbell = take(sdma::Doorbell{}, q.doorbell); break;
    case QueueRegister::doorbell_offset: q.doorbell_offset = take(sdma::DoorbellOffset{}, q.doorbell_offset); break;
    }
    look_for_work(at);
}

std::uint32_t Engine::control() const {
    return static_cast<std::uint32_t>(sdma::EngineControl{}.set<"halt">(is_halted_).value());
}

void Engine::set_control(std::uint32_t value, Time at) {
    const bool halts = sdma::EngineControl{value}.get<"halt">();
    if (halts) {
        // The packet under way begins anew afterwards.
        step_ = Step::idle, due_ = port::never;
        is_halted_ = true;
        return;
    }
    is_halted_ = false;
    halt_ = Halt::none;
    look_for_work(at);
}

std::uint32_t Engine::status() const {
    const bool has_work = std::ranges::any_of(queues_, &Queue::has_work);
    return static_cast<std::uint32_t>(
        sdma::EngineStatus{}.set<"idle">(step_ == Step::idle).set<"rb_empty">(!has_work).value());
}

void Engine::ring(std::uint64_t offset, std::span<const std::byte> from, Time at) {
    if (from.size() != sizeof(std::uint32_t) && from.size() != sizeof(std::uint64_t))
        return;
    for (auto& q : queues_) {
        auto doorbell = sdma::Doorbell{q.doorbell};
        if (!doorbell.get<"enable">() || sdma::DoorbellOffset{q.doorbell_offset}.get<"offset">() != offset)
            continue;
        q.doorbell = static_cast<std::uint32_t>(doorbell.set<"captured">(true).value());
        const auto low = abi::load<std::uint32_t, abi::Endian::little>(from.data());
        q.write = from.size() == sizeof low ? with_half(q.write, false, low)
                                            : abi::load<std::uint64_t, abi::Endian::little>(from.data());
        q.write &= ~std::uint64_t{3};
        look_for_work(at);
    }
}

void Engine::reset() {
    queues_ = {};
    is_halted_ = false;
    halt_ = Halt::none;
    step_ = Step::idle, due_ = port::never;
}

// --- packets ---

void Engine::wait(Step step, Time until) {
    step_ = step, due_ = until;
    clock_.wake_at(until);
}

void Engine::halt(Halt why) {
    is_halted_ = true;
    halt_ = why;
    step_ = Step::idle, due_ = port::never;
}

void Engine::look_for_work(Time at) {
    if (!is_halted_ && step_ == Step::idle && std::ranges::any_of(queues_, &Queue::has_work))
        wait(Step::fetch, at);
}

void Engine::wake(Time now) {
    while (due_ <= now) {
        switch (step_) {
        case Step::idle: return;
        case Step::fetch: fetch(due_); break;
        case Step::decode: decode(due_); break;
        case Step::move: move(due_); break;
        case Step::finish: finish(due_); break;
        }
    }
    if (due_ != port::never)
        clock_.wake_at(due_);
}

/// The next packet, of the queues in turn.
void Engine::fetch(Time now) {
    for (unsigned i = 1; i <= queues_.size(); ++i) {
        const auto next = static_cast<unsigned>((queue_ + i) % queues_.size());
        if (!queues_[next].has_work())
            continue;
        queue_ = next;
        const auto& queue = current();
        const auto ahead = queue.write - queue.read;
        if (ahead > queue.ring_bytes())
            return halt(Halt::bad_pointer);
        packet_bytes_ = std::min<std::uint64_t>(ahead, packet_.size());
        packet_ = {};
        const auto done = read_ring(queue.read, std::span(packet_).first(packet_bytes_), now);
        if (done)
            wait(Step::decode, packets_.use(*done).done);
        return;
    }
    step_ = Step::idle, due_ = port::never;
}

void Engine::decode(Time now) {
    raises_ = false;
    bytes_ = moved_ = 0;
    landed_ = now;
    const auto fetched = packet_bytes_;
    const bool is_known = understand();
    // With what follows it, a packet is all there; without, it was fetched whole.
    if (!is_known || std::min<std::uint64_t>(packet_bytes_, packet_.size()) > fetched ||
        packet_bytes_ > current().write - current().read)
        return halt(Halt::bad_packet);
    ++counters_.packets;
    if (bytes_ != 0)
        return wait(Step::move, now);
    if (carry_out(now))
        wait(Step::finish, landed_);
}

/// What the packet says; nothing is done yet.
bool Engine::understand() {
    const abi::ConstView<sdma::Header> header{packet_};
    const auto kind = header.get<"sub_op">();
    what_ = header.get<"op">();
    switch (what_) {
    case Opcode::nop: packet_bytes_ = dword * (1 + abi::ConstView<sdma::Nop>{packet_}.get<"count">()); return true;
    case Opcode::copy: return understand_copy(kind);
    case Opcode::write: {
        const abi::ConstView<sdma::Write> packet{packet_};
        to_ = {.address = packet.get<"dst_addr">()};
        bytes_ = dword * (packet.get<"count">() + 1);
        packet_bytes_ = sdma::Write::size + bytes_;
        return kind == 0;
    }
    case Opcode::constant_fill: {
        const abi::ConstView<sdma::ConstantFill> packet{packet_};
        to_ = {.address = packet.get<"dst_addr">()};
        pattern_ = packet.get<"src_data">();
        bytes_ = std::uint64_t{packet.get<"count">()} + 1;
        packet_bytes_ = sdma::ConstantFill::size;
        return kind == 0;
    }
    case Opcode::fence: packet_bytes_ = sdma::Fence::size; return true;
    case Opcode::trap: packet_bytes_ = sdma::Trap::size; return true;
    case Opcode::gcr_request: packet_bytes_ = sdma::GcrRequest::size; return true;
    }
    return false;
}

/// What moves no payload. Returns whether the engine may go on.
bool Engine::carry_out(Time now) {
    if (what_ == Opcode::fence) {
        const abi::ConstView<sdma::Fence> packet{packet_};
        const auto data = std::span(packet_).subspan(sdma::Fence::field<"data">::offset, dword);
        const auto to = packet.get<"gpa">() ? physical(packet.get<"addr">(), packet.get<"sys">(), packet.get<"mtype">())
                                            : Side{.address = packet.get<"addr">()};
        const auto done = store(to, 0, data, Purpose::control, now);
        if (!done)
            return false;
        landed_ = *done;
        ++counters_.fences;
    } else if (what_ == Opcode::gcr_request) {
        const abi::ConstView<sdma::GcrRequest> packet{packet_};
        landed_ = memory_.rinse(packet.get<"gcr_control_15_0">() | packet.get<"gcr_control_18_16">() << 16, now);
    }
    raises_ = what_ == Opcode::trap;
    return true;
}

Engine::Side Engine::physical(std::uint64_t address, bool is_system, std::uint32_t mtype) {
    return {.is_virtual = false,
            .address = address,
            .place = {.physical = is_system ? memory::Physical::bus(0) : memory::Physical::vram(0),
                      .mtype = static_cast<memory::Mtype>(mtype & 3)}};
}

bool Engine::understand_copy(std::uint32_t kind) {
    if (kind == sdma::copy_linear) {
        const abi::ConstView<sdma::CopyLinear> packet{packet_};
        packet_bytes_ = sdma::CopyLinear::size;
        from_ = {.address = packet.get<"src_addr">()};
        to_ = {.address = packet.get<"dst_addr">()};
        bytes_ = std::uint64_t{packet.get<"count">()} + 1;
        return true;
    }
    const abi::ConstView<sdma::CopyPhysical> packet{packet_};
    packet_bytes_ = sdma::CopyPhysical::size;
    from_ = physical(packet.get<"src_addr">(), packet.get<"src_sys">(), packet.get<"src_mtype">());
    to_ = physical(packet.get<"dst_addr">(), packet.get<"dst_sys">(), packet.get<"dst_mtype">());
    bytes_ = std::uint64_t{packet.get<"count">()} + 1;
    return kind == sdma::copy_linear_physical && packet.get<"addr_pair_num">() == 0;
}

void Engine::move(Time now) {
    for (unsigned pieces = 0; moved_ < bytes_; ++pieces) {
        if (pieces == pieces_a_turn)
            return wait(Step::move, now + between_turns);
        const auto begin = pieces_.enter(now);
        const bool goes_on = move_piece(begin);
        pieces_.leave(begin, goes_on ? landed_ : begin);
        if (!goes_on)
            return;
        if (begin > now && moved_ < bytes_)
            return wait(Step::move, begin);
    }
    (what_ == Opcode::copy ? counters_.bytes_copied : counters_.bytes_filled) += bytes_;
    wait(Step::finish, std::max(now, landed_));
}

bool Engine::move_piece(Time at) {
    // Pieces end where those of the source do, so that none crosses a line for nothing.
    const auto source = what_ == Opcode::copy ? from_.address + moved_ : to_.address + moved_;
    const auto length = std::min<std::uint64_t>(config_.piece_bytes - source % config_.piece_bytes, bytes_ - moved_);
    const auto piece = std::span(piece_).first(length);
    auto ready = std::optional(at);
    switch (what_) {
    case Opcode::copy: ready = load(from_, moved_, piece, Purpose::payload, at); break;
    case Opcode::write: ready = read_ring(current().read + sdma::Write::size + moved_, piece, at); break;
    case Opcode::constant_fill:
        for (std::size_t i = 0; i < piece.size(); ++i)
            piece[i] = static_cast<std::byte>(pattern_ >> (moved_ + i) % dword * 8);
        break;
    default: break;
    }
    if (!ready)
        return false;
    const auto done = store(to_, moved_, piece, Purpose::payload, *ready);
    if (!done)
        return false;
    landed_ = std::max({landed_, *ready, *done});
    moved_ += length;
    return true;
}

void Engine::finish(Time now) {
    auto& queue = current();
    queue.read += packet_bytes_;
    if (sdma::RingControl{queue.control}.get<"rptr_writeback_enable">()) {
        std::array<std::byte, sizeof queue.read> bytes;
        abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), queue.read);
        if (!store({.address = queue.read_address}, 0, bytes, Purpose::control, now))
            return;
    }
    if (raises_) {
        ++counters_.traps;
        interrupts_.raise(static_cast<std::uint16_t>(number_), now);
    }
    step_ = Step::idle, due_ = port::never;
    look_for_work(now);
}

// --- memory ---

std::optional<Place> Engine::find(const Side& side, std::uint64_t offset, bool is_write, Time at) {
    if (!side.is_virtual) {
        memory_.leave_pages();
        auto place = side.place;
        const auto address = side.address + offset;
        place.physical = place.physical.is_bus() ? memory::Physical::bus(address) : memory::Physical::vram(address);
        return place;
    }
    const auto found = memory_.find(current().vmid(), side.address + offset, is_write, sdma::client(number_), at);
    if (!found)
        halt(Halt::page_fault);
    return found;
}

std::optional<Time> Engine::load(const Side& from, std::uint64_t offset, std::span<std::byte> into, Purpose purpose,
                                 Time at) {
    auto ready = at;
    while (!into.empty()) {
        const auto place = find(from, offset, false, at);
        if (!place)
            return std::nullopt;
        const auto part = into.first(std::min<std::uint64_t>(into.size(), place->left));
        const auto answer = memory_.read(*place, part, purpose, at);
        if (!answer.is_ok) {
            halt(Halt::bus_error);
            return std::nullopt;
        }
        ready = std::max(ready, answer.done);
        offset += part.size();
        into = into.subspan(part.size());
    }
    return ready;
}

std::optional<Time> Engine::store(const Side& to, std::uint64_t offset, std::span<const std::byte> from,
                                  Purpose purpose, Time at) {
    auto landed = at;
    while (!from.empty()) {
        const auto place = find(to, offset, true, at);
        if (!place)
            return std::nullopt;
        const auto part = from.first(std::min<std::uint64_t>(from.size(), place->left));
        const auto answer = memory_.write(*place, part, purpose, at);
        if (!answer.is_ok) {
            halt(Halt::bus_error);
            return std::nullopt;
        }
        landed = std::max(landed, answer.done);
        offset += part.size();
        from = from.subspan(part.size());
    }
    return landed;
}

/// Bytes of the ring from `position` on, which goes on at the ring's begin.
std::optional<Time> Engine::read_ring(std::uint64_t position, std::span<std::byte> into, Time at) {
    const auto& queue = current();
    const auto offset = position % queue.ring_bytes();
    const auto first = into.first(std::min<std::uint64_t>(into.size(), queue.ring_bytes() - offset));
    const Side ring{.address = queue.base};
    const auto ready = load(ring, offset, first, Purpose::control, at);
    return ready && first.size() < into.size() ? load(ring, 0, into.subspan(first.size()), Purpose::control, *ready)
                                               : ready;
}

} // namespace model::gpu::sdma
