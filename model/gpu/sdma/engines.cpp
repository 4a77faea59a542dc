#include "model/gpu/sdma/engines.h"

namespace model::gpu::sdma {

namespace sdma = abi::gpu::sdma;
using sdma::QueueRegister;

namespace {
constexpr std::array all_registers{
    QueueRegister::rb_cntl,    QueueRegister::rb_base,         QueueRegister::rb_base_hi,
    QueueRegister::rb_rptr,    QueueRegister::rb_rptr_hi,      QueueRegister::rb_wptr,
    QueueRegister::rb_wptr_hi, QueueRegister::rb_rptr_addr_hi, QueueRegister::rb_rptr_addr_lo,
    QueueRegister::doorbell,   QueueRegister::doorbell_offset,
};
} // namespace

std::optional<Engines::Found> Engines::find(std::uint32_t offset) {
    for (unsigned engine = 0; engine < count; ++engine) {
        const auto begin = sdma::queue_register(engine, 0, QueueRegister::rb_cntl);
        if (offset < begin || offset >= begin + sdma::queues * sdma::queue_dwords * 4)
            continue;
        const auto queue = (offset - begin) / 4 / sdma::queue_dwords;
        for (const auto which : all_registers)
            if (offset == sdma::queue_register(engine, queue, which))
                return Found{engine, queue, which};
    }
    return std::nullopt;
}

std::optional<std::uint32_t> Engines::read(std::uint32_t offset) const {
    for (unsigned i = 0; i < count; ++i) {
        if (offset == sdma::control_register(i))
            return engines_[i].control();
        if (offset == sdma::status_register(i))
            return engines_[i].status();
    }
    const auto found = find(offset);
    return found ? std::optional(engines_[found->engine].read(found->queue, found->which)) : std::nullopt;
}

bool Engines::write(std::uint32_t offset, std::uint32_t value, port::Time at) {
    for (unsigned i = 0; i < count; ++i)
        if (offset == sdma::control_register(i)) {
            engines_[i].set_control(value, at);
            return true;
        }
    const auto found = find(offset);
    if (found)
        engines_[found->engine].write(found->queue, found->which, value, at);
    return found.has_value();
}

} // namespace model::gpu::sdma
