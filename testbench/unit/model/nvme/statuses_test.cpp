// What each bad input gets: status, "do not retry", and the entry of the error log with the place of the error. A row
// of the table for each kind of input. What a row cannot say in one command is tested elsewhere: pairs
// (fused_test.cpp), aborts and deleted queues (controller_test.cpp), uses of the controller memory buffer
// (memory_buffer_test.cpp), sanitize and self-test (background_test.cpp), doorbells and memory of queues
// (events_test.cpp), a state that cannot be written (keep/damage_test.cpp). What the drive never says: that an
// identifier is in use (0/03h, which is optional), that there are too many aborts (1/03h: each ends at once), that a
// Format is under way (0/84h: it ends before its completion), and statuses of what it does not offer (firmware,
// reservations, keep-alive timers, other command sets).
#include "model/nvme/media/faulty_medium.h"
#include "model/nvme/media/memory_medium.h"
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <string_view>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;
using abi::nvme::SglType;

namespace {

constexpr std::uint32_t plain = 1, guarded = 2, detached = 3, read_only = 4, reporting = 5, none = 6;
constexpr std::uint32_t save = 1u << 31;
constexpr std::uint64_t list = 0x500000, log_page = 0x600000, unmapped = 0x700000;
constexpr std::uint64_t not_said = ~0ull - 1;
constexpr std::uint16_t nowhere = no_parameter;

/// One bad command.
struct Bad {
    abi::Block<abi::nvme::Command> block;
    std::uint16_t queue = 0;

    Bad(AdminOpcode opcode, std::uint32_t nsid = 0, std::uint32_t cdw10 = 0, std::uint32_t cdw11 = 0,
        std::uint32_t cdw12 = 0)
        : block(Bench::command(static_cast<std::uint8_t>(opcode), nsid, cdw10, cdw11, cdw12)) {}
    Bad(IoOpcode opcode, std::uint32_t nsid, std::uint32_t lba = 0, std::uint32_t cdw12 = 0)
        : block(Bench::command(static_cast<std::uint8_t>(opcode), nsid, lba, 0, cdw12)), queue(1) {
        block.view().set<"mptr">(list);
    }
    template <abi::Name Field, class T> Bad with(T value) const {
        auto other = *this;
        other.block.view().set<Field>(value);
        return other;
    }
    Bad prps(std::uint64_t prp1, std::uint64_t prp2 = 0) const {
        return with<"prp1">(prp1).template with<"prp2">(prp2);
    }
    Bad sgl(SglType type, std::uint64_t address, std::uint32_t length) const {
        return with<"psdt">(abi::nvme::DataPointerType::sgl_metadata_buffer)
            .prps(address, std::uint64_t{length} | std::uint64_t{static_cast<unsigned>(type)} << 60);
    }
};

struct Row {
    std::string_view input;
    Bad command;
    Status status;
    std::uint16_t parameter = nowhere;
    bool is_final = true;           ///< DNR
    std::uint64_t lba = not_said;   ///< of the error log
    std::function<void()> before{}; ///< makes it so
};

struct Drive : Bench {
    static NvmeConfig config() {
        auto config = small();
        config.event_requests = 1;
        config.io.max_transfer_bytes = 64 << 10;
        config.io.max_verify_bytes = 4096;
        auto& space = config.space;
        space.max_namespaces = 5;
        NamespaceConfig one;
        one.bytes = 1 << 20;
        space.namespaces.assign(space.max_namespaces, one);
        space.namespaces[guarded - 1].format = 2;
        space.namespaces[guarded - 1].protection = Protection::type1;
        space.namespaces[detached - 1].is_attached = false;
        space.make_medium = [](std::uint32_t nsid, const NamespaceConfig& wanted) {
            auto medium = std::make_unique<FaultyMedium>(std::make_unique<MemoryMedium>("test", wanted.bytes), 512);
            if (nsid == plain)
                medium->make_latent({100 * 512, 101 * 512}), medium->make_read_only({101 * 512, 102 * 512});
            return medium;
        };
        return config;
    }
    Drive() : Bench(config()) {
        enable();
        create_pair(1);
        memory.fail(unmapped, unmapped + 0x10000, model::port::DmaStatus::unsupported_request);
        controller.namespaces().allocated(read_only)->set_write_protection(WriteProtection::permanent);
        REQUIRE(ask(0, AdminOpcode::set_features, reporting, 5, abi::nvme::reports_deallocated) == Status::success);
    }
    void poke(std::uint64_t at, std::initializer_list<std::uint8_t> bytes) {
        std::vector<std::byte> all;
        for (const auto byte : bytes)
            all.push_back(std::byte{byte});
        memory.poke(at, all);
    }
    void poke_descriptor(std::uint64_t at, SglType type, std::uint64_t address, std::uint32_t length) {
        abi::Block<abi::nvme::SglDescriptor> descriptor;
        descriptor.view().set<"address">(address).set<"length">(length).set<"type">(type);
        memory.poke(at, descriptor.bytes);
    }
    std::function<void()> asks_for(std::uint64_t size, std::uint64_t held) {
        return [this, size, held] {
            abi::Block<abi::nvme::CreateNamespace> wanted;
            wanted.view().set<"nsze">(size).set<"ncap">(held);
            memory.poke(buffer, wanted.bytes);
        };
    }
    std::function<void()> controllers(std::uint8_t count) {
        return [this, count] { poke(buffer, {count, 0, 0, 0}); };
    }
    abi::Block<abi::nvme::ErrorEntry> newest_error() {
        auto command = Bench::command(static_cast<std::uint8_t>(AdminOpcode::get_log_page), 0, 15u << 16 | 1);
        command.view().set<"prp1">(log_page);
        REQUIRE(submit(0, command).view().get<"status">() == Status::success);
        abi::Block<abi::nvme::ErrorEntry> entry;
        memory.peek(log_page, entry.bytes);
        return entry;
    }
    void check(const Row& row) {
        CAPTURE(row.input, row.status, row.command.block.view().get<"opcode">(),
                row.command.block.view().get<"cdw10">(), row.command.block.view().get<"cdw11">());
        const auto count = newest_error().view().get<"count">();
        if (row.before)
            row.before();
        const auto answer = submit(row.command.queue, row.command.block);
        const auto status = answer.view().get<"status">();
        CHECK(static_cast<unsigned>(status) == static_cast<unsigned>(row.status));
        CHECK(answer.view().get<"dnr">() == row.is_final);
        CHECK(answer.view().get<"m">());

        const auto error = newest_error();
        const auto said = error.view();
        CHECK(said.get<"count">() == count + 1);
        CHECK(said.get<"sqid">() == row.command.queue);
        CHECK(said.get<"cid">() == answer.view().get<"cid">());
        CHECK(said.get<"nsid">() == row.command.block.view().get<"nsid">());
        CHECK(said.get<"opcode">() == row.command.block.view().get<"opcode">());
        CHECK(said.get<"parameter">() == row.parameter);
        CHECK(said.get<"status">() ==
              (abi::load<std::uint16_t, abi::Endian::little>(answer.bytes.data() + 14) & 0xfffe));
        if (row.lba != not_said)
            CHECK(said.get<"lba">() == row.lba);
    }
    void check(std::initializer_list<Row> rows) {
        for (const auto& row : rows)
            check(row);
    }
};

/// Byte and bit of a command, as the error log says them.
constexpr std::uint16_t at(unsigned byte, unsigned bit = 0) { return static_cast<std::uint16_t>(bit << 8 | byte); }

} // namespace

TEST_CASE("a command that cannot be, or names what is not there, says so, where, and that it stays so",
          "[unit][nvme][status]") {
    Drive drive;
    const Bad identify(AdminOpcode::identify, 0, 1), read(IoOpcode::read, plain);
    drive.check({
        {"unknown opcode", {AdminOpcode{0x7f}}, Status::invalid_opcode, at(0)},
        {"unknown opcode, one that is not offered", {AdminOpcode::firmware_download}, Status::invalid_opcode, at(0)},
        {"unknown opcode", {IoOpcode{0x7f}, plain}, Status::invalid_opcode, at(0)},
        {"unknown opcode, one that is not offered",
         {IoOpcode::reservation_report, plain},
         Status::invalid_opcode,
         at(0)},
        {"unsupported CNS", {AdminOpcode::identify, 0, 0xff}, Status::invalid_field, at(40)},
        {"unsupported feature", {AdminOpcode::get_features, 0, 0x7e}, Status::invalid_field, at(40)},
        {"unsupported feature", {AdminOpcode::set_features, 0, 0x7e}, Status::invalid_field, at(40)},
        {"reserved value of SEL", {AdminOpcode::get_features, 0, 4 << 8 | 1}, Status::invalid_field, at(41)},
        {"reserved value of a power state", {AdminOpcode::set_features, 0, 2, 1}, Status::invalid_field, at(44)},
        {"no vector", {AdminOpcode::set_features, 0, 9, 5}, Status::invalid_field, at(44)},
        {"SGL for an admin command", identify.sgl(SglType::data_block, Bench::buffer, 4096), Status::invalid_field,
         at(1)},
        {"PSDT 3", read.with<"psdt">(abi::nvme::DataPointerType::reserved), Status::invalid_field, at(1, 6)},
        {"half of no pair", read.with<"fuse">(3u), Status::invalid_field, at(1)},
        {"more than MDTS", {IoOpcode::read, plain, 0, 128}, Status::invalid_field, at(48)},
        {"more than MDTS", {AdminOpcode::get_log_page, 0, 1, 1}, Status::invalid_field, at(42)},
        {"log page offset within a dword", {AdminOpcode::get_log_page, 0, 1, 0, 2}, Status::invalid_field, at(48)},
        {"log page offset behind the page", {AdminOpcode::get_log_page, 0, 2, 0, 516}, Status::invalid_field, at(48)},
        {"namespace 0", {IoOpcode::read, 0}, Status::invalid_namespace, at(4)},
        {"namespace above NN", {IoOpcode::write, none}, Status::invalid_namespace, at(4)},
        {"all namespaces for a read", {IoOpcode::read, 0xffff'ffff}, Status::invalid_namespace, at(4)},
        {"namespace 0", {AdminOpcode::identify, 0, 0}, Status::invalid_namespace, at(4)},
        {"namespace above NN", {AdminOpcode::format_nvm, none}, Status::invalid_namespace, at(4)},
        {"namespace above NN", {AdminOpcode::device_self_test, none, 1}, Status::invalid_namespace, at(4)},
        {"namespace not attached", {IoOpcode::read, detached}, Status::invalid_field, at(4)},
        {"namespace not attached", {AdminOpcode::set_features, detached, 0x84, 1}, Status::invalid_field, at(4)},
        {"other command set", {AdminOpcode::identify, 0, 6, 1u << 24}, Status::invalid_command_set, at(47)},
        {"unsupported log page", {AdminOpcode::get_log_page, 0, 0xc0}, Status::invalid_log_page, at(40)},
        {"Set Features out of order", {AdminOpcode::set_features, 0, 7, 0x1'0001}, Status::command_sequence_error},
        {"feature not saveable", {AdminOpcode::set_features, 0, 7 | save}, Status::feature_not_saveable, at(43, 7)},
        {"write protection that is not there", {AdminOpcode::set_features, 1, 0x84, 2}, Status::invalid_field, at(44)},
        {"feature not changeable", {AdminOpcode::set_features, read_only, 0x84}, Status::feature_not_changeable},
        {"feature of the controller", {AdminOpcode::set_features, 1, 1}, Status::feature_not_per_namespace, at(4)},
    });
}

TEST_CASE("data that cannot be reached, or whose place is no place, is refused where the pointer stands",
          "[unit][nvme][status]") {
    Drive drive;
    const Bad identify(AdminOpcode::identify, 0, 1), read(IoOpcode::read, plain);
    drive.poke_descriptor(list, SglType::segment, list + 0x100, 16);
    drive.poke_descriptor(list + 0x40, SglType::segment, list + 0x100, 16);
    drive.poke_descriptor(list + 0x50, SglType::data_block, Bench::buffer, 512);
    drive.poke_descriptor(list + 0x60, SglType::data_block, Bench::buffer, 7);
    const auto metadata = Bad(IoOpcode::read, guarded)
                              .sgl(SglType::data_block, Bench::buffer, 512)
                              .with<"psdt">(abi::nvme::DataPointerType::sgl_metadata_sgl)
                              .with<"mptr">(list + 0x60);
    drive.check({
        {"DMA of data fails", read.prps(unmapped), Status::data_transfer_error, nowhere, false},
        {"DMA of data fails", identify.prps(unmapped), Status::data_transfer_error, nowhere, false},
        {"DMA of a list fails", read.sgl(SglType::last_segment, unmapped, 32), Status::data_transfer_error, nowhere,
         false},
        {"PRP1 within a dword", read.prps(Bench::buffer + 2), Status::invalid_prp_offset, at(24)},
        {"PRP2 within a page", identify.prps(Bench::buffer + 0x800, list + 0x800), Status::invalid_prp_offset, at(32)},
        {"segment of no length", read.sgl(SglType::last_segment, list, 0), Status::invalid_sgl_segment, at(24)},
        {"segment in a last segment", read.sgl(SglType::last_segment, list, 16), Status::invalid_sgl_segment, at(24)},
        {"segment not in last place", read.sgl(SglType::segment, list + 0x40, 32), Status::invalid_sgl_count, at(24)},
        {"SGL too short", read.sgl(SglType::data_block, Bench::buffer, 511), Status::invalid_data_sgl_length, at(24)},
        {"SGL of metadata too short", metadata, Status::invalid_metadata_sgl_length, at(16)},
        {"unknown descriptor", read.sgl(SglType::keyed, Bench::buffer, 512), Status::invalid_sgl_type, at(24)},
    });
}

TEST_CASE("a queue that cannot be says which of its parameters is wrong", "[unit][nvme][status]") {
    Drive drive;
    const auto cq = [](std::uint32_t id, std::uint32_t entries, std::uint32_t cdw11) {
        return Bad(AdminOpcode::create_cq, 0, (entries - 1) << 16 | id, cdw11).prps(0x300000);
    };
    const auto sq = [](std::uint32_t id, std::uint32_t entries, std::uint32_t cdw11) {
        return Bad(AdminOpcode::create_sq, 0, (entries - 1) << 16 | id, cdw11).prps(0x310000);
    };
    drive.check({
        {"completion queue 0", sq(2, 16, 1), Status::invalid_completion_queue, at(46)},
        {"completion queue that is not there", sq(2, 16, 3u << 16 | 1), Status::invalid_completion_queue, at(46)},
        {"queue 0", cq(0, 16, 1), Status::invalid_queue_id, at(40)},
        {"queue beyond those that are granted", cq(5, 16, 1), Status::invalid_queue_id, at(40)},
        {"queue in use", cq(1, 16, 1), Status::invalid_queue_id, at(40)},
        {"queue in use", sq(1, 16, 1u << 16 | 1), Status::invalid_queue_id, at(40)},
        {"size 0", cq(2, 1, 1), Status::invalid_queue_size, at(42)},
        {"size 0", sq(2, 1, 1u << 16 | 1), Status::invalid_queue_size, at(42)},
        {"not contiguous", cq(2, 16, 0), Status::invalid_field, at(44)},
        {"not contiguous", sq(2, 16, 1u << 16), Status::invalid_field, at(44)},
        {"base within a page", cq(2, 16, 1).prps(0x300010), Status::invalid_prp_offset, at(24)},
        {"base within a page", sq(2, 16, 1u << 16 | 1).prps(0x310010), Status::invalid_prp_offset, at(24)},
        {"no vector", cq(2, 16, 5u << 16 | 3), Status::invalid_interrupt_vector, at(46)},
        {"no vector, of interrupts that are off", cq(2, 16, 5u << 16 | 1), Status::invalid_interrupt_vector, at(46)},
        {"deletion of queue 0", {AdminOpcode::delete_sq}, Status::invalid_queue_id, at(40)},
        {"deletion of queue 0", {AdminOpcode::delete_cq}, Status::invalid_queue_id, at(40)},
        {"deletion of what is not there", {AdminOpcode::delete_sq, 0, 4}, Status::invalid_queue_id, at(40)},
        {"deletion of what is not there", {AdminOpcode::delete_cq, 0, 4}, Status::invalid_queue_id, at(40)},
        {"completions still wanted", {AdminOpcode::delete_cq, 0, 1}, Status::invalid_queue_deletion, at(40)},
        {"doorbells within a page", Bad(AdminOpcode::doorbell_buffer_config).prps(list + 4, list + 0x1000),
         Status::invalid_field, at(24)},
        {"one page for both", Bad(AdminOpcode::doorbell_buffer_config).prps(list, list), Status::invalid_field, at(32)},
    });
    drive.place(0, Bench::command(static_cast<std::uint8_t>(AdminOpcode::async_event_request)));
    drive.ring(0);
    drive.check({"event requests beyond AERL", {AdminOpcode::async_event_request}, Status::event_limit_exceeded});
    drive.set(Register::cc, 1 | 5 << 16); // entries of 32 bytes
    drive.check({{"size of entries", sq(2, 16, 1u << 16 | 1), Status::invalid_queue_size, at(42)},
                 {"size of entries", cq(2, 16, 1), Status::invalid_queue_size, at(42)}});
}

TEST_CASE("blocks that are not there, not to be written, or not right are named in the error log",
          "[unit][nvme][status]") {
    Drive drive;
    constexpr std::uint32_t reference = 1u << 26, application = 1u << 27, guard = 1u << 28;
    drive.memory.poke(Bench::buffer, std::vector<std::byte>(4096, std::byte{0x5a}));
    abi::Block<abi::nvme::DsmRange> range;
    range.view().set<"nlb">(9).set<"slba">(2040);
    drive.memory.poke(list + 0x1000, range.bytes);
    drive.check({
        {"range behind the end", {IoOpcode::read, plain, 2048}, Status::lba_out_of_range, at(40), true, 2048},
        {"range over the end", {IoOpcode::write, plain, 2047, 1}, Status::lba_out_of_range, at(40), true, 2047},
        {"range over the end", {IoOpcode::compare, plain, 2047, 1}, Status::lba_out_of_range, at(40), true, 2047},
        {"range over the end", {IoOpcode::verify, plain, 2047, 1}, Status::lba_out_of_range, at(40), true, 2047},
        {"range over the end", {IoOpcode::write_zeroes, plain, 2047, 1}, Status::lba_out_of_range, at(40), true, 2047},
        {"range over the end", Bad(IoOpcode::dataset_management, plain).prps(list + 0x1000).with<"cdw11">(4u),
         Status::lba_out_of_range, nowhere, true, 2040},
        {"namespace write protected",
         {IoOpcode::write, read_only, 7},
         Status::namespace_write_protected,
         nowhere,
         true,
         7},
        {"size limit of a command", {IoOpcode::verify, plain, 0, 8}, Status::size_limit_exceeded, at(48)},
        {"write fault", {IoOpcode::write, plain, 100, 1}, Status::write_fault, nowhere, false, 101},
        {"read error", {IoOpcode::read, plain, 98, 2}, Status::unrecovered_read_error, nowhere, false, 100},
        {"compare", {IoOpcode::compare, plain, 3}, Status::compare_failure, nowhere, true, 3},
        {"deallocated, where that is an error",
         {IoOpcode::read, reporting, 9},
         Status::deallocated_block,
         nowhere,
         true,
         9},
        {"wrong initial tag", {IoOpcode::write, guarded, 5, reference}, Status::invalid_protection, at(51, 2), true, 5},
        {"guard", {IoOpcode::write, guarded, 5, guard}, Status::guard_check_error, nowhere, true, 5},
        {"application tag", Bad(IoOpcode::write, guarded, 5, application).with<"cdw15">(0xffff'0001u),
         Status::application_tag_check_error, nowhere, true, 5},
        {"reference tag", Bad(IoOpcode::write, guarded, 5, reference).with<"cdw14">(5u),
         Status::reference_tag_check_error, nowhere, true, 5},
    });
    // What was only found to be other data, or none, is no failure of the media.
    auto smart = Bench::command(static_cast<std::uint8_t>(AdminOpcode::get_log_page), 0, 127u << 16 | 2);
    REQUIRE(drive.submit(0, smart).view().get<"status">() == Status::success);
    abi::Block<abi::nvme::SmartLog> health;
    drive.memory.peek(Bench::buffer, health.bytes);
    CHECK(health.view().get<"media_errors">() == 5);
}

TEST_CASE("a namespace that cannot be made, formatted or attached says why", "[unit][nvme][status]") {
    Drive drive;
    const Bad create(AdminOpcode::namespace_management), attach(AdminOpcode::namespace_attachment, plain);
    drive.check({
        {"format that is not there", {AdminOpcode::format_nvm, plain, 9}, Status::invalid_format, at(40)},
        {"protection without room", {AdminOpcode::format_nvm, plain, 1 << 5}, Status::invalid_format, at(40, 5)},
        {"erase that is not there", {AdminOpcode::format_nvm, plain, 3 << 9}, Status::invalid_field, at(41, 1)},
        {"more than there is room for", create, Status::insufficient_capacity, nowhere, true, not_said,
         drive.asks_for(1 << 30, 1 << 30)},
        {"more namespaces than NN", create, Status::namespace_id_unavailable, nowhere, true, not_said,
         drive.asks_for(8, 8)},
        {"thin provisioning", create, Status::thin_not_supported, nowhere, true, not_said, drive.asks_for(8, 4)},
        {"already attached", attach, Status::namespace_already_attached, nowhere, true, not_said, drive.controllers(1)},
        {"not attached",
         {AdminOpcode::namespace_attachment, detached, 1},
         Status::namespace_not_attached,
         nowhere,
         true,
         not_said,
         drive.controllers(1)},
        {"no controllers", attach, Status::invalid_controller_list, nowhere, true, not_said, drive.controllers(0)},
        {"other command set",
         {AdminOpcode::namespace_management, 0, 0, 2u << 24},
         Status::command_set_not_supported,
         at(47),
         true,
         not_said,
         drive.asks_for(8, 8)},
        {"reserved value of SEL", {AdminOpcode::namespace_management, 0, 2}, Status::invalid_field, at(40)},
        {"reserved value of SEL", {AdminOpcode::namespace_attachment, plain, 2}, Status::invalid_field, at(40)},
        {"reserved self-test", {AdminOpcode::device_self_test, 0, 3}, Status::invalid_field, at(40)},
        {"reserved sanitize action", {AdminOpcode::sanitize, 0, 5}, Status::invalid_field, at(40)},
        {"sanitize of what is write protected", {AdminOpcode::sanitize, 0, 2}, Status::namespace_write_protected},
    });
}
