// A controller of a few lines for tests of the driver alone: it carries out what the driver needs, at once when a
// doorbell rings, and a test may have any command refused. It trusts the driver.
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/completion.h"
#include "abi/nvme/feature.h"
#include "abi/nvme/identify.h"
#include "abi/nvme/registers.h"
#include "testbench/unit/sw/fake_transport.h"

#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace testbench {

class ScriptedController {
public:
    static constexpr std::uint32_t block_bytes = 512;
    using Status = abi::nvme::Status;
    using Command = abi::ConstView<abi::nvme::Command>;

    explicit ScriptedController(FakeTransport& transport, std::uint64_t blocks = 4096)
        : transport_(transport), medium(blocks * block_bytes) {
        transport.bars[0].resize(0x4000);
        auto view = registers();
        view.set<"mqes">(1023);
        view.set<"to">(2);
        view.set<"css">(1);
        view.set<"vs">(abi::nvme::version_1_4);
        transport.on_write = [this](unsigned, std::uint64_t offset, std::span<const std::byte> from) {
            written(offset, abi::load<std::uint32_t, abi::Endian::little>(from.data()));
        };
        transport.on_relax = [this] { look_at_shadows(); };
    }
    abi::View<abi::nvme::Registers> registers() {
        return abi::View<abi::nvme::Registers>(std::span(transport_.bars[0]));
    }

    /// Status of a command before it is carried out; empty: carries all out.
    std::function<std::optional<Status>(std::uint16_t queue, Command command)> refuse;
    bool becomes_ready = true, shuts_down = true, answers = true;
    std::vector<std::uint8_t> admin_opcodes; ///< as they came
    std::vector<std::uint8_t> io_opcodes;
    std::uint16_t granted_queues = 8;

private:
    struct Queue {
        std::uint64_t sq = 0, cq = 0;
        std::uint32_t entries = 0, head = 0, tail = 0, posted = 0;
        std::optional<std::uint16_t> vector;
    };

    void written(std::uint64_t offset, std::uint32_t value) {
        if (offset == 0x14)
            configure(value);
        if (offset < abi::nvme::doorbells_offset)
            return;
        const auto number = (offset - abi::nvme::doorbells_offset) / 8;
        if (auto found = queues_.find(number); found != queues_.end() && offset % 8 == 0) {
            if (number == 0 || shadow_ == 0)
                found->second.tail = value;
            process(number);
        }
    }
    void configure(std::uint32_t value) {
        const bool is_enabled = (value & 1) != 0;
        auto view = registers();
        if (!is_enabled)
            queues_.clear(), shadow_ = 0;
        if (is_enabled && !queues_.contains(0))
            queues_[0] = {view.get<"asq">(), view.get<"acq">(), view.get<"asqs">() + 1u, 0, 0, 0, 0};
        view.set<"rdy">(is_enabled && becomes_ready);
        view.set<"shst">(is_enabled && (value >> 14 & 3) != 0 && shuts_down ? 2 : 0);
    }
    std::span<std::byte> at(std::uint64_t bus, std::size_t bytes) { return transport_.at(bus, bytes); }
    std::uint32_t& shadow(std::uint64_t page, std::uint64_t number) {
        return *reinterpret_cast<std::uint32_t*>(at(page + number * 8, 4).data());
    }
    void look_at_shadows() {
        if (shadow_ != 0)
            for (const auto& [number, queue] : std::map(queues_))
                if (number != 0)
                    process(number);
    }
    void process(std::uint64_t number) {
        if (shadow_ != 0 && number != 0)
            queues_.at(number).tail = shadow(shadow_, number);
        while (queues_.contains(number) && queues_[number].head != queues_[number].tail) {
            auto& queue = queues_[number];
            const auto entry = at(queue.sq + queue.head * 64, 64);
            queue.head = (queue.head + 1) % queue.entries;
            const Command command(entry);
            (number == 0 ? admin_opcodes : io_opcodes).push_back(command.get<"opcode">());
            if (!answers)
                continue;
            auto status = refuse ? refuse(static_cast<std::uint16_t>(number), command) : std::nullopt;
            std::uint32_t result = 0;
            if (!status)
                status = number == 0 ? administer(entry, result) : transfer(entry);
            post(number, command.get<"cid">(), *status, result);
        }
        if (shadow_ != 0 && number != 0 && queues_.contains(number))
            shadow(events_, number) = queues_[number].tail;
    }
    void post(std::uint64_t number, std::uint16_t id, Status status, std::uint32_t result) {
        auto& queue = queues_[number];
        abi::View<abi::nvme::Completion> entry(at(queue.cq + queue.posted % queue.entries * 16, 16));
        entry.set<"dw0">(result);
        entry.set<"sqid">(static_cast<std::uint16_t>(number));
        entry.set<"cid">(id);
        entry.set<"status">(status);
        entry.set<"p">(queue.posted++ / queue.entries % 2 == 0);
        if (queue.vector)
            transport_.raised.insert(*queue.vector);
    }
    Status administer(std::span<const std::byte> entry, std::uint32_t& result) {
        using abi::nvme::AdminOpcode;
        const Command command(entry);
        switch (static_cast<AdminOpcode>(command.get<"opcode">())) {
        case AdminOpcode::identify: return identify(entry);
        case AdminOpcode::set_features: result = (granted_queues - 1u) * 0x10001u; return Status::success;
        case AdminOpcode::create_cq: {
            const abi::ConstView<abi::nvme::CreateCq> cq(entry);
            auto& queue = queues_[cq.get<"qid">()];
            queue = {};
            queue.cq = cq.get<"prp1">();
            queue.entries = cq.get<"qsize">() + 1u;
            if (cq.get<"ien">())
                queue.vector = cq.get<"iv">();
            return Status::success;
        }
        case AdminOpcode::create_sq: {
            const abi::ConstView<abi::nvme::CreateSq> sq(entry);
            queues_[sq.get<"qid">()].sq = sq.get<"prp1">();
            return Status::success;
        }
        case AdminOpcode::delete_sq: return Status::success;
        case AdminOpcode::delete_cq:
            queues_.erase(abi::ConstView<abi::nvme::DeleteQueue>(entry).get<"qid">());
            return Status::success;
        case AdminOpcode::doorbell_buffer_config:
            shadow_ = command.get<"prp1">(), events_ = command.get<"prp2">();
            return Status::success;
        default: return Status::invalid_opcode;
        }
    }
    Status identify(std::span<const std::byte> entry) {
        const abi::ConstView<abi::nvme::Identify> command(entry);
        const auto page = at(Command(entry).get<"prp1">(), abi::nvme::identify_bytes);
        std::ranges::fill(page, std::byte{});
        switch (static_cast<abi::nvme::Cns>(command.get<"cns">())) {
        case abi::nvme::Cns::controller: {
            abi::View<abi::nvme::IdentifyController> view(page);
            std::memcpy(page.data() + 4, "SERIAL              ", 20);
            view.set<"mdts">(5);
            view.set<"nn">(4);
            view.set<"sgls">(1);
            view.set<"oacs">(1 << 8);
            return Status::success;
        }
        case abi::nvme::Cns::active_namespaces:
            page[0] = std::byte{Command(entry).get<"nsid">() < 1 ? std::uint8_t{1} : std::uint8_t{0}};
            return Status::success;
        case abi::nvme::Cns::namespace_data: {
            abi::View<abi::nvme::IdentifyNamespace> view(page);
            view.set<"nsze">(medium.size() / block_bytes);
            abi::View<abi::nvme::LbaFormat>(page.subspan(abi::nvme::lba_formats_offset)).set<"lbads">(9);
            return Status::success;
        }
        default: return Status::invalid_field;
        }
    }
    /// Pages or blocks of the data, each contiguous.
    std::vector<std::span<std::byte>> data_of(std::span<const std::byte> entry, std::size_t bytes) {
        const Command command(entry);
        std::vector<std::span<std::byte>> parts;
        const auto word = [&](std::uint64_t bus) {
            return abi::load<std::uint64_t, abi::Endian::little>(at(bus, 8).data());
        };
        const auto prp1 = command.get<"prp1">(), prp2 = command.get<"prp2">();
        if (command.get<"psdt">() != abi::nvme::DataPointerType::prp) {
            if (prp2 >> 60 == 0)
                return {at(prp1, prp2 & 0xffff'ffff)};
            for (std::uint64_t i = 0; i < (prp2 & 0xffff'ffff); i += 16)
                parts.push_back(at(word(prp1 + i), word(prp1 + i + 8) & 0xffff'ffff));
            return parts;
        }
        const auto first = std::min<std::size_t>(bytes, 4096 - prp1 % 4096);
        parts.push_back(at(prp1, first));
        bytes -= first;
        if (bytes != 0 && bytes <= 4096)
            parts.push_back(at(prp2, bytes));
        else
            for (auto list = prp2; bytes != 0; list += 8) {
                if (list % 4096 == 4088 && bytes > 4096)
                    list = word(list);
                parts.push_back(at(word(list), std::min<std::size_t>(bytes, 4096)));
                bytes -= parts.back().size();
            }
        return parts;
    }
    Status transfer(std::span<const std::byte> entry) {
        using abi::nvme::IoOpcode;
        const auto opcode = static_cast<IoOpcode>(Command(entry).get<"opcode">());
        if (opcode == IoOpcode::flush || opcode == IoOpcode::dataset_management)
            return Status::success;
        const abi::ConstView<abi::nvme::ReadWrite> command(entry);
        const auto bytes = (command.get<"nlb">() + 1u) * block_bytes;
        auto place = command.get<"slba">() * block_bytes;
        if (place > medium.size() || bytes > medium.size() - place)
            return Status::lba_out_of_range;
        for (const auto part : data_of(entry, bytes)) {
            const auto there = std::span(medium).subspan(place, part.size());
            opcode == IoOpcode::write ? std::ranges::copy(part, there.begin()) : std::ranges::copy(there, part.begin());
            place += part.size();
        }
        return Status::success;
    }

    FakeTransport& transport_;
    std::map<std::uint64_t, Queue> queues_;
    std::uint64_t shadow_ = 0, events_ = 0;

public:
    std::vector<std::byte> medium;
};

} // namespace testbench
