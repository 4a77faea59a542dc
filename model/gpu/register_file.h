// The registers of the GPU that concern memory, as software finds them in the register BAR: address spaces and their
// faults, invalidation engines, what flushes the host data path, and two that a running GPU does not survive; those of
// the copy engines go to them. Dwords;
// others read as zero.
#pragma once

#include "model/gpu/graphics_block.h"
#include "model/gpu/sdma/engines.h"

namespace model::gpu {

class RegisterFile {
public:
    RegisterFile(GraphicsBlock& block, sdma::Engines& engines) : block_(block), copy_engines_(engines) {}

    std::uint32_t read(std::uint32_t offset, port::Time at);
    void write(std::uint32_t offset, std::uint32_t value, port::Time at);
    /// All registers as after power-on.
    void reset();

private:
    struct Engine {
        std::uint32_t request = 0;
        bool is_taken = false; ///< its semaphore
        std::uint64_t range = 0;
        /// What the request asks for; once it has ended, what is acknowledged.
        std::uint32_t mask() const {
            return static_cast<std::uint32_t>(abi::gpu::InvalidateRequest{request}.get<"per_vmid_invalidate_req">());
        }
    };
    using Engines = std::array<Engine, abi::gpu::engines>;

    /// The register of a row of them with this offset: which one, and which dword of it; nothing: another register.
    struct Place {
        unsigned number, dword;
    };
    static std::optional<Place> find(std::uint32_t offset, abi::gpu::Register first, unsigned count, unsigned dwords);
    void reset_on_change(std::uint32_t& value, std::uint32_t written, port::Time at);
    void set_context(std::uint32_t offset, std::uint32_t value);

    GraphicsBlock& block_;
    sdma::Engines& copy_engines_;
    Engines engines_{};    ///< of the graphics hub
    Engines multimedia_{}; ///< of the multimedia hub: no wave is behind it
    std::uint32_t gcr_general_ = 0, l2_control_ = 0, l2_control2_ = 0, l2_gcr_ = 0, fault_control_ = 0;
    std::uint32_t hdp_request_ = 0;
};

} // namespace model::gpu
