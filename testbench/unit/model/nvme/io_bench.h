// A drive without queues: memory of a host, namespaces, and what executes I/O commands.
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/opcode.h"
#include "model/nvme/io/io.h"
#include "model/nvme/media/faulty_medium.h"
#include "model/nvme/media/memory_medium.h"
#include "model/port/memory_dma.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace testbench {

using namespace std::chrono_literals;
using abi::BusAddress;
using abi::nvme::IoOpcode;
using model::nvme::Outcome;
using model::nvme::Status;
using model::port::DmaStatus;
using model::port::Time;

/// A command under construction.
struct Sqe {
    abi::Block<abi::nvme::Command> block;

    Sqe(IoOpcode opcode, std::uint32_t nsid = 1) {
        block.view().set<"opcode">(static_cast<std::uint8_t>(opcode)).set<"nsid">(nsid).set<"cid">(7);
    }
    template <abi::Name Field, class T> Sqe& set(T value) {
        block.view().set<Field>(value);
        return *this;
    }
    template <class Layout, abi::Name Field, class T> Sqe& set_in(T value) {
        abi::View<Layout>{block.bytes}.template set<Field>(value);
        return *this;
    }
    template <abi::Name Field, class T> Sqe& rw(T value) { return set_in<abi::nvme::ReadWrite, Field>(value); }
    /// Blocks [lba, lba + count), and a buffer at `data`, which is contiguous: PRPs of consecutive pages.
    Sqe& range(std::uint64_t lba, std::uint32_t count) { return rw<"slba">(lba).template rw<"nlb">(count - 1); }
    Sqe& prp(std::uint64_t prp1, std::uint64_t prp2 = 0) { return set<"prp1">(prp1).template set<"prp2">(prp2); }
    /// The SGL descriptor in the command.
    Sqe& sgl(abi::nvme::SglType type, std::uint64_t address, std::uint32_t length) {
        set<"psdt">(abi::nvme::DataPointerType::sgl_metadata_buffer);
        abi::Block<abi::nvme::SglDescriptor> descriptor;
        descriptor.view().set<"address">(address).set<"length">(length).set<"type">(type);
        std::ranges::copy(descriptor.bytes, block.bytes.begin() + abi::nvme::sgl1_offset);
        return *this;
    }
    operator std::span<const std::byte, 64>() const { return block.bytes; }
};

inline std::vector<std::byte> pattern(std::size_t length, unsigned seed = 1) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i)
        bytes[i] = static_cast<std::byte>((i * 7 + i / 256 * 13 + seed) & 0xff);
    return bytes;
}

/// One namespace of 16 MiB for each format that the test names.
struct IoBench {
    static model::nvme::SpaceConfig space_of(std::vector<model::nvme::NamespaceConfig> namespaces) {
        model::nvme::SpaceConfig config;
        config.namespaces = std::move(namespaces);
        return config;
    }
    static model::nvme::NamespaceConfig of(std::uint8_t format) {
        model::nvme::NamespaceConfig config;
        config.bytes = 16 << 20;
        config.format = format;
        return config;
    }

    explicit IoBench(model::nvme::SpaceConfig space = space_of({of(0), of(1)}), model::nvme::IoConfig config = {},
                     model::nvme::FlashConfig drive = {.timed = false})
        : flash(drive, space.capacity, space.identity, memory), spaces(with_faults(std::move(space)), &flash),
          io(config, spaces, memory) {}

    Outcome run(const Sqe& sqe, Time at = {}) { return io.execute(sqe, at); }
    Status status(const Sqe& sqe) { return run(sqe).status; }
    model::nvme::FaultyMedium& medium(std::uint32_t nsid = 1) { return *media.at(nsid - 1); }
    model::nvme::Namespace& space(std::uint32_t nsid = 1) { return *spaces.allocated(nsid); }
    model::nvme::Refusal protect(std::uint32_t nsid, std::uint32_t state) {
        Time at{};
        return spaces.protect(nsid, state, at);
    }
    /// Without commands.
    std::vector<std::byte> stored(std::uint64_t lba, std::size_t length, std::uint32_t nsid = 1) {
        std::vector<std::byte> bytes(length);
        space(nsid).medium().read(space(nsid).data_at(lba), bytes, {});
        return bytes;
    }
    /// Writes a pattern through a command with PRPs of one or two pages.
    void fill(std::uint64_t lba, std::uint32_t count, unsigned seed = 1, std::uint32_t nsid = 1) {
        memory.poke(0x800000, pattern(count * space(nsid).shape().data_bytes(), seed));
        REQUIRE(status(Sqe(IoOpcode::write, nsid).range(lba, count).prp(0x800000, 0x801000)) == Status::success);
    }
    void poke64(std::uint64_t at, std::initializer_list<std::uint64_t> values) {
        for (const auto value : values) {
            std::array<std::byte, 8> bytes;
            abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), value);
            memory.poke(at, bytes);
            at += 8;
        }
    }
    void poke_sgl(std::uint64_t at, abi::nvme::SglType type, std::uint64_t address, std::uint32_t length,
                  std::uint32_t subtype = 0) {
        abi::Block<abi::nvme::SglDescriptor> descriptor;
        descriptor.view().set<"address">(address).set<"length">(length).set<"type">(type).set<"subtype">(subtype);
        memory.poke(at, descriptor.bytes);
    }

    model::port::MemoryDma memory;
    std::vector<model::nvme::FaultyMedium*> media;
    model::nvme::Flash flash;
    model::nvme::Namespaces spaces;
    model::nvme::Io io;

private:
    model::nvme::SpaceConfig with_faults(model::nvme::SpaceConfig config) {
        media.resize(config.max_namespaces);
        config.make_medium = [this](std::uint32_t nsid, const auto& one) {
            auto medium = std::make_unique<model::nvme::FaultyMedium>(
                std::make_unique<model::nvme::MemoryMedium>("test", one.bytes), 512, 42);
            media.at(nsid - 1) = medium.get();
            return medium;
        };
        return config;
    }
};

} // namespace testbench
