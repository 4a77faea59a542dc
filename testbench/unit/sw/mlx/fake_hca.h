// A scripted HCA behind a FakeTransport: an init segment, a command queue that is read at raw offsets (so the driver's
// layouts have a second opinion), tables of answers, and rings a test can write events and completions to. Checks what
// any device would.
#pragma once

#include "testbench/unit/sw/fake_transport.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace testbench {

using Bytes = std::vector<std::byte>;

/// Big-endian loads and stores at raw offsets, written out here on purpose.
inline std::uint64_t get_be(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[offset + i]);
    return value;
}
inline std::uint32_t be32(std::span<const std::byte> bytes, std::size_t offset) {
    return static_cast<std::uint32_t>(get_be(bytes, offset, 4));
}
inline std::uint64_t be64(std::span<const std::byte> bytes, std::size_t offset) { return get_be(bytes, offset, 8); }
inline void put_be(std::span<std::byte> bytes, std::size_t offset, std::size_t size, std::uint64_t value) {
    for (std::size_t i = 0; i < size; ++i)
        bytes[offset + i] = static_cast<std::byte>(value >> 8 * (size - 1 - i) & 0xff);
}
inline void put32(std::span<std::byte> bytes, std::size_t offset, std::uint64_t value) {
    put_be(bytes, offset, 4, value);
}

class FakeHca {
public:
    struct Command {
        std::uint16_t opcode = 0, op_mod = 0;
        unsigned slot = 0;
        Bytes in;
        std::size_t out_bytes = 0;
    };
    /// A queue's ring as its create command described it.
    struct Ring {
        std::vector<std::uint64_t> pages;
        std::uint64_t page_bytes = 4096;
        unsigned log_size = 0;
        std::uint32_t produced = 0;
        unsigned vector = 0;      ///< event queues
        std::uint32_t eqn = 0;    ///< completion queues
        std::uint64_t record = 0; ///< doorbell record
        std::uint64_t events = 0; ///< event bitmask
    };
    using Answer = std::function<void(std::span<const std::byte> in, std::span<std::byte> out)>;

    FakeTransport transport;
    std::vector<Command> commands;           ///< as executed
    std::map<std::uint16_t, Answer> answers; ///< fills the output; without one it is zeros
    std::map<std::uint16_t, std::pair<std::uint8_t, std::uint32_t>> refusals; ///< status and syndrome by opcode
    std::uint8_t delivery_status = 0;                                         ///< of every command
    bool is_deaf = false;                                                     ///< fetches no command
    bool is_immediate = true; ///< executes in the doorbell; else when the driver waits
    bool posts_events = true; ///< of commands, once there is a command event queue
    std::map<std::uint32_t, Ring> eqs, cqs;
    std::vector<std::pair<std::uint64_t, Bytes>> doorbells; ///< stores to UAR pages: offset in the BAR, bytes
    std::uint32_t boot_pages = 0, init_pages = 0;
    std::vector<std::uint64_t> pages; ///< held now
    Bytes general = Bytes(256), atomic = Bytes(256), roce = Bytes(256);
    std::vector<std::string> complaints; ///< what a device would not accept; a test wants none

    static constexpr std::uint32_t uar_page = 16;

    explicit FakeHca(bool is_ethernet = true) {
        transport.config_write(0, 4, 0x101b15b3);
        transport.bars[0].resize(1 << 20);
        put(0x004, 0x00050000);
        put(0x014, 0x56);
        put(0x230, 0x1c000000);
        transport.on_write = [this](unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
            write(bar, offset, from);
        };
        transport.on_relax = [this] {
            put(0x1010, be32(transport.bars[0], 0x1010) + 1); // the health counter
            fetch();
        };
        put_be(general, 0x10, 4, 15u << 16 | 17);                        // log_max_qp_sz, log_max_qp
        put_be(general, 0x18, 4, 22u << 16 | 16);                        // log_max_cq_sz, log_max_cq
        put_be(general, 0x1c, 4, 16u << 24 | 20u << 16 | 6);             // log_max_eq_sz, log_max_mkey, log_max_eq
        put_be(general, 0x28, 4, 4u << 16 | 4);                          // log_max_ra_req_qp, log_max_ra_res_qp
        put_be(general, 0x34, 4, (is_ethernet ? 1u << 8 : 0) | 1);       // port_type, num_ports
        put_be(general, 0x38, 4, 30u << 24);                             // log_max_msg
        put_be(general, 0x40, 4, (is_ethernet ? 1u << 2 : 0) | 1u << 1); // roce, atomic
        put_be(general, 0x48, 4, 12);                                    // log_pg_sz
        put_be(general, 0x4c, 4, 1u << 31 | 9u << 16);                   // bf, log_bf_reg_size
        put_be(general, 0x50, 4, 1024);                                  // max_wqe_sz_sq
        put_be(general, 0x54, 4, 512);                                   // max_wqe_sz_rq
        put_be(atomic, 0x08, 4, 1u << 25);                               // supported_atomic_req_8b_endianness_mode_1
        put_be(roce, 0x1c, 4, 128);                                      // roce_address_table_size
        script();
    }

    void put(std::size_t offset, std::uint32_t value) { put32(transport.bars[0], offset, value); }
    const Command* last(std::uint16_t opcode) const {
        for (auto at = commands.rbegin(); at != commands.rend(); ++at)
            if (at->opcode == opcode)
                return &*at;
        return nullptr;
    }
    std::vector<std::uint16_t> opcodes() const {
        std::vector<std::uint16_t> list;
        for (const auto& command : commands)
            list.push_back(command.opcode);
        return list;
    }
    /// Entry `index` of a ring.
    std::span<std::byte> entry(const Ring& ring, std::uint32_t index) {
        const auto at = std::uint64_t{index & ((1u << ring.log_size) - 1)} * 64;
        return transport.at(ring.pages[at / ring.page_bytes] + at % ring.page_bytes, 64);
    }
    /// Writes an event with its owner bit last, and raises the interrupt.
    void post_event(std::uint32_t eqn, std::uint8_t type, const std::function<void(std::span<std::byte>)>& fill) {
        auto& ring = eqs.at(eqn);
        const auto bytes = entry(ring, ring.produced);
        std::ranges::fill(bytes.first(63), std::byte{0});
        bytes[1] = static_cast<std::byte>(type);
        fill(bytes);
        bytes[63] = static_cast<std::byte>(ring.produced >> ring.log_size & 1);
        ++ring.produced;
        transport.raised.insert(ring.vector);
    }
    /// Writes a CQE; `fill` sets what it says, the opcode nibble among it.
    void post_completion(std::uint32_t cqn, const std::function<void(std::span<std::byte>)>& fill) {
        auto& ring = cqs.at(cqn);
        const auto bytes = entry(ring, ring.produced);
        std::ranges::fill(bytes, std::byte{0});
        fill(bytes);
        bytes[63] = (bytes[63] & std::byte{0xfe}) | static_cast<std::byte>(ring.produced >> ring.log_size & 1);
        std::byte sum{0xff};
        for (std::size_t i = 0; i < 64; ++i)
            if (i != 62)
                sum ^= bytes[i];
        bytes[62] = sum;
        ++ring.produced;
    }
    std::uint32_t eq_for(std::uint8_t type) const {
        for (const auto& [eqn, ring] : eqs)
            if (ring.events >> type & 1)
                return eqn;
        return 0;
    }
    void fetch() {
        if (is_deaf)
            return;
        for (unsigned slot = 0; slot < 32; ++slot)
            if (rung_ >> slot & 1) {
                rung_ &= ~(1u << slot);
                execute(slot);
            }
    }

private:
    void complain(std::string text) { complaints.push_back(std::move(text)); }

    void write(unsigned, std::uint64_t offset, std::span<const std::byte> from) {
        if (offset == 0x14) // size and stride stay readable beside the address
            put(0x14, (be32(from, 0) & 0xfffff000) | 0x56);
        if (offset == 0x18) {
            rung_ |= be32(from, 0);
            if (is_immediate)
                fetch();
        }
        if (offset >= uar_page * 4096)
            doorbells.emplace_back(offset, Bytes(from.begin(), from.end()));
    }

    /// Reads or writes the bytes of a mailbox chain, checking its marks.
    void walk_chain(std::uint64_t at, std::size_t total, std::byte token,
                    const std::function<void(std::span<std::byte>)>& each) {
        std::uint32_t number = 0;
        while (total) {
            const auto block = transport.at(at, 576);
            if (block.empty() || at % 512)
                return complain("mailbox pointer");
            if (block[0x23d] != token)
                complain("mailbox token");
            if (be32(block, 0x238) != number++)
                complain("mailbox number");
            const auto piece = std::min<std::size_t>(total, 512);
            each(block.first(piece));
            total -= piece;
            at = be64(block, 0x230);
        }
        if (at != 0)
            complain("mailbox chain too long");
    }

    void execute(unsigned slot) {
        const auto queue = (std::uint64_t{be32(transport.bars[0], 0x10)} << 32 | be32(transport.bars[0], 0x14)) &
                           ~std::uint64_t{0xfff};
        const auto entry_bytes = transport.at(queue + slot * 64, 64);
        if (entry_bytes[0] != std::byte{7})
            complain("entry type");
        if (entry_bytes[63] != std::byte{1})
            complain("entry is not the device's");
        const auto in_bytes = be32(entry_bytes, 4), out_bytes = be32(entry_bytes, 0x38);
        Command command;
        command.slot = slot;
        command.out_bytes = out_bytes;
        command.in.assign(entry_bytes.begin() + 16, entry_bytes.begin() + 16 + std::min(in_bytes, 16u));
        if (in_bytes > 16)
            walk_chain(be64(entry_bytes, 8), in_bytes - 16, entry_bytes[0x3c], [&](std::span<std::byte> piece) {
                command.in.insert(command.in.end(), piece.begin(), piece.end());
            });
        command.opcode = static_cast<std::uint16_t>(be32(command.in, 0) >> 16);
        command.op_mod = static_cast<std::uint16_t>(be32(command.in, 4));
        Bytes out(std::max<std::size_t>(out_bytes, 16));
        // Latched at the fetch; the command that destroys the command event queue is polled again.
        const auto event_eq = eq_for(0x0a);
        const bool by_event = event_eq && !(command.opcode == 0x302 && (be32(command.in, 8) & 0xff) == event_eq);
        if (const auto refusal = refusals.find(command.opcode); refusal != refusals.end()) {
            put32(out, 0, std::uint32_t{refusal->second.first} << 24);
            put32(out, 4, refusal->second.second);
        } else if (const auto answer = answers.find(command.opcode); answer != answers.end()) {
            answer->second(command.in, out);
        }
        commands.push_back(command);
        std::size_t done = std::min<std::size_t>(out_bytes, 16);
        std::ranges::copy_n(out.begin(), static_cast<std::ptrdiff_t>(done), entry_bytes.begin() + 0x20);
        if (out_bytes > 16)
            walk_chain(be64(entry_bytes, 0x30), out_bytes - 16, entry_bytes[0x3c], [&](std::span<std::byte> piece) {
                std::ranges::copy_n(out.begin() + static_cast<std::ptrdiff_t>(done),
                                    static_cast<std::ptrdiff_t>(piece.size()), piece.begin());
                done += piece.size();
            });
        entry_bytes[63] = static_cast<std::byte>(delivery_status << 1);
        if (by_event && posts_events)
            post_event(event_eq, 0x0a, [&](std::span<std::byte> event) { put32(event, 0x20, 1u << slot); });
    }

    static std::vector<std::uint64_t> tail64(std::span<const std::byte> in, std::size_t at) {
        std::vector<std::uint64_t> list;
        for (; at + 8 <= in.size(); at += 8)
            list.push_back(be64(in, at));
        return list;
    }

    void script() {
        answers[0x10a] = [](auto, auto out) { put32(out, 0x6c, 3); };
        answers[0x107] = [this](auto in, auto out) {
            put32(out, 0xc, (be32(in, 4) & 0xffff) == 1 ? boot_pages : init_pages);
        };
        answers[0x108] = [this](auto in, auto out) {
            const auto count = be32(in, 0xc);
            if ((be32(in, 4) & 0xffff) == 1) {
                for (const auto page : tail64(in, 16))
                    pages.push_back(page);
            } else if ((be32(in, 4) & 0xffff) == 2) {
                const auto given = std::min<std::size_t>(count, pages.size());
                put32(out, 8, given);
                for (std::size_t i = 0; i < given; ++i) {
                    put_be(out, 16 + 8 * i, 8, pages.back());
                    pages.pop_back();
                }
            }
        };
        answers[0x100] = [this](auto in, auto out) {
            const auto type = (be32(in, 4) & 0xffff) >> 1;
            const auto& page = type == 3 ? atomic : type == 4 ? roce : general;
            std::ranges::copy(page, out.begin() + 16);
        };
        answers[0x802] = [](auto, auto out) { put32(out, 8, uar_page); };
        answers[0x301] = [this](auto in, auto out) {
            const auto eqn = next_eqn_++;
            auto& ring = eqs[eqn];
            ring.log_size = be32(in, 0x1c) >> 24 & 0x1f;
            ring.vector = be32(in, 0x24) & 0xfff;
            ring.page_bytes = 4096ull << (be32(in, 0x28) >> 24 & 0x1f);
            ring.events = be64(in, 0x58);
            ring.pages = tail64(in, 0x110);
            put32(out, 8, eqn);
        };
        answers[0x302] = [this](auto in, auto) { eqs.erase(be32(in, 8) & 0xff); };
        answers[0x400] = [this](auto in, auto out) {
            const auto cqn = next_cqn_++;
            auto& ring = cqs[cqn];
            ring.log_size = be32(in, 0x1c) >> 24 & 0x1f;
            ring.eqn = be32(in, 0x24);
            ring.page_bytes = 4096ull << (be32(in, 0x28) >> 24 & 0x1f);
            ring.record = be64(in, 0x48);
            ring.pages = tail64(in, 0x110);
            put32(out, 8, cqn);
        };
        answers[0x401] = [this](auto in, auto) { cqs.erase(be32(in, 8) & 0xffffff); };
        answers[0x500] = [this](auto, auto out) { put32(out, 8, next_qpn_++); };
        answers[0x200] = [this](auto, auto out) { put32(out, 8, next_mkey_++); };
        answers[0x800] = [](auto, auto out) { put32(out, 8, 0x123); };
        answers[0x771] = [](auto, auto out) { put32(out, 8, 5); };
    }

    std::uint32_t rung_ = 0;
    std::uint32_t next_eqn_ = 4, next_cqn_ = 0x80, next_qpn_ = 0x1150, next_mkey_ = 0xdd;
};

} // namespace testbench
