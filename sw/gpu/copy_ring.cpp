#include "sw/gpu/copy_ring.h"

#include "abi/pcie/config_space.h"
#include "sw/transport/mmio.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <vector>

namespace sw::gpu {

using abi::gpu::sdma::QueueRegister;
namespace sdma = abi::gpu::sdma;
using namespace std::chrono_literals;

namespace {
constexpr unsigned engine = 0, queue = 0;
constexpr std::uint64_t doorbell_at = 0x100 * 8; ///< AMDGPU_NAVI10_DOORBELL_sDMA_ENGINE0, which counts quadwords
constexpr std::uint64_t most_bytes = 4 << 20;    ///< of one packet (sdma_v6_0_buffer_funcs)
constexpr std::uint32_t uncached = static_cast<std::uint32_t>(abi::gpu::Mtype::uc);
/// A line of GL2. The engine's loads may find a line there that it has loaded before, as on boards where even uncached
/// loads do; each batch begins with a rinse, so that only a line that two batches share could be old.
constexpr std::size_t line_bytes = 128;
constexpr auto between_looks = 1ms; ///< at the engine, while a fence has not been passed

struct Known {
    std::uint32_t id; ///< device and vendor, as the first dword of configuration space has them
    CopyEngineBars bars;
};
constexpr std::array known_gpus{Known{0x744c'1002, {.register_bar = 5, .doorbell_bar = 2}}}; // Navi 31

template <class Packet>
void add(std::vector<std::byte>& packets, sdma::Opcode op, std::uint32_t kind, const auto& fill) {
    abi::Block<Packet> packet;
    abi::View<sdma::Header>(std::span(packet.bytes).first(sdma::Header::size))
        .template set<"op">(op)
        .template set<"sub_op">(kind);
    fill(packet.view());
    packets.insert(packets.end(), packet.bytes.begin(), packet.bytes.end());
}

/// The caches are written back and forgotten: what waves have left there is copied, and nothing old is read later.
void add_rinse(std::vector<std::byte>& packets) {
    const auto control = abi::gpu::CacheControl{}
                             .set<"gl2_wb">(true)
                             .set<"gl2_inv">(true)
                             .set<"gl1_inv">(true)
                             .set<"glv_inv">(true)
                             .set<"glk_inv">(true)
                             .value();
    add<sdma::GcrRequest>(packets, sdma::Opcode::gcr_request, 0, [&](auto packet) {
        packet.template set<"gcr_control_15_0">(static_cast<std::uint32_t>(control & 0xffff))
            .template set<"gcr_control_18_16">(static_cast<std::uint32_t>(control >> 16));
    });
}

/// Up to the end of a line of GL2: one NOP that has the dwords behind it skipped (sdma_v6_0_ring_insert_nop).
void fill_line(std::vector<std::byte>& packets) {
    const auto rest = (line_bytes - packets.size() % line_bytes) % line_bytes;
    if (rest == 0)
        return;
    const auto whole = packets.size() + rest;
    add<sdma::Nop>(packets, sdma::Opcode::nop, 0,
                   [&](auto packet) { packet.template set<"count">((rest - sdma::Nop::size) / 4); });
    packets.resize(whole);
}

} // namespace

std::optional<CopyEngineBars> find_copy_engine(transport::Transport& transport) {
    const auto id = transport.config_read(0, 4);
    for (const auto& gpu : known_gpus)
        if (gpu.id == id && transport.bar_size(gpu.bars.register_bar) > sdma::control_register(engine) &&
            transport.bar_size(gpu.bars.doorbell_bar) > doorbell_at)
            return gpu.bars;
    return std::nullopt;
}

Result<std::unique_ptr<CopyRing>> CopyRing::open(transport::Transport& transport, unsigned vram_bar,
                                                 const CopyEngineBars& bars, std::uint64_t ring) {
    std::unique_ptr<CopyRing> made(new CopyRing(transport, vram_bar, bars, ring));
    auto fence = memory::Buffer::allocate(transport, sizeof made->last_);
    if (!fence)
        return std::unexpected(std::move(fence.error()));
    made->fence_ = std::move(*fence);
    made->set_up();
    return made;
}

CopyRing::~CopyRing() {
    // At once, and not at the end of a packet: the memory that it copies to is given back.
    transport::write32<abi::Endian::little>(
        transport_, bars_.register_bar, sdma::control_register(engine),
        static_cast<std::uint32_t>(sdma::EngineControl{}.set<"halt">(true).value()));
    set(QueueRegister::rb_cntl, 0);
}

void CopyRing::set(QueueRegister which, std::uint32_t value) {
    transport::write32<abi::Endian::little>(transport_, bars_.register_bar, sdma::queue_register(engine, queue, which),
                                            value);
}

void CopyRing::set_up() {
    set(QueueRegister::rb_cntl, 0);
    written_ = retired_ = 0;
    for (const auto pointer :
         {QueueRegister::rb_rptr, QueueRegister::rb_rptr_hi, QueueRegister::rb_wptr, QueueRegister::rb_wptr_hi})
        set(pointer, 0);
    set(QueueRegister::rb_base, static_cast<std::uint32_t>(ring_ >> 8));
    set(QueueRegister::rb_base_hi, static_cast<std::uint32_t>(ring_ >> 40));
    set(QueueRegister::doorbell_offset, doorbell_at);
    set(QueueRegister::doorbell, static_cast<std::uint32_t>(sdma::Doorbell{}.set<"enable">(true).value()));
    // It may run.
    transport::write32<abi::Endian::little>(transport_, bars_.register_bar, sdma::control_register(engine), 0);
    set(QueueRegister::rb_cntl, static_cast<std::uint32_t>(sdma::RingControl{}
                                                               .set<"rb_enable">(true)
                                                               .set<"rb_size">(std::countr_zero(ring_bytes / 4))
                                                               .set<"rb_priv">(true)
                                                               .value()));
}

void CopyRing::put(std::span<const std::byte> packets) {
    while (!packets.empty()) {
        const auto offset = written_ % ring_bytes;
        const auto part = packets.first(std::min<std::uint64_t>(packets.size(), ring_bytes - offset));
        transport_.bar_write(vram_bar_, ring_ + offset, part);
        written_ += part.size();
        packets = packets.subspan(part.size());
    }
}

std::optional<std::uint32_t> CopyRing::submit(std::span<const Piece> pieces) {
    retire();
    std::vector<std::byte> packets;
    add_rinse(packets);
    for (const auto& piece : pieces)
        for (std::uint64_t done = 0; done < piece.bytes; done += most_bytes)
            add<sdma::CopyPhysical>(packets, sdma::Opcode::copy, sdma::copy_linear_physical, [&](auto packet) {
                packet.template set<"count">(static_cast<std::uint32_t>(std::min(most_bytes, piece.bytes - done) - 1))
                    .template set<"src_mtype">(uncached)
                    .template set<"src_sys">(piece.from.is_system)
                    .template set<"src_snoop">(piece.from.is_system)
                    .template set<"src_addr">(piece.from.address + done)
                    .template set<"dst_mtype">(uncached)
                    .template set<"dst_sys">(piece.to.is_system)
                    .template set<"dst_snoop">(piece.to.is_system)
                    .template set<"dst_addr">(piece.to.address + done);
            });
    add<sdma::Fence>(packets, sdma::Opcode::fence, 0, [&](auto packet) {
        packet.template set<"mtype">(uncached)
            .template set<"sys">(true)
            .template set<"snp">(true)
            .template set<"gpa">(true)
            .template set<"addr">(fence_.bus())
            .template set<"data">(last_ + 1);
    });
    fill_line(packets);
    if (packets.size() > ring_bytes - (written_ - retired_))
        return std::nullopt;
    put(packets);
    // Packets before doorbell: they are in VRAM, and not on their way through the host data path.
    transport::write32<abi::Endian::little>(transport_, bars_.register_bar,
                                            abi::gpu::remap_page + abi::gpu::hdp_mem_flush, 0);
    (void)transport::read32<abi::Endian::little>(transport_, bars_.register_bar,
                                                 abi::gpu::remap_page + abi::gpu::hdp_mem_flush);
    std::array<std::byte, sizeof written_> pointer;
    abi::store<std::uint64_t, abi::Endian::little>(pointer.data(), written_);
    transport_.mmio_write(bars_.doorbell_bar, doorbell_at, pointer);
    under_way_.push_back({++last_, written_});
    looked_ = transport_.now();
    for (const auto& piece : pieces)
        bytes_ += piece.bytes;
    return last_;
}

std::uint32_t CopyRing::passed() const {
    // fence before data: what was copied is read only once the fence shows
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(fence_.data())).load(std::memory_order_acquire);
}

void CopyRing::retire() {
    const auto number = passed();
    while (!under_way_.empty() && static_cast<std::int32_t>(number - under_way_.front().fence) >= 0) {
        retired_ = under_way_.front().end;
        under_way_.pop_front();
    }
}

Result<bool> CopyRing::has_passed(std::uint32_t fence) {
    if (static_cast<std::int32_t>(passed() - fence) >= 0)
        return true;
    const auto now = transport_.now();
    if (now - looked_ < between_looks)
        return false;
    looked_ = now;
    const sdma::EngineControl control{
        transport::read32<abi::Endian::little>(transport_, bars_.register_bar, sdma::control_register(engine))};
    const sdma::RingControl ring{transport::read32<abi::Endian::little>(
        transport_, bars_.register_bar, sdma::queue_register(engine, queue, QueueRegister::rb_cntl))};
    if (!control.get<"halt">() && ring.get<"rb_enable">())
        return false;
    if (static_cast<std::int32_t>(passed() - fence) >= 0)
        return true;
    // All that was under way is lost; the next batch finds an empty ring.
    under_way_.clear();
    set_up();
    return failure(EIO, fmt::format("copy engine {}: {}", engine,
                                    control.get<"halt">() ? "it has halted at a fault" : "the GPU was reset"));
}

} // namespace sw::gpu
