// A drive under load: so many commands under way at any time, on one queue or several, until so many have ended.
#pragma once

#include "model/time/usage.h"
#include "testbench/unit/model/nvme/controller_bench.h"

#include <random>
#include <string>
#include <vector>

namespace nvme_test {

struct Load {
    abi::nvme::IoOpcode opcode = abi::nvme::IoOpcode::read;
    std::uint32_t bytes = 4096; ///< of each command
    unsigned depth = 1;         ///< commands under way, over all queues
    unsigned commands = 1000;
    unsigned queues = 1;
    bool is_random = true;
};

struct Measured {
    Time took{};   ///< from the first doorbell to the last completion
    Time summed{}; ///< latencies of all commands
    std::uint64_t commands = 0, bytes = 0;
    std::vector<model::time::Account> accounts; ///< as long as the bench lives

    double seconds() const { return static_cast<double>(took.count()) * 1e-12; }
    double per_second() const { return static_cast<double>(commands) / seconds(); }
    double gigabytes_per_second() const { return static_cast<double>(bytes) / seconds() * 1e-9; }
    double mean_us() const { return static_cast<double>(summed.count()) * 1e-6 / static_cast<double>(commands); }
    /// Commands under way on average.
    double under_way() const { return static_cast<double>(summed.count()) / static_cast<double>(took.count()); }
    const model::time::Account& of(std::string_view name) const {
        return *std::ranges::find(accounts, name, &model::time::Account::name);
    }
    std::string bottleneck() const {
        const auto* found = model::time::bottleneck(accounts);
        return found == nullptr ? "" : std::string(found->name);
    }
};

/// A drive of 256 MiB with its standard times.
inline NvmeConfig fast_drive() {
    NvmeConfig config;
    config.queue_pairs = 4, config.vectors = 5;
    config.space.namespaces[0].bytes = 256 << 20;
    return config;
}

class LoadedDrive {
public:
    explicit LoadedDrive(const NvmeConfig& config = fast_drive()) : bench(config), config_(config) {
        bench.memory.set_latency(500ns);
        bench.enable();
        for (std::uint16_t id = 1; id <= 4; ++id)
            bench.create_pair(id, 1024);
        for (std::uint64_t page = 0; page < 256; ++page) { // a list for one contiguous buffer
            std::array<std::byte, 8> entry{};
            abi::store<std::uint64_t, abi::Endian::little>(entry.data(), Bench::buffer + (page + 1) * 4096);
            bench.memory.poke(prp_list + page * 8, entry);
        }
    }

    Measured run(const Load& load) {
        Measured measured;
        const auto begin = bench.clock.now();
        load_ = load, submitted_ = 0;
        random_.seed(7);
        for (unsigned i = 0; i < std::min(load.depth, load.commands); ++i)
            submit(static_cast<std::uint16_t>(1 + i % load.queues));
        ring();
        while (measured.commands < load.commands) {
            bench.clock.set(bench.clock.next());
            bench.controller.wake(bench.clock.now());
            for (std::uint16_t id = 1; id <= load.queues; ++id)
                while (const auto entry = bench.next(id)) {
                    measured.summed += bench.clock.now() - begun_.at(entry->view().get<"cid">());
                    ++measured.commands;
                    if (submitted_ < load.commands)
                        submit(id);
                }
            ring();
        }
        measured.took = bench.clock.now() - begin;
        measured.bytes = measured.commands * load.bytes;
        bench.controller.accounts(measured.accounts);
        return measured;
    }
    Time flush() {
        const auto begin = bench.clock.now();
        static_cast<void>(bench.ask(1, abi::nvme::IoOpcode::flush, 1));
        return bench.clock.now() - begin;
    }

    Bench bench;

private:
    static constexpr std::uint64_t prp_list = 0x80000;

    void submit(std::uint16_t id) {
        const auto blocks = load_.bytes / 512;
        const auto places = config_.space.namespaces[0].bytes / load_.bytes;
        const auto place = load_.is_random ? random_() % places : submitted_ % places;
        auto command = Bench::command(static_cast<std::uint8_t>(load_.opcode), 1,
                                      static_cast<std::uint32_t>(place * blocks), 0, blocks - 1);
        const auto cid = static_cast<std::uint16_t>(submitted_++);
        command.view().set<"cid">(cid).set<"prp2">(load_.bytes > 8192 ? prp_list : Bench::buffer + 4096);
        begun_.resize(65536);
        begun_[cid] = bench.clock.now();
        bench.place(id, command);
        is_due_[id] = true;
    }
    void ring() {
        for (std::uint16_t id = 1; id < is_due_.size(); ++id)
            if (std::exchange(is_due_[id], false))
                bench.ring(id);
    }

    NvmeConfig config_;
    Load load_;
    unsigned submitted_ = 0;
    std::vector<Time> begun_;
    std::array<bool, 5> is_due_{};
    std::mt19937_64 random_;
};

} // namespace nvme_test
