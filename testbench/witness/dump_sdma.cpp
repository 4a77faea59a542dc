// The packets and registers of abi/gpu/sdma.h as JSON: sdma_layouts.py holds them against the amdgpu driver of Linux.
#include "abi/gpu/sdma.h"
#include "testbench/witness/dump.h"

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace {

using namespace abi::gpu::sdma;
using witness::print;

const char* separator = "";

template <class Packet> void dump_packet() {
    std::printf("%s", std::exchange(separator, ",\n"));
    witness::dump_structure<Packet>(witness::bits_of, "");
}
template <class Register> void dump_register() {
    std::printf("%s", std::exchange(separator, ",\n"));
    print("  \"%.*s\": {", Register::name.view());
    const char* between = "";
    for (const auto& f : Register::fields) {
        std::printf("%s", std::exchange(between, ", "));
        print("\"%.*s\": ", f.name);
        std::printf("[%u, %u]", f.low, f.high - f.low + 1);
    }
    std::printf("}");
}
void dump_number(std::string_view name, std::uint32_t value) {
    std::printf("%s", std::exchange(separator, ",\n"));
    print("  \"%.*s\": ", name);
    std::printf("%u", value);
}

} // namespace

int main() {
    std::puts("{\"packets\": {");
    dump_packet<Nop>(), dump_packet<CopyLinear>(), dump_packet<CopyPhysical>(), dump_packet<Write>();
    dump_packet<Fence>(), dump_packet<Trap>(), dump_packet<ConstantFill>(), dump_packet<GcrRequest>();
    std::puts("}, \"opcodes\": {"), separator = "";
    for (const auto& row : named(std::type_identity<Opcode>{}))
        dump_number(row.text, static_cast<std::uint32_t>(row.value));
    dump_number("COPY_LINEAR", copy_linear), dump_number("COPY_LINEAR_PHY", copy_linear_physical);
    std::puts("}, \"masks\": {"), separator = "";
    dump_register<RingControl>(), dump_register<Doorbell>(), dump_register<DoorbellOffset>();
    dump_register<EngineControl>(), dump_register<EngineStatus>();
    std::puts("}, \"registers\": {"), separator = "";
    for (unsigned engine = 0; engine < engines; ++engine) {
        const auto name = [&](const char* rest) { return "SDMA" + std::to_string(engine) + "_" + rest; };
        for (unsigned queue = 0; queue < queues; ++queue) {
            const auto add = [&](const char* rest, QueueRegister which) {
                dump_number(name("QUEUE") + std::to_string(queue) + "_" + rest, queue_register(engine, queue, which));
            };
            add("RB_CNTL", QueueRegister::rb_cntl), add("RB_BASE", QueueRegister::rb_base);
            add("RB_BASE_HI", QueueRegister::rb_base_hi), add("RB_RPTR", QueueRegister::rb_rptr);
            add("RB_RPTR_HI", QueueRegister::rb_rptr_hi), add("RB_WPTR", QueueRegister::rb_wptr);
            add("RB_WPTR_HI", QueueRegister::rb_wptr_hi), add("RB_RPTR_ADDR_HI", QueueRegister::rb_rptr_addr_hi);
            add("RB_RPTR_ADDR_LO", QueueRegister::rb_rptr_addr_lo), add("DOORBELL", QueueRegister::doorbell);
            add("DOORBELL_OFFSET", QueueRegister::doorbell_offset);
        }
        dump_number(name("F32_CNTL"), control_register(engine));
        dump_number(name("STATUS_REG"), status_register(engine));
    }
    std::puts("}}");
}
