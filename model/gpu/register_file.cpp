#include "model/gpu/register_file.h"

namespace model::gpu {

using abi::gpu::Register;

namespace {

constexpr unsigned engines = abi::gpu::engines, contexts = abi::gpu::contexts;
constexpr std::uint32_t clear_fault = 1;     ///< of the fault control register
constexpr std::uint32_t hdp_clients = 0xfff; ///< CP0 to CP9, SDMA0, SDMA1

std::uint64_t with_dword(std::uint64_t value, unsigned dword, std::uint32_t written) {
    const auto shift = 32 * dword;
    return (value & ~(std::uint64_t{0xffff'ffff} << shift)) | std::uint64_t{written} << shift;
}
std::uint32_t dword_of(std::uint64_t value, unsigned dword) { return static_cast<std::uint32_t>(value >> 32 * dword); }

} // namespace

std::optional<RegisterFile::Place> RegisterFile::find(std::uint32_t offset, Register first, unsigned count,
                                                      unsigned dwords) {
    const auto begin = static_cast<std::uint32_t>(first);
    if (offset < begin || offset >= begin + count * dwords * 4)
        return std::nullopt;
    const auto dword = (offset - begin) / 4;
    return Place{dword / dwords, dword % dwords};
}

std::uint32_t RegisterFile::read(std::uint32_t offset, port::Time when) {
    if (const auto value = copy_engines_.read(offset))
        return *value;
    auto& spaces = block_.spaces();
    if (const auto at = find(offset, Register::invalidate0_req, engines, 1))
        return engines_[at->number].request;
    if (const auto at = find(offset, Register::invalidate0_ack, engines, 1))
        return block_.is_invalidated(at->number, when) ? engines_[at->number].mask() : 0;
    if (const auto at = find(offset, Register::invalidate0_sem, engines, 1)) // a read that gives 1 has taken it
        return std::exchange(engines_[at->number].is_taken, true) ? 0 : 1;
    if (const auto at = find(offset, Register::invalidate0_range, engines, 2))
        return dword_of(engines_[at->number].range, at->dword);
    if (const auto at = find(offset, Register::mm_invalidate0_req, engines, 1))
        return multimedia_[at->number].request;
    if (const auto at = find(offset, Register::mm_invalidate0_ack, engines, 1))
        return multimedia_[at->number].mask();
    if (const auto at = find(offset, Register::context0_cntl, contexts, 1))
        return spaces.context(at->number).control;
    if (const auto at = find(offset, Register::context0_base, contexts, 2))
        return dword_of(spaces.context(at->number).base, at->dword);
    if (const auto at = find(offset, Register::context0_start, contexts, 2))
        return dword_of(spaces.context(at->number).first_page, at->dword);
    if (const auto at = find(offset, Register::context0_end, contexts, 2))
        return dword_of(spaces.context(at->number).last_page, at->dword);
    const auto page = spaces.fault() ? spaces.fault()->address >> abi::gpu::page_shift : 0;
    switch (static_cast<Register>(offset)) {
    case Register::gcr_general_cntl: return gcr_general_;
    case Register::l2_cntl: return l2_control_;
    case Register::l2_cntl2: return l2_control2_;
    case Register::l2_gcr_cntl: return l2_gcr_;
    case Register::fault_cntl: return fault_control_;
    case Register::fault_status: return spaces.fault_status();
    case Register::fault_address_low: return dword_of(page, 0);
    case Register::fault_address_high: return dword_of(page, 1);
    case Register::hdp_flush_req: return hdp_request_;
    case Register::hdp_flush_done: return hdp_request_ & hdp_clients;
    default: return 0;
    }
}

void RegisterFile::write(std::uint32_t offset, std::uint32_t value, port::Time at) {
    if (copy_engines_.write(offset, value, at))
        return;
    if (const auto place = find(offset, Register::invalidate0_req, engines, 1)) {
        engines_[place->number].request = value;
        block_.invalidate(place->number, abi::gpu::InvalidateRequest{value}, at);
        return;
    }
    if (const auto place = find(offset, Register::mm_invalidate0_req, engines, 1)) {
        multimedia_[place->number].request = value;
        return;
    }
    if (const auto place = find(offset, Register::invalidate0_sem, engines, 1)) {
        engines_[place->number].is_taken = false;
        return;
    }
    if (const auto place = find(offset, Register::invalidate0_range, engines, 2)) {
        auto& range = engines_[place->number].range;
        range = with_dword(range, place->dword, value);
        return;
    }
    if (offset >= abi::gpu::remap_page && offset < abi::gpu::remap_page + abi::gpu::remap_page_bytes) {
        // Any value: inbound writes so far are in memory, which a read behind this write then proves.
        if (offset == abi::gpu::remap_page + abi::gpu::hdp_mem_flush)
            block_.caches().flush_host_path(at);
        return;
    }
    switch (static_cast<Register>(offset)) {
    case Register::gcr_general_cntl: return reset_on_change(gcr_general_, value, at);
    case Register::l2_cntl2: return reset_on_change(l2_control2_, value, at);
    case Register::l2_cntl: l2_control_ = value; return;
    case Register::l2_gcr_cntl: l2_gcr_ = value; return;
    case Register::fault_cntl:
        fault_control_ = value & ~clear_fault;
        if ((value & clear_fault) != 0)
            block_.spaces().clear_fault();
        return;
    case Register::hdp_flush_req: hdp_request_ = value; return; // for one client; neither GL2 nor what is held cares
    default: return set_context(offset, value);
    }
}

void RegisterFile::set_context(std::uint32_t offset, std::uint32_t value) {
    auto& spaces = block_.spaces();
    if (const auto at = find(offset, Register::context0_cntl, contexts, 1))
        spaces.context(at->number).control = value;
    else if (const auto base = find(offset, Register::context0_base, contexts, 2))
        spaces.context(base->number).base = with_dword(spaces.context(base->number).base, base->dword, value);
    else if (const auto start = find(offset, Register::context0_start, contexts, 2))
        spaces.context(start->number).first_page =
            with_dword(spaces.context(start->number).first_page, start->dword, value);
    else if (const auto end = find(offset, Register::context0_end, contexts, 2))
        spaces.context(end->number).last_page = with_dword(spaces.context(end->number).last_page, end->dword, value);
}

void RegisterFile::reset_on_change(std::uint32_t& value, std::uint32_t written, port::Time at) {
    const auto is_change = value != written;
    value = written;
    // The driver sets both up before anything runs; under a running kernel the GPU does not survive it.
    if (!is_change || !block_.config().resets_on_control || block_.running_kernels() == 0)
        return;
    block_.reset(at);
    copy_engines_.reset();
    reset();
}

void RegisterFile::reset() {
    engines_ = multimedia_ = {};
    gcr_general_ = l2_control_ = l2_control2_ = l2_gcr_ = fault_control_ = hdp_request_ = 0;
}

} // namespace model::gpu
