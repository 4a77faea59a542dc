// I/O commands of anybody: any 64 bytes, PRP lists and SGL segments of any content, memory that is not there. Nothing
// may crash, hang or read without end; a command that is refused has changed no block; what is stored stays within the
// namespace; and a driver that does it right afterwards gets its data.
#include "abi/nvme/command.h"
#include "abi/nvme/opcode.h"
#include "model/nvme/io/io.h"
#include "model/port/memory_dma.h"
#include "testbench/fuzz/require.h"
#include "testbench/fuzz/tape.h"

#include <array>

using namespace model::nvme;
using abi::nvme::IoOpcode;
using fuzz::require;
using fuzz::Tape;

namespace {

constexpr std::uint64_t lists = 0x10000, list_bytes = 0x4000; ///< where lists of the tape are
constexpr std::uint64_t memory_end = 0x400000;
constexpr std::uint64_t space_bytes = 1 << 20;
constexpr std::size_t most_accesses = 200'000;
constexpr std::array opcodes{IoOpcode::read,         IoOpcode::write,
                             IoOpcode::compare,      IoOpcode::verify,
                             IoOpcode::write_zeroes, IoOpcode::write_uncorrectable,
                             IoOpcode::copy,         IoOpcode::dataset_management,
                             IoOpcode::flush};

SpaceConfig space_config() {
    SpaceConfig config;
    config.formats.push_back({.data_shift = 12, .metadata_bytes = 16, .guard = Guard::crc64});
    config.formats.push_back({.data_shift = 9, .metadata_bytes = 16, .guard = Guard::crc32});
    config.namespaces.clear();
    for (std::uint8_t format = 0; format < config.formats.size(); ++format) {
        NamespaceConfig one;
        one.bytes = space_bytes;
        one.format = format;
        one.is_extended = format % 2 != 0;
        one.is_protection_first = format % 3 == 0;
        if (config.formats[format].metadata_bytes >= 8)
            one.protection = static_cast<Protection>(1 + format % 3);
        config.namespaces.push_back(one);
    }
    return config;
}

struct Drive {
    model::port::MemoryDma memory;
    Namespaces spaces{space_config()};
    Io io{{}, spaces, memory};

    Drive() {
        // What is beyond the machine's memory is not there.
        memory.fail(memory_end, ~std::uint64_t{0}, model::port::DmaStatus::unsupported_request);
    }

    /// An address that means something more often than not.
    static std::uint64_t address(Tape& tape) {
        const auto kind = tape.take<std::uint8_t>();
        switch (kind % 8) {
        case 0: return tape.take<std::uint64_t>();
        case 1: return lists + tape.take<std::uint16_t>() % list_bytes / 8 * 8;
        case 2: return lists + tape.take<std::uint16_t>() % list_bytes / 4096 * 4096;
        case 3: return memory_end - tape.take<std::uint16_t>();
        default: return 0x100000 + tape.take<std::uint16_t>() % 0x100 * std::uint64_t{4096};
        }
    }
    void write_lists(Tape& tape) {
        const auto at = lists + tape.take<std::uint16_t>() % list_bytes / 16 * 16;
        const auto count = tape.take<std::uint8_t>() % 64u;
        const auto kind = tape.take<std::uint8_t>() % 3;
        for (unsigned i = 0; i < count; ++i) {
            std::array<std::byte, 16> entry{};
            abi::store<std::uint64_t, abi::Endian::little>(entry.data(), address(tape));
            if (kind == 0) { // PRP entries
                abi::store<std::uint64_t, abi::Endian::little>(entry.data() + 8, address(tape) & ~0xfffull);
            } else if (kind == 1) { // SGL descriptors
                abi::store<std::uint32_t, abi::Endian::little>(entry.data() + 8, tape.take<std::uint16_t>());
                entry[15] = static_cast<std::byte>(tape.take<std::uint8_t>() % 6 << 4);
            } else { // ranges
                abi::store<std::uint64_t, abi::Endian::little>(entry.data(), tape.take<std::uint32_t>());
                abi::store<std::uint64_t, abi::Endian::little>(entry.data() + 8, tape.take<std::uint16_t>());
            }
            memory.poke(at + 16 * i, entry);
        }
    }
    abi::Block<abi::nvme::Command> command(Tape& tape) {
        abi::Block<abi::nvme::Command> block;
        tape.fill(block.bytes);
        const auto bits = tape.take<std::uint8_t>();
        const auto view = block.view();
        const abi::View<abi::nvme::ReadWrite> fields{block.bytes};
        if ((bits & 1) == 0)
            view.set<"opcode">(static_cast<std::uint8_t>(opcodes[view.get<"opcode">() % opcodes.size()]));
        if ((bits & 2) == 0)
            view.set<"nsid">(1 + view.get<"nsid">() % spaces.config().formats.size()).set<"fuse">(0);
        if ((bits & 4) == 0)
            fields.set<"slba">(fields.get<"slba">() % 0x800).set<"nlb">(fields.get<"nlb">() % 0x100);
        if ((bits & 8) == 0)
            view.set<"prp1">(address(tape)).set<"prp2">(address(tape)).set<"mptr">(address(tape));
        if ((bits & 16) == 0 && view.get<"psdt">() != abi::nvme::DataPointerType::prp) {
            block.bytes[39] = static_cast<std::byte>(tape.take<std::uint8_t>() % 4 << 4);
            block.bytes[34] = block.bytes[35] = std::byte{};
        }
        if ((bits & 32) == 0)
            fields.set<"ilbrt">(static_cast<std::uint32_t>(fields.get<"slba">()));
        return block;
    }
    void execute(Tape& tape) {
        const auto block = command(tape);
        memory.clear_log();
        const auto outcome = io.execute(block.bytes, {});
        require(memory.log().size() <= most_accesses, "a command reads without end");
        require(outcome.is_ok() || outcome.done != model::port::never, "an error without an end");
        require(outcome.is_ok() || outcome.dw0 == 0, "a result of an error");
    }
    /// A driver that does it right is served, whatever was before.
    void check() {
        memory.clear_faults();
        for (std::uint32_t nsid = 1; nsid <= spaces.config().formats.size(); ++nsid) {
            auto& space = *spaces.allocated(nsid);
            const auto bytes = space.shape().data_bytes();
            std::vector<std::byte> data(bytes, static_cast<std::byte>(nsid));
            memory.poke(0x200000, data);
            const auto run = [&](IoOpcode opcode, std::uint64_t at) {
                abi::Block<abi::nvme::Command> block;
                block.view().set<"opcode">(static_cast<std::uint8_t>(opcode)).set<"nsid">(nsid).set<"prp1">(at);
                const abi::View<abi::nvme::ReadWrite> fields{block.bytes};
                fields.set<"slba">(7).set<"ilbrt">(7);
                if (space.shape().is_protected())
                    fields.set<"pract">(true).set<"prchk_guard">(true);
                // Metadata that is not all protection information goes behind the data, or to MPTR.
                block.view().set<"prp2">(at + 4096).set<"mptr">(at + 0x10000);
                return io.execute(block.bytes, {});
            };
            require(run(IoOpcode::write, 0x200000).is_ok(), "a proper write fails");
            require(run(IoOpcode::read, 0x300000).is_ok(), "a proper read fails");
            require(memory.peek(0x300000, bytes) == data, "a proper read returns something else");
        }
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Tape tape(data, size);
    Drive drive;
    DataRules rules;
    const auto bits = tape.take<std::uint8_t>();
    rules.is_dword_granular = (bits & 1) != 0, rules.takes_bit_buckets = (bits & 2) == 0;
    rules.takes_excess = (bits & 4) == 0, rules.takes_metadata_sgl = (bits & 8) == 0;
    drive.io.data().set_rules(rules);
    for (unsigned steps = 0; !tape.is_over() && steps < 100; ++steps) {
        if (tape.take<std::uint8_t>() % 3 == 0)
            drive.write_lists(tape);
        else
            drive.execute(tape);
    }
    drive.check();
    return 0;
}
