#include "model/gpu/gpu.h"

#include "model/gpu/vram.h"

#include <algorithm>

namespace model::gpu {

namespace {
constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::size_t dword_bytes = 4;

} // namespace

memory::MemoryConfig GpuConfig::knobs() const {
    auto result = memory ? *memory
                         : memory::MemoryConfig::of(static_cast<memory::Profile>(profile),
                                                    static_cast<memory::Mechanism>(mechanism - 1));
    if (!memory) {
        result.seed = seed;
        result.hold_max = hold_max;
        result.resets_on_control = resets_on_control;
        result.invalidation = invalidation;
        constexpr std::uint64_t bytes_per_gigabit = 125'000'000;
        result.vram_bytes_per_second = vram_gbps * bytes_per_gigabit;
        result.gl2_channels = gl2_channels;
        result.gl2_channel_bytes_per_second = gl2_channel_gbps * bytes_per_gigabit;
        result.gl2_misses = gl2_misses;
    }
    result.timed = result.timed && timed;
    return result;
}

std::vector<pcie::Setting> GpuConfig::settings() {
    constexpr std::uint64_t millisecond = 1'000'000'000;
    return {{.name = "vram",
             .help = "VRAM and size of its BAR",
             .value = &bytes,
             .minimum = mebibyte,
             .maximum = std::uint64_t{256} << 30,
             .is_power_of_two = true},
            {.name = "profile",
             .help = "who sees which bytes: 0 as observed on RDNA3, 1 coherent, 2 the worst that documents allow",
             .value = &profile,
             .maximum = 2},
            {.name = "mechanism",
             .help = "of profile 0, which of three explanations holds: 1 GL2, 2 a held doorbell, 3 an unnamed buffer",
             .value = &mechanism,
             .minimum = 1,
             .maximum = 3},
            {.name = "seed", .help = "of what profile 2 leaves to chance", .value = &seed, .maximum = 0xffff'ffff},
            {.name = "hold_max",
             .help = "what has not moved by then is stuck",
             .value = &hold_max,
             .minimum = millisecond,
             .maximum = 1000 * millisecond},
            {.name = "reset_on_cntl_write",
             .help = "a changed cache control register under a kernel resets the GPU",
             .value = &resets_on_control},
            {.name = "invalidate_ns",
             .help = "time of an invalidation, of which it is acknowledged at its end",
             .value = &invalidation,
             .maximum = millisecond},
            {.name = "vram_gbps", .help = "rate of VRAM", .value = &vram_gbps, .minimum = 1, .maximum = 8000},
            {.name = "gl2_channels",
             .help = "of GL2, which serve its lines in turn",
             .value = &gl2_channels,
             .minimum = 1,
             .maximum = 256},
            {.name = "gl2_channel_gbps",
             .help = "rate of a channel of GL2",
             .value = &gl2_channel_gbps,
             .minimum = 1,
             .maximum = 8000},
            {.name = "gl2_misses",
             .help = "of GL2 outstanding at a time",
             .value = &gl2_misses,
             .minimum = 1,
             .maximum = 65536},
            {.name = "copy_packet_ns",
             .help = "time of a copy engine to take a packet apart",
             .value = &copy_engines.packet,
             .maximum = millisecond},
            {.name = "copy_outstanding",
             .help = "pieces that a copy engine has read and not yet written",
             .value = &copy_engines.outstanding,
             .minimum = 1,
             .maximum = 1024},
            {.name = "copy_piece",
             .help = "bytes that a copy engine reads and writes at a time",
             .value = &copy_engines.piece_bytes,
             .minimum = 64,
             .maximum = 4096,
             .is_power_of_two = true}};
}

pcie::FunctionConfig Gpu::function_config(const GpuConfig& config) {
    pcie::FunctionConfig function;
    function.identity = {.vendor_id = config.vendor_id,
                         .device_id = config.device_id,
                         .subsystem_vendor_id = config.vendor_id,
                         .subsystem_id = config.device_id,
                         .class_code = abi::pcie::class_display_3d};
    function.bars[vram_bar] = {.size = config.bar_bytes != 0 ? config.bar_bytes : config.bytes,
                               .is_64bit = true,
                               .is_prefetchable = true,
                               .resizable_sizes = gpu::resizable_sizes(config.bytes)};
    function.bars[doorbell_bar] = {.size = doorbell_bytes, .is_64bit = true, .is_prefetchable = true};
    function.bars[register_bar] = {.size = register_bytes};
    function.msix_vectors = sdma::Engines::count;
    function.msix_bar = register_bar;
    function.msix_table_offset = msix_table;
    function.msix_pending_offset = msix_pending;
    return function;
}

Gpu::Gpu(const std::string& name, const GpuConfig& config, const pcie::DevicePorts& ports)
    : vram_(name, config.bytes), block_(config.knobs(), vram_.bytes(), ports.dma, ports.clock),
      copy_engines_(
          [&] {
              auto engines = config.copy_engines;
              engines.timed = engines.timed && config.timed;
              return engines;
          }(),
          engine_memory_, ports.clock, ports.interrupts),
      registers_(block_, copy_engines_) {}

void Gpu::accounts(std::vector<time::Account>& rows) const {
    block_.accounts(rows);
    for (unsigned i = 0; i < sdma::Engines::count; ++i)
        std::ranges::copy(copy_engines_.engine(i).accounts(), std::back_inserter(rows));
}

void Gpu::wake(port::Time now) {
    block_.wake(now);
    copy_engines_.wake(now);
}

port::DmaResult Gpu::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, port::Time at) {
    std::ranges::fill(into, std::byte{});
    block_.catch_up();
    if (bar == vram_bar && offset < vram_.size()) {
        const auto inside = into.first(std::min<std::uint64_t>(into.size(), vram_.size() - offset));
        const auto done = block_.caches().inbound_read(offset, inside, at);
        block_.catch_up();
        return {port::DmaStatus::ok, done};
    }
    if (bar == register_bar) {
        for (auto dword = offset & ~std::uint64_t{3}; dword < offset + into.size(); dword += dword_bytes) {
            std::array<std::byte, dword_bytes> bytes;
            abi::store<std::uint32_t, abi::Endian::little>(bytes.data(),
                                                           registers_.read(static_cast<std::uint32_t>(dword), at));
            for (std::size_t i = 0; i < dword_bytes; ++i)
                if (dword + i >= offset && dword + i < offset + into.size())
                    into[dword + i - offset] = bytes[i];
        }
    }
    return {port::DmaStatus::ok, at};
}

void Gpu::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, port::Time at) {
    block_.catch_up();
    if (bar == vram_bar && offset < vram_.size())
        block_.caches().inbound_write(offset, from.first(std::min<std::uint64_t>(from.size(), vram_.size() - offset)),
                                      at);
    if (bar == doorbell_bar)
        copy_engines_.ring(offset, from, at);
    if (bar == register_bar) // registers take whole dwords
        for (auto i = (dword_bytes - offset % dword_bytes) % dword_bytes; i + dword_bytes <= from.size();
             i += dword_bytes)
            registers_.write(static_cast<std::uint32_t>(offset + i),
                             abi::load<std::uint32_t, abi::Endian::little>(from.data() + i), at);
    block_.catch_up();
}

void Gpu::reset(port::Time at) {
    block_.reset(at);
    copy_engines_.reset();
    registers_.reset();
}

} // namespace model::gpu
