#include "testbench/scenario/gpu_nvme_flush.h"

#include "abi/gpu/registers.h"
#include "model/tlm/time.h"
#include "sw/transport/mmio.h"

namespace scenario {

using abi::gpu::InvalidateRequest;
using abi::gpu::Register;
using namespace std::chrono_literals;

namespace {

constexpr model::port::Time pause = 5us; ///< between two; a program in a loop of system calls is no faster
constexpr unsigned engine = 17, heavy = abi::gpu::heavy_flush, mask = 1;

std::uint32_t request(unsigned type, unsigned vmids) {
    return static_cast<std::uint32_t>(
        InvalidateRequest{}.set<"flush_type">(type).set<"per_vmid_invalidate_req">(vmids).value());
}
std::uint32_t at(Register first, unsigned number = 0) { return static_cast<std::uint32_t>(first) + 4 * number; }

} // namespace

std::string_view name(Flush flush) {
    constexpr std::array<std::string_view, 12> names{"none",
                                                     "engine 17, type 2",
                                                     "engine 17, type 2, VMID 15",
                                                     "engine 17, type 2, no VMID",
                                                     "engine 17, type 1",
                                                     "engine 16, type 2",
                                                     "MMHUB engine 17, type 2",
                                                     "GPU_HDP_FLUSH_REQ",
                                                     "GCR_GENERAL_CNTL",
                                                     "GCVM_L2_CNTL2",
                                                     "another program renders",
                                                     "ACQUIRE_MEM without GL2"};
    return names[static_cast<std::size_t>(flush)];
}

void Flusher::run() {
    while (!is_over_) {
        if (flush_ == Flush::none) {
            sc_core::wait(changed_);
            continue;
        }
        // Rendering comes when it comes: the next one in up to ten of the others' pauses.
        const auto span = flush_ == Flush::rendering ? pause * static_cast<int>(1 + random_() % 10) : pause;
        sc_core::wait(model::tlm::to_sc(span), changed_);
        flush_once();
    }
}

void Flusher::begin(Flush flush, sw::transport::Transport& gpu, model::gpu::Gpu& device) {
    flush_ = flush;
    gpu_ = &gpu;
    device_ = &device;
    count_ = 0;
    model::tlm::notify_now(changed_);
}

void Flusher::end() {
    flush_ = Flush::none;
    model::tlm::notify_now(changed_);
}

void Flusher::close() {
    is_over_ = true;
    end();
}

void Flusher::flush_once() {
    const auto poke = [&](std::uint32_t offset, std::uint32_t value) {
        sw::transport::write32<abi::Endian::little>(*gpu_, register_bar, offset, value);
    };
    switch (flush_) {
    case Flush::none: return;
    case Flush::heavy: poke(at(Register::invalidate0_req, engine), request(heavy, mask)); break;
    case Flush::heavy_other: poke(at(Register::invalidate0_req, engine), request(heavy, 1u << 15)); break;
    case Flush::heavy_no_mask: poke(at(Register::invalidate0_req, engine), request(heavy, 0)); break;
    case Flush::light: poke(at(Register::invalidate0_req, engine), request(heavy - 1, mask)); break;
    case Flush::other_engine: poke(at(Register::invalidate0_req, engine - 1), request(heavy, mask)); break;
    case Flush::multimedia: poke(at(Register::mm_invalidate0_req, engine), request(heavy, mask)); break;
    case Flush::host_path: poke(at(Register::hdp_flush_req), 0xfff); break;
    case Flush::general_control: poke(at(Register::gcr_general_cntl), static_cast<std::uint32_t>(count_ + 1)); break;
    case Flush::l2_control: poke(at(Register::l2_cntl2), static_cast<std::uint32_t>(count_ + 1)); break;
    case Flush::rendering:
    case Flush::upper_only: {
        const bool rinses = flush_ == Flush::rendering;
        const auto control =
            abi::gpu::CacheControl{}.set<"glv_inv">(true).set<"gl1_inv">(true).set<"gl2_inv">(rinses).set<"gl2_wb">(
                rinses);
        device_->block().acquire(static_cast<std::uint32_t>(control.value()), model::tlm::kernel_now());
        break;
    }
    }
    ++count_;
}

} // namespace scenario
