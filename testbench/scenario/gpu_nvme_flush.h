// What somebody beside a GPU program does to the caches of the GPU, again and again while it runs: through the register
// BAR, as a program with debug access does, or by submissions of another program.
#pragma once

#include "model/gpu/gpu.h"
#include "sw/transport/transport.h"

#include <cstdint>
#include <random>
#include <string_view>
#include <systemc>

namespace scenario {

enum class Flush : std::uint8_t {
    none,
    heavy,           ///< GCVM_INVALIDATE_ENG17_REQ, type 2
    heavy_other,     ///< the same for an address space that nobody uses
    heavy_no_mask,   ///< the same without an address space
    light,           ///< engine 17, another type
    other_engine,    ///< a heavy one by engine 16
    multimedia,      ///< a heavy one by engine 17 of the multimedia hub
    host_path,       ///< BIF_BX_PF_GPU_HDP_FLUSH_REQ
    general_control, ///< GCR_GENERAL_CNTL
    l2_control,      ///< GCVM_L2_CNTL2
    rendering,       ///< ACQUIRE_MEM of another program, at times that are drawn
    upper_only,      ///< the same without GL2
};
std::string_view name(Flush flush);

class Flusher {
public:
    static constexpr unsigned register_bar = model::gpu::Gpu::register_bar;

    /// The body of a thread of its own: flushes between begin() and end(), until close().
    void run();
    void begin(Flush flush, sw::transport::Transport& gpu, model::gpu::Gpu& device);
    void end();
    void close();

private:
    void flush_once();

    Flush flush_ = Flush::none;
    sw::transport::Transport* gpu_ = nullptr;
    model::gpu::Gpu* device_ = nullptr;
    std::uint64_t count_ = 0;
    bool is_over_ = false;
    std::mt19937_64 random_{1};
    sc_core::sc_event changed_;
};

} // namespace scenario
