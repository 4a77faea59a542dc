// A remapping unit in the hands of anybody: any tables, any registers, any descriptors, any requests. Nothing may
// crash, hang or read without end; what it lets through stays within the page it names and within the host's addresses;
// and when software sets it up properly afterwards, it translates as it should.
#include "testbench/fuzz/require.h"
#include "testbench/fuzz/tape.h"
#include "testbench/harness/iommu_bench.h"

#include <algorithm>

using namespace abi::iommu;
using fuzz::require;
using fuzz::Tape;
using model::iommu::Access;
using model::iommu::AddressType;
using testbench::IommuBench;

namespace {

constexpr std::uint16_t devices[]{0x0100, 0x0101, 0x01f9, 0xff08};
constexpr std::uint32_t pasids[]{model::iommu::no_pasid, 0, 5, 70, 0xfffff};
constexpr std::uint64_t addresses[]{0x4000,     0x40'0000, 0x4000'0000, 0x7fff'ffff'f000, 0xffff'8000'0000'0000,
                                    0xfee0'0000};

std::uint16_t requester(Tape& tape) { return devices[tape.take<std::uint8_t>() % std::size(devices)]; }
std::uint32_t pasid(Tape& tape) { return pasids[tape.take<std::uint8_t>() % std::size(pasids)]; }

/// Near an address that means something, or one that does not.
std::uint64_t address(Tape& tape) {
    const auto kind = tape.take<std::uint8_t>();
    if (kind % 8 == 7)
        return tape.take<std::uint64_t>();
    return addresses[kind % std::size(addresses)] + tape.take<std::uint16_t>() * (kind < 128 ? 1u : 64u);
}

struct Machine {
    explicit Machine(const model::iommu::IommuConfig& config) : bench(config), config_(config) {
        tables = bench.new_page(), processor = bench.new_page();
        bench.attach(devices[0], IommuBench::context(1, tables));
        bench.map(tables, 0x4000, 0x20'5000), bench.map(tables, 0x4000'0000, 0x4000'0000, 30);
    }

    /// A table that is right but for what the tape does to it.
    void damage(Tape& tape) {
        const auto which = tape.take<std::uint8_t>();
        const auto level = which % 4 + 1u;
        const auto device = requester(tape);
        const auto id = pasid(tape) & 0x1fff;
        std::uint64_t at = 0;
        switch (which / 4 % 8) {
        case 0: at = bench.root_entry(device); break;
        case 1: at = in(bench.get<RootEntry>(bench.root_entry(device)).get<"ctp">() + (device & 0xff) * 16u); break;
        case 2: at = in(bench.get<RootEntry>(bench.root_entry(device)).get<"ctp">() + (device & 0x7f) * 32u); break;
        case 3: at = in(tables + (address(tape) >> model::iommu::shift_of(level) & 0x1ff) * 8); break;
        case 4: at = in(processor + (address(tape) >> model::iommu::shift_of(level) & 0x1ff) * 8); break;
        case 5: // a whole entry of scalable mode
            bench.put(in(bench.pasid_entry(device, id)),
                      which < 128 ? IommuBench::second_stage(1, tables) : IommuBench::first_stage(2, processor));
            return;
        case 6: // tables that point anywhere, themselves included
            bench.put(in(tables + tape.take<std::uint8_t>() % 128 * 32), SecondStageEntry{tape.take<std::uint64_t>()});
            return;
        default: at = in(tape.take<std::uint32_t>()); break;
        }
        auto word = abi::load<std::uint64_t, abi::Endian::little>(bench.memory.peek(at, 8).data());
        word ^= which < 128 ? std::uint64_t{1} << tape.take<std::uint8_t>() % 64 : tape.take<std::uint64_t>();
        std::array<std::byte, 8> bytes;
        abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), word);
        bench.memory.poke(at, bytes);
    }

    void step(Tape& tape) {
        switch (tape.take<std::uint8_t>() % 8) {
        case 0: return damage(tape);
        case 1: { // a register, known or not
            const auto offset = tape.take<std::uint16_t>() % 0x1100u & ~3u;
            const auto bytes = tape.take<std::uint8_t>() % 2 == 0 ? 4u : 8u;
            bench.iommu.write(offset, bytes, tape.take<std::uint64_t>(), {});
            bench.iommu.read(offset, bytes);
            return;
        }
        case 2: { // queue tails of a driver
            bench.write(Register::iqt, tape.take<std::uint16_t>());
            return;
        }
        case 3: { // a descriptor of any content, most with a type that exists
            PageRequestDescriptor any;
            for (auto& word : any.words)
                word = tape.take<std::uint8_t>() % 4 == 0 ? tape.take<std::uint64_t>() : tape.take<std::uint8_t>();
            any.words[0] = (any.words[0] & ~0xe0full) | tape.take<std::uint8_t>() % 11;
            bench.submit(any);
            bench.write(Register::fsts, tape.take<std::uint8_t>());
            return;
        }
        case 4: bench.enable(static_cast<TableMode>(tape.take<std::uint8_t>() % 4)); return;
        case 5: {
            const auto bits = tape.take<std::uint8_t>();
            bench.iommu.request_page({.requester = requester(tape),
                                      .pasid = pasid(tape),
                                      .address = address(tape),
                                      .group = static_cast<std::uint16_t>(bits >> 4),
                                      .is_last = (bits & 1) != 0,
                                      .is_read = (bits & 2) != 0,
                                      .is_write = (bits & 4) != 0},
                                     {});
            return;
        }
        default: return ask(tape);
        }
    }

    void ask(Tape& tape) {
        const auto bits = tape.take<std::uint8_t>();
        const model::iommu::Request request{.requester = requester(tape),
                                            .pasid = pasid(tape),
                                            .address = address(tape),
                                            .length = tape.take<std::uint16_t>(),
                                            .access = static_cast<Access>(bits % 3),
                                            .type = static_cast<AddressType>(bits / 4 % 3),
                                            .is_privileged = (bits & 64) != 0,
                                            .is_execute = (bits & 128) != 0};
        bench.memory.clear_log();
        const auto result = bench.translate(request);
        // Root, context, directory, PASID entry, five levels; first-stage levels are written, too; and the message.
        require(bench.memory.log().size() <= 16, "a request walks without end");
        if (!result.is_ok() || !bench.iommu.translator().is_enabled())
            return;
        require(result.length <= request.length, "more was translated than asked for");
        if (result.is_interrupt || result.is_untranslated_only || (!result.is_readable && !result.is_writable))
            return;
        require(result.shift == 64 || result.address + result.length <= std::uint64_t{1} << config_.host_address_bits,
                "beyond the host");
        require(result.shift >= 12, "a page is too small");
        if (result.shift < 40)
            require((result.address ^ (result.address + std::max<std::uint64_t>(result.length, 1) - 1)) >>
                            result.shift ==
                        0,
                    "a translation crosses its page");
        require(request.access == Access::read || request.type == AddressType::translation_request ||
                    result.is_writable,
                "a write was let through without right");
    }

    /// Software that knows what it does gets what it wants, whatever was before.
    void check() {
        bench.write(Register::gcmd, 0);
        for (unsigned i = 0; i < config_.fault_records; ++i)
            bench.free_record(i);
        bench.write(Register::fsts, ~0u);
        bench.write(Register::prs, ~0u);
        const auto root = fresh(), contexts = fresh();
        bench.put(root + 1 * 16, RootEntry{}.set<"p">(true).set<"ctp">(contexts));
        std::array<std::uint64_t, 4> levels{fresh(), fresh(), fresh(), fresh()};
        bench.put(contexts, IommuBench::context(9, levels[0]));
        for (unsigned i = 0; i + 1 < levels.size(); ++i)
            bench.put(levels[i], IommuBench::leaf(levels[i + 1]));
        bench.put(levels[3] + 8 * 8, IommuBench::leaf(0x5000));
        bench.enable();
        bench.write64(Register::rtaddr, root);
        bench.command({.srtp = true, .qie = true, .te = true});
        bench.invalidate_contexts();
        bench.invalidate_pages();
        require(bench.is_done(), "the queue does not work any more");
        const auto result = bench.translate(0x8010, Access::write, 8, 0x0100);
        require(result.is_ok() && result.address == 0x5010, "a proper mapping does not translate");
        require(bench.translate(0x9010, Access::write, 8, 0x0100).fault == FaultReason::no_write, "an absent one does");
        require(bench.fault_status().get<"ppf">(), "the fault is not recorded");
    }

    std::uint64_t fresh() {
        const auto page = bench.new_page();
        bench.memory.poke(page, std::array<std::byte, 0x1000>{});
        return page;
    }

    /// Tables of the machine only: a pointer the tape has made may lead anywhere in a sparse memory.
    static std::uint64_t in(std::uint64_t at) { return at % 0x40'0000 & ~std::uint64_t{7}; }

    IommuBench bench;
    model::iommu::IommuConfig config_;
    std::uint64_t tables = 0, processor = 0;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Tape tape(data, size);
    const auto bits = tape.take<std::uint16_t>();
    model::iommu::IommuConfig config;
    config.three_levels = (bits & 1) != 0, config.five_levels = (bits & 2) == 0;
    config.pages_2m = (bits & 4) == 0, config.pages_1g = (bits & 8) == 0;
    config.caching_mode = (bits & 16) != 0, config.page_selective = (bits & 32) == 0;
    config.scalable_mode = (bits & 64) == 0, config.first_stage = (bits & 128) == 0;
    config.device_tlb = (bits & 256) == 0, config.page_requests = (bits & 512) == 0;
    config.fault_records = 1 + (bits >> 10 & 7);
    if ((bits & 0x2000) != 0)
        config.iotlb = {4, 2}, config.contexts = {2, 1}, config.pasids = {2, 2}, config.structures = {4, 1};
    if ((bits & 0x4000) != 0)
        config.iotlb = config.contexts = config.pasids = config.structures = {};
    Machine machine(config);
    machine.bench.enable(config.scalable_mode ? TableMode::scalable : TableMode::legacy);
    for (unsigned steps = 0; !tape.is_over() && steps < 200; ++steps)
        machine.step(tape);
    machine.check();
    return 0;
}
