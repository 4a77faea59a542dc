// What software may do to an NVMe controller: any registers and doorbells, shadow ones included, queues made and
// deleted, admin and I/O commands of any content, lists of any content, memory that is not there, resets in between.
// Nothing may crash, hang or read without end. A controller that is disabled leaves memory alone; what is completed was
// fetched, and once; a completion queue that is deleted is written no more; whatever is fetched ends; and a driver that
// does it right after a reset is served.
#include "model/nvme/controller.h"
#include "testbench/fuzz/nvme_rings.h"
#include "testbench/fuzz/tape.h"
#include "testbench/harness/test_ports.h"

using namespace harness;
using namespace model::nvme;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;
using abi::nvme::Register;
using namespace fuzz;

namespace {

constexpr std::uint64_t lists = 0x10000, list_bytes = 0x4000, shadow = 0x20000, memory_end = 0x400000;
constexpr std::uint64_t buffer_base = 0x2000'0000, buffer_bytes = 0x10000;
constexpr std::size_t most_accesses = 100'000, most_wakes = 100'000;

NvmeConfig config_of(Tape& tape) {
    const auto bits = tape.take<std::uint8_t>();
    NvmeConfig config;
    config.timed = (bits & 1) != 0;
    config.queue_pairs = queue_pairs, config.queue_entries = most_entries, config.vectors = 4;
    config.doorbell_stride = bits >> 1 & 1;
    config.outstanding = (bits & 4) != 0 ? 2 : 64;
    config.memory_buffer = (bits & 8) != 0 ? buffer_bytes : 0;
    if ((bits & 16) != 0)
        config.memory_buffer_uses = tape.take<std::uint8_t>() & abi::nvme::all_memory_uses;
    config.error_entries = 4;
    config.space.capacity = 4 << 20, config.space.max_namespaces = 4;
    config.space.namespaces.resize(2);
    for (auto& one : config.space.namespaces)
        one.bytes = 1 << 20;
    config.space.namespaces[1].format = 3, config.space.namespaces[1].protection = Protection::type1;
    return config;
}

struct Rig {
    Watched dma;
    TestClock clock;
    InterruptLog interrupts;
    NvmeConfig config;
    Controller controller;
    std::array<std::uint32_t, queue_pairs + 1> tails{};

    explicit Rig(Tape& tape) : config(config_of(tape)), controller(config, {dma, clock, interrupts}) { heal(); }

    void heal() {
        dma.memory.clear_faults();
        dma.memory.fail(memory_end, rings, model::port::DmaStatus::unsupported_request);
        dma.memory.fail(rings_end, ~std::uint64_t{0}, model::port::DmaStatus::unsupported_request);
    }
    std::uint32_t get(Register which) {
        std::array<std::byte, 4> bytes{};
        controller.bar_read(0, static_cast<std::uint64_t>(which), bytes, clock.now());
        return abi::load<std::uint32_t, abi::Endian::little>(bytes.data());
    }
    void set(std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> bytes{};
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), value);
        write(0, offset, bytes);
    }
    void set(Register which, std::uint32_t value) { set(static_cast<std::uint64_t>(which), value); }
    /// Whatever is written, the controller may run if it enables it.
    void write(unsigned bar, std::uint64_t offset, std::span<const std::byte> bytes) {
        dma.is_closed = false;
        controller.bar_write(bar, offset, bytes, clock.now());
        look();
    }
    void look() {
        dma.is_closed = (get(Register::cc) & 1) == 0;
        if (dma.is_closed) {
            dma.forget();
            interrupts.vectors.clear();
        }
        require(dma.memory.log().size() <= most_accesses, "memory is accessed without end");
        dma.memory.clear_log();
    }
    void run() {
        for (std::size_t wakes = 0; clock.next() != model::port::never; ++wakes) {
            require(wakes <= most_wakes, "the controller asks for time without end");
            clock.set(clock.next());
            controller.wake(clock.now());
            require(!dma.is_closed || interrupts.vectors.empty(), "an interrupt of a controller that is disabled");
            look();
        }
    }
    void set_rings(std::uint32_t entries) {
        set(Register::aqa, (entries - 1) << 16 | (entries - 1));
        set(Register::asq, static_cast<std::uint32_t>(ring_of(0, false))), set(0x2c, 0);
        set(Register::acq, static_cast<std::uint32_t>(ring_of(0, true))), set(0x34, 0);
    }
    void enable(std::uint32_t cc = 0x0046'0001) {
        set_rings(most_entries);
        set(0x54, 0), set(0x50, buffer_base | 3);
        tails = {};
        set(Register::cc, cc);
        run();
    }
    void function_reset() {
        controller.reset(clock.now());
        look();
    }
    std::uint64_t doorbell(std::uint32_t id, bool is_completion) const {
        return abi::nvme::doorbells_offset + abi::nvme::doorbell_offset(id, is_completion, config.doorbell_stride);
    }

    /// An address that means something more often than not, and never a ring.
    static std::uint64_t address(Tape& tape) {
        const auto kind = tape.take<std::uint8_t>();
        switch (kind % 8) {
        case 0: {
            const auto any = tape.take<std::uint64_t>();
            return any >= rings - 0x10000 && any < rings_end ? memory_end : any;
        }
        case 1: return lists + tape.take<std::uint16_t>() % list_bytes / 8 * 8;
        case 2: return shadow + tape.take<std::uint8_t>() % 4 * 4096u;
        case 3: return memory_end - tape.take<std::uint16_t>();
        case 4: return buffer_base + tape.take<std::uint32_t>() % (buffer_bytes + 0x1000) - 0x800;
        case 5: return buffer_base + tape.take<std::uint8_t>() % 16 * 4096u;
        default: return 0x100000 + tape.take<std::uint8_t>() * std::uint64_t{4096};
        }
    }
    void write_lists(Tape& tape) {
        const auto at = lists + tape.take<std::uint16_t>() % list_bytes / 16 * 16;
        const auto count = tape.take<std::uint8_t>() % 40u;
        const bool is_sgl = tape.take<std::uint8_t>() % 2 != 0;
        for (unsigned i = 0; i < count; ++i) {
            std::array<std::byte, 16> entry{};
            abi::store<std::uint64_t, abi::Endian::little>(entry.data(), address(tape));
            if (is_sgl) {
                abi::store<std::uint32_t, abi::Endian::little>(entry.data() + 8, tape.take<std::uint16_t>());
                entry[15] = static_cast<std::byte>(tape.take<std::uint8_t>() % 6 << 4);
            } else {
                abi::store<std::uint64_t, abi::Endian::little>(entry.data() + 8, address(tape) & ~0xfffull);
            }
            dma.memory.poke(at + 16 * i, entry);
            if (config.memory_buffer != 0)
                write(2, (at + 16 * i) % buffer_bytes, entry);
        }
    }
    abi::Block<abi::nvme::Command> admin_command(Tape& tape) {
        static constexpr std::array opcodes{AdminOpcode::create_cq,
                                            AdminOpcode::create_sq,
                                            AdminOpcode::delete_sq,
                                            AdminOpcode::delete_cq,
                                            AdminOpcode::identify,
                                            AdminOpcode::get_log_page,
                                            AdminOpcode::set_features,
                                            AdminOpcode::get_features,
                                            AdminOpcode::abort,
                                            AdminOpcode::format_nvm,
                                            AdminOpcode::async_event_request,
                                            AdminOpcode::namespace_management,
                                            AdminOpcode::device_self_test,
                                            AdminOpcode::namespace_attachment,
                                            AdminOpcode::doorbell_buffer_config,
                                            AdminOpcode::sanitize};
        abi::Block<abi::nvme::Command> block;
        const auto bits = tape.take<std::uint8_t>();
        const auto view = block.view();
        view.set<"cid">(tape.take<std::uint16_t>());
        if ((bits & 0x80) != 0)
            tape.fill(block.bytes);
        else
            view.set<"opcode">(static_cast<std::uint8_t>(opcodes[bits % opcodes.size()]))
                .set<"nsid">(tape.take<std::uint8_t>() % 8 == 7 ? abi::nvme::all_namespaces
                                                                : tape.take<std::uint8_t>() % 6)
                .set<"prp1">(address(tape))
                .set<"prp2">(address(tape))
                .set<"cdw10">(tape.take<std::uint32_t>())
                .set<"cdw11">(tape.take<std::uint32_t>());
        const auto opcode = static_cast<AdminOpcode>(view.get<"opcode">());
        const bool is_queue =
            (bits & 0x40) == 0 && opcode <= AdminOpcode::create_cq && opcode != AdminOpcode::get_log_page;
        if (is_queue) { // one that there may be
            view.set<"cdw10">((view.get<"cdw10">() & 0x1f) << 16 | (view.get<"cdw10">() >> 16) % (queue_pairs + 2));
            view.set<"cdw11">(view.get<"cdw11">() % (queue_pairs + 1) << 16 | 3);
        }
        if (opcode == AdminOpcode::create_cq || opcode == AdminOpcode::create_sq) {
            const auto id = view.get<"cdw10">() % (queue_pairs + 1);
            const bool is_inside = config.memory_buffer != 0 && (bits & 0x20) != 0;
            view.set<"prp1">(is_inside ? address(tape) / 4096 * 4096 % buffer_bytes + buffer_base
                                       : ring_of(id, opcode == AdminOpcode::create_cq));
        }
        return block;
    }
    static abi::Block<abi::nvme::Command> io_command(Tape& tape) {
        static constexpr std::array opcodes{
            IoOpcode::flush,        IoOpcode::write,  IoOpcode::read, IoOpcode::compare,
            IoOpcode::write_zeroes, IoOpcode::verify, IoOpcode::copy, IoOpcode::dataset_management};
        abi::Block<abi::nvme::Command> block;
        const auto bits = tape.take<std::uint8_t>();
        const auto view = block.view();
        view.set<"opcode">(static_cast<std::uint8_t>(opcodes[bits % opcodes.size()]))
            .set<"fuse">((bits & 0x20) != 0 ? bits >> 3 & 3 : 0)
            .set<"psdt">((bits & 0x40) != 0 ? abi::nvme::DataPointerType::sgl_metadata_buffer
                                            : abi::nvme::DataPointerType::prp)
            .set<"cid">(tape.take<std::uint8_t>())
            .set<"nsid">(1 + tape.take<std::uint8_t>() % 2)
            .set<"prp1">(address(tape))
            .set<"prp2">(address(tape))
            .set<"mptr">(address(tape))
            .set<"cdw10">(tape.take<std::uint8_t>())
            .set<"cdw12">(tape.take<std::uint8_t>() % 64);
        if ((bits & 0x40) != 0)
            block.bytes[39] = static_cast<std::byte>(tape.take<std::uint8_t>() % 4 << 4);
        return block;
    }
    void place(std::uint32_t id, const abi::Block<abi::nvme::Command>& command) {
        dma.memory.poke(ring_of(id, false) + tails[id] * abi::nvme::command_bytes, command.bytes);
        tails[id] = (tails[id] + 1) % most_entries;
    }
    void step(Tape& tape) {
        const auto kind = tape.take<std::uint8_t>();
        const auto id = tape.take<std::uint8_t>() % (queue_pairs + 1);
        switch (kind % 16) {
        case 0: return write_lists(tape);
        case 1: return enable();
        case 2: return set(Register::cc, tape.take<std::uint32_t>());
        case 3: return set(tape.take<std::uint8_t>() / 4 * 4, tape.take<std::uint32_t>());
        case 4: return set(doorbell(id, kind >= 128), tape.take<std::uint16_t>() % (most_entries + 2));
        case 5: return run();
        case 6: {
            const auto at = address(tape);
            return dma.memory.fail(at, at + tape.take<std::uint16_t>(), model::port::DmaStatus::unsupported_request,
                                   kind / 16);
        }
        case 7: {
            const bool is_ring = kind >= 128;
            const auto at = is_ring ? ring_of(id, tape.take<std::uint8_t>() % 2 != 0) : lists;
            return dma.memory.fail(at, at + 0x1000, model::port::DmaStatus::completer_abort, kind / 16);
        }
        case 8: return heal();
        case 9: {
            std::array<std::byte, 4> value{static_cast<std::byte>(tape.take<std::uint8_t>() % most_entries)};
            return dma.memory.poke(shadow + doorbell(id, kind >= 128) - abi::nvme::doorbells_offset, value);
        }
        case 10: return kind >= 128 ? function_reset() : set(Register::cc, 0x0046'0000);
        case 11:
        case 12: place(0, admin_command(tape)); return set(doorbell(0, false), tails[0]);
        case 13:
            place(id, id == 0 ? admin_command(tape) : io_command(tape));
            if (kind >= 128)
                set(doorbell(id, false), tails[id]);
            return;
        case 14: { // heads that leave room
            std::array<std::byte, 16> last{};
            for (std::uint32_t head = 0; head < most_entries; ++head) {
                dma.memory.peek(ring_of(id, true) + head * 16, last);
                set(doorbell(id, true), head);
            }
            return;
        }
        default: {
            clock.set(clock.now() + Time(tape.take<std::uint32_t>()));
            controller.wake(clock.now());
            return look();
        }
        }
    }

    Status give(std::uint32_t id, const abi::Block<abi::nvme::Command>& command) {
        const auto slot = tails[id];
        std::array<std::byte, 16> entry{};
        dma.memory.poke(ring_of(id, true) + slot * 16ull, entry);
        place(id, command), set(doorbell(id, false), tails[id]), run();
        dma.memory.peek(ring_of(id, true) + slot * 16ull, entry);
        const abi::ConstView<abi::nvme::Completion> completion(entry);
        require(completion.get<"p">() && completion.get<"cid">() == command.view().get<"cid">(), "no completion");
        set(doorbell(id, true), tails[id]);
        return completion.get<"status">();
    }
    static abi::Block<abi::nvme::Command> make(std::uint8_t opcode, std::uint32_t nsid, std::uint64_t prp1,
                                               std::uint32_t cdw10 = 0, std::uint32_t cdw11 = 0) {
        abi::Block<abi::nvme::Command> block;
        block.view().set<"opcode">(opcode).set<"nsid">(nsid).set<"prp1">(prp1).set<"prp2">(prp1 + 4096);
        block.view().set<"mptr">(prp1 + 0x4000).set<"cdw10">(cdw10).set<"cdw11">(cdw11);
        return block;
    }
    /// A driver that does it right is served, whatever was before.
    void check() {
        heal();
        run();
        function_reset();
        enable();
        require((get(Register::csts) & 3) == 1, "the controller does not become ready");
        constexpr std::uint64_t data = 0x200000, back = 0x300000;
        const auto admin = [](AdminOpcode opcode) { return static_cast<std::uint8_t>(opcode); };
        require(give(0, make(admin(AdminOpcode::identify), 0, data, 1)) == Status::success, "no Identify");
        constexpr std::uint32_t size = (most_entries - 1) << 16;
        require(give(0, make(admin(AdminOpcode::create_cq), 0, ring_of(1, true), size | 1, 1 << 16 | 3)) ==
                        Status::success &&
                    give(0, make(admin(AdminOpcode::create_sq), 0, ring_of(1, false), size | 1, 1 << 16 | 1)) ==
                        Status::success,
                "no queues");
        require(give(1, make(0, abi::nvme::all_namespaces, 0)) == Status::success, "no Flush");
        const auto found = controller.namespaces().active(1);
        if (found.space == nullptr || !found.space->is_writable() || found.space->blocks() < 8)
            return;
        const auto bytes = found.space->shape().data_bytes();
        const std::vector<std::byte> content(bytes, std::byte{0x5a});
        dma.memory.poke(data, content);
        auto write = make(static_cast<std::uint8_t>(IoOpcode::write), 1, data, 7);
        auto read = make(static_cast<std::uint8_t>(IoOpcode::read), 1, back, 7);
        for (auto* command : {&write, &read}) {
            const abi::View<abi::nvme::ReadWrite> fields{command->bytes};
            fields.set<"ilbrt">(7);
            if (found.space->shape().is_protected())
                fields.set<"pract">(true).set<"prchk_guard">(true);
        }
        require(give(1, write) == Status::success, "a proper write fails");
        require(give(1, read) == Status::success, "a proper read fails");
        require(dma.memory.peek(back, bytes) == content, "a proper read returns something else");
        require(dma.under_way() == 0, "a command that was fetched has no end");
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Tape tape(data, size);
    Rig rig(tape);
    rig.enable();
    for (unsigned steps = 0; !tape.is_over() && steps < 200; ++steps)
        rig.step(tape);
    rig.check();
    return 0;
}
