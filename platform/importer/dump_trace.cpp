#include "platform/importer/dump_trace.h"

#include "abi/prm/command.h"
#include "abi/prm/cq.h"
#include "abi/prm/cqe.h"
#include "abi/prm/init_segment.h"
#include "abi/prm/qp.h"
#include "abi/prm/wqe.h"
#include "platform/importer/injected_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

namespace platform::importer {

using namespace abi::prm;
using Bytes = std::vector<std::byte>;

namespace {

constexpr std::uint64_t page_bytes = 4096, most_ring_bytes = wqe_bb_bytes << 15; // log_sq_size has four bits
/// What the log does not place lies where neither a process nor a kernel has anything: behind the user's half.
constexpr std::uint64_t made_up = std::uint64_t{1} << 52, bar = made_up, queue = made_up + 0x1000'0000,
                        mailboxes = queue + page_bytes, records = mailboxes + 0x10'0000, rings = made_up << 1;
constexpr std::uint64_t mailbox_stride = 1024, record_bytes = 8;

/// What is known of a send queue from its dumps.
struct SendQueue {
    std::uint64_t begin = ~std::uint64_t{0}, end = 0; ///< addresses in the process that had it
    std::uint64_t first_line = 0;
    bool is_placed = false; ///< the log has addresses
    bool is_raw = false;
    std::uint64_t ring = 0; ///< of one that is not
};
struct Completions {
    std::uint64_t count = 0, ring = 0, next = 0;
};

/// A SEND whose first segment has neither bytes nor an address has an Ethernet segment there: a raw packet.
bool is_raw(std::span<const std::byte> wqe) {
    if (abi::ConstView<WqeCtrl>(wqe).get<"opcode">() != WqeOpcode::send || wqe.size() < WqeCtrl::size + WqeData::size)
        return false;
    const abi::ConstView<WqeData> first(wqe.subspan(WqeCtrl::size));
    return first.get<"byte_count">() == 0 && first.get<"addr">() == 0;
}

class DumpTrace {
public:
    explicit DumpTrace(traces::codec::Writer& writer) : link_(writer, 0) {}

    std::expected<DumpCounts, std::string> run(std::span<const Dump> dumps) {
        for (const auto& dump : dumps)
            if (auto complaint = look_at(dump); !complaint.empty())
                return std::unexpected(std::move(complaint));
        begin();
        for (auto& [cqn, completions] : completions_)
            create(cqn, completions);
        for (auto& [qpn, queue_of] : queues_)
            create(qpn, queue_of);
        DumpCounts counts{.queue_pairs = queues_.size(), .completion_queues = completions_.size()};
        for (const auto& dump : dumps) {
            link_.begin_access();
            if (dump.kind == Dump::Kind::cqe) {
                auto& completions = completions_[dump.cqn];
                ++counts.cqes;
                link_.device_writes(completions.ring + Cqe64::size * completions.next++, dump.bytes);
            } else {
                const abi::ConstView<WqeCtrl> ctrl(dump.bytes);
                const auto& of = queues_[ctrl.get<"qpn">()];
                ++counts.wqes;
                link_.device_reads(of.is_placed ? dump.address.value_or(of.begin)
                                                : of.ring + ctrl.get<"wqe_index">() * wqe_bb_bytes % most_ring_bytes,
                                   dump.bytes);
            }
        }
        return counts;
    }

private:
    std::string look_at(const Dump& dump) {
        if (dump.kind == Dump::Kind::cqe) {
            ++completions_[dump.cqn].count;
            return {};
        }
        const auto qpn = abi::ConstView<WqeCtrl>(dump.bytes).get<"qpn">();
        auto& of = queues_[qpn];
        of.is_raw = of.is_raw || is_raw(dump.bytes);
        if (!dump.address)
            return {};
        if (*dump.address > made_up)
            return fmt::format("line {}: a WQE at {:#x}, where no process has memory", dump.line, *dump.address);
        if (!of.is_placed)
            of.first_line = dump.line;
        of.is_placed = true;
        of.begin = std::min(of.begin, *dump.address & ~(page_bytes - 1));
        of.end = std::max(of.end, *dump.address + dump.bytes.size());
        if (of.end - of.begin > most_ring_bytes)
            return fmt::format("line {}: this WQE of queue pair {:#x} lies {} bytes from others, the first in line {}, "
                               "and no send queue has more than {}: the log is of more than one run, import its parts",
                               dump.line, qpn, of.end - of.begin, of.first_line, most_ring_bytes);
        return {};
    }

    void begin() {
        link_.bar_begins(0, bar);
        store(InitialSegment::field<"cmdq_phy_addr_63_32">::offset, queue >> 32);
        store(InitialSegment::field<"cmdq_phy_addr_31_12">::offset, queue & 0xffff'ffff);
    }
    void store(std::uint64_t offset, std::uint64_t value) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, abi::Endian::big>(bytes.data(), static_cast<std::uint32_t>(value));
        link_.store(bar + offset, bytes);
    }

    void create(std::uint32_t cqn, Completions& completions) {
        const auto log_size = static_cast<unsigned>(std::bit_width(completions.count - 1));
        const auto bytes = std::max(page_bytes, std::uint64_t{Cqe64::size} << log_size);
        completions.ring = take(bytes);
        abi::Block<CreateCqIn> in;
        in.view()
            .set<"opcode">(Opcode::create_cq)
            .sub<"cq_context">()
            .set<"log_cq_size">(log_size)
            .set<"log_page_size">(static_cast<unsigned>(std::countr_zero(bytes / page_bytes)))
            .set<"dbr_addr">(next_record());
        abi::Block<CreateCqOut> out;
        out.view().set<"cqn">(cqn);
        command(with_pages(in.bytes, std::array{completions.ring}), out.bytes);
    }
    void create(std::uint32_t qpn, SendQueue& of) {
        std::vector<std::uint64_t> pages;
        auto ring_bytes = most_ring_bytes;
        if (of.is_placed) {
            // Of a ring whose size nobody has told: as much as was seen. What is behind it need not be the ring's.
            ring_bytes = std::bit_ceil(std::max<std::uint64_t>(of.end - of.begin, wqe_bb_bytes));
            for (auto page = of.begin; page < of.end; page += page_bytes)
                pages.push_back(page);
        } else {
            of.ring = take(most_ring_bytes);
        }
        while (pages.size() * page_bytes < ring_bytes)
            pages.push_back(of.is_placed ? take(page_bytes) : of.ring + pages.size() * page_bytes);
        abi::Block<CreateQpIn> in;
        in.view()
            .set<"opcode">(Opcode::create_qp)
            .sub<"qpc">()
            .set<"st">(of.is_raw ? QpType::raw : QpType::rc)
            .set<"rq_type">(ReceiveQueueType::none)
            .set<"log_sq_size">(static_cast<unsigned>(std::countr_zero(ring_bytes / wqe_bb_bytes)))
            .set<"dbr_addr">(next_record());
        abi::Block<CreateQpOut> out;
        out.view().set<"qpn">(qpn);
        command(with_pages(in.bytes, pages), out.bytes);
    }
    std::uint64_t next_record() { return records + record_bytes * record_count_++; }
    /// Memory for a ring, on a boundary of its size.
    std::uint64_t take(std::uint64_t bytes) {
        const auto begin = (next_ring_ + bytes - 1) / bytes * bytes;
        next_ring_ = begin + bytes;
        return begin;
    }
    static Bytes with_pages(std::span<const std::byte> in, std::span<const std::uint64_t> pages) {
        Bytes all(in.begin(), in.end());
        all.resize(in.size() + pages.size() * sizeof(std::uint64_t));
        for (std::size_t i = 0; i < pages.size(); ++i)
            abi::store<std::uint64_t, abi::Endian::big>(all.data() + in.size() + i * sizeof(std::uint64_t), pages[i]);
        return all;
    }

    /// A command in slot 0 whose answer fits its entry.
    void command(std::span<const std::byte> in, std::span<const std::byte> out) {
        constexpr std::size_t in_entry = CommandIn::size;
        store(InitialSegment::field<"command_doorbell_vector">::offset, 1);
        abi::Block<CommandQueueEntry> entry;
        entry.view()
            .set<"type">(command_transport_pcie)
            .set<"input_length">(static_cast<std::uint32_t>(in.size()))
            .set<"input_mailbox">(mailboxes)
            .set<"output_length">(static_cast<std::uint32_t>(out.size()))
            .set<"owner">(1);
        std::ranges::copy(in.first(in_entry), entry.bytes.begin() + CommandQueueEntry::field<"input">::offset);
        link_.device_reads(queue, entry.bytes);
        for (std::size_t at = in_entry, box = 0; at < in.size(); at += mailbox_data_bytes, ++box) {
            abi::Block<CommandMailbox> block;
            const auto data = in.subspan(at, std::min(mailbox_data_bytes, in.size() - at));
            std::ranges::copy(data, block.bytes.begin());
            const bool is_last = at + mailbox_data_bytes >= in.size();
            block.view()
                .set<"next">(is_last ? 0 : mailboxes + (box + 1) * mailbox_stride)
                .set<"block_num">(static_cast<std::uint32_t>(box));
            link_.device_reads(mailboxes + box * mailbox_stride, block.bytes);
        }
        link_.device_writes(queue + CommandQueueEntry::field<"output">::offset, out);
        link_.device_writes(queue + status_own_offset, std::array{std::byte{}});
    }

    InjectedLink link_;
    std::map<std::uint32_t, SendQueue> queues_;
    std::map<std::uint32_t, Completions> completions_;
    std::uint64_t next_ring_ = rings, record_count_ = 0;
};

} // namespace

traces::codec::Head dump_head(std::string revision, std::string_view file) {
    return {.identity = {.revision = std::move(revision)},
            .configuration = fmt::format("# Made of the driver's dumps in {}: nobody has recorded a device.\n", file),
            .names = {},
            .interfaces = {{traces::codec::InterfaceKind::pcie, "adapter"}}};
}

std::expected<DumpCounts, std::string> write_dumps(std::span<const Dump> dumps, traces::codec::Writer& writer) {
    return DumpTrace(writer).run(dumps);
}

} // namespace platform::importer
