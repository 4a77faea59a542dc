#include "testbench/bench/drive_load.h"

#include "platform/bridge/in_process.h"
#include "platform/topology/platform_module.h"
#include "platform/topology/read.h"
#include "sw/memory/buffer.h"
#include "sw/nvme/namespace.h"
#include "testbench/harness/isolate.h"
#include "testbench/bench/sampling.h"
#include "testbench/scenario/programs.h"

#include <array>
#include <cstring>
#include <memory>

namespace bench {

namespace {

using sw::nvme::Segment;

struct Load {
    const char* text;
    std::uint64_t bytes; ///< of a command
    bool is_write;
    unsigned queues, depth; ///< commands of a queue under way
    bool shadow_doorbells;
};
constexpr std::array loads{
    Load{"4 KiB read, 1 queue, depth 64", 4096, false, 1, 64, false},
    Load{"4 KiB read, 1 queue, depth 64, shadow doorbells", 4096, false, 1, 64, true},
    Load{"4 KiB read, 64 queues, depth 16", 4096, false, 64, 16, false},
    Load{"4 KiB read, 1 queue, depth 1", 4096, false, 1, 1, false},
    Load{"4 KiB write, 1 queue, depth 64", 4096, true, 1, 64, false},
    Load{"1 MiB read, 1 queue, depth 4", 1 << 20, false, 1, 4, false},
    Load{"1 MiB write, 1 queue, depth 4", 1 << 20, true, 1, 4, false},
};

constexpr std::uint64_t medium_bytes = 64 << 20;
/// As with WRITEs: what small commands touch stays in the processor's cache, and large ones walk through more than
/// that.
std::uint64_t walk_bytes(const Load& load) { return load.bytes < 64 << 10 ? 1 << 20 : 32 << 20; }

struct Measured {
    double commands_per_s = 0, over_memcpy = 0;
};

class Loop {
public:
    Loop(sw::transport::Transport& drive, const Load& load)
        : drive_(drive), load_(load),
          controller_(must(sw::nvme::Controller::open(
              drive,
              {.queue_pairs = load.queues, .has_interrupts = false, .shadow_doorbells = load.shadow_doorbells}))),
          space_(must(sw::nvme::Namespace::open(*controller_, must(controller_->active_namespaces()).front()))),
          memory_(must(sw::memory::Buffer::allocate(drive, walk_bytes(load)))), copy_(walk_bytes(load)) {
        std::ranges::fill(memory_.bytes(), std::byte{1});
        for (unsigned i = 0; i < load.queues; ++i)
            queues_.push_back(
                must(controller_->create_queue_pair({.entries = load.depth + 1, .largest_transfer = load.bytes})));
        // The medium has its pages before anything is measured.
        for (std::uint64_t at = 0; at < walk_bytes(load); at += load.bytes)
            must(space_.write(*queues_[0], at / space_.block_bytes(), std::array{Segment{memory_.bus(), load.bytes}}));
    }

    std::uint64_t round() {
        for (auto& queue : queues_) {
            for (unsigned i = 0; i < load_.depth; ++i) {
                const auto at = next();
                const sw::nvme::Blocks blocks{at / space_.block_bytes(), load_.bytes / space_.block_bytes()};
                auto command = load_.is_write ? space_.write(blocks) : space_.read(blocks);
                const std::array data{Segment{memory_.bus() + at, load_.bytes}};
                if (!queue->submit(command, data))
                    give_up("a command does not fit into its queue");
            }
            queue->ring();
        }
        const auto all = std::uint64_t{load_.depth} * load_.queues;
        for (std::uint64_t done = 0; done != all;) {
            std::size_t found = 0;
            for (auto& queue : queues_) {
                const auto count = queue->poll(completions_);
                for (const auto& one : std::span(completions_).first(count))
                    if (!one.is_ok())
                        give_up("a command failed: " + sw::nvme::describe(one));
                found += count;
            }
            done += found;
            if (found == 0)
                drive_.relax();
        }
        return all;
    }
    /// What is measured brings the bytes: those of the medium are in memory behind it.
    void verify() {
        if (load_.is_write)
            return;
        std::ranges::fill(memory_.bytes(), std::byte{});
        for (std::uint64_t read = 0; read < walk_bytes(load_);)
            read += round() * load_.bytes;
        if (std::ranges::any_of(memory_.bytes(), [](std::byte byte) { return byte != std::byte{1}; }))
            give_up("reads did not bring what was written");
    }
    Measured sample(double seconds) {
        const auto begin = ProcessorClock::now();
        std::uint64_t commands = 0;
        const unsigned rounds = load_.bytes < 64 << 10 ? 64 : 1; // the clock is a call of the kernel
        while (seconds_since(begin) < seconds)
            for (unsigned i = 0; i < rounds; ++i)
                commands += round();
        const auto rate = static_cast<double>(commands) / seconds_since(begin);
        const auto copy_begin = ProcessorClock::now();
        std::uint64_t copies = 0;
        while (seconds_since(copy_begin) < seconds / 2)
            for (unsigned i = 0; i < 16; ++i, ++copies) {
                const auto at = next();
                std::memcpy(copy_.data() + at, memory_.data() + at, load_.bytes);
                asm volatile("" ::: "memory"); // every copy is carried out
            }
        return {rate, rate / (static_cast<double>(copies) / seconds_since(copy_begin))};
    }

private:
    std::uint64_t next() {
        const auto at = at_;
        at_ = at_ + 2 * load_.bytes > walk_bytes(load_) ? 0 : at_ + load_.bytes;
        return at;
    }

    sw::transport::Transport& drive_;
    const Load& load_;
    std::unique_ptr<sw::nvme::Controller> controller_;
    sw::nvme::Namespace space_;
    sw::memory::Buffer memory_;
    std::vector<std::byte> copy_;
    std::vector<std::unique_ptr<sw::nvme::QueuePair>> queues_;
    std::array<sw::nvme::Completion, 64> completions_;
    std::uint64_t at_ = 0;
};

Measured measure(const Load& load, double seconds, unsigned samples) {
    const auto text = fmt::format("timed = false\n"
                                  "[[hosts]]\n"
                                  "name = \"A\"\n"
                                  "parts = [{{ path = \"root0.nvme0\", kind = \"nvme\", size = \"{} MiB\" }}]\n",
                                  medium_bytes >> 20);
    const auto config = platform::topology::parse_config(text, "bench", {});
    if (!config)
        give_up(config.error());
    platform::observe::Sources sources;
    platform::topology::Platform platform(*config, nullptr, sources);
    Measured measured;
    scenario::Programs programs;
    programs.add("bench", [&] {
        auto& machine = platform.machines().front();
        platform::bridge::InProcessTransport drive(*machine.host, machine.cards.front().bdf());
        Loop loop(drive, load);
        (void)loop.sample(seconds / 4);
        loop.verify();
        std::vector<double> rates, ratios;
        for (unsigned i = 0; i < samples; ++i) {
            const auto one = loop.sample(seconds);
            rates.push_back(one.commands_per_s);
            ratios.push_back(one.over_memcpy);
        }
        measured = {median(rates), median(ratios)};
    });
    if (const auto ended = programs.run(); !ended)
        give_up(ended.error());
    return measured;
}

} // namespace

std::string measure_drive(double seconds, unsigned samples) {
    auto text = fmt::format("{:<50} {:>12} {:>12} {:>8}\n", "a drive in memory", "commands/s", "bytes", "/memcpy");
    for (const auto& load : loads) {
        const auto measured = harness::in_process_of_its_own([&] { return measure(load, seconds, samples); });
        if (!measured)
            give_up(fmt::format("'{}' failed", load.text));
        text += fmt::format("{:<50} {:>12.0f} {:>7.2f} GB/s {:>8.3f}\n", load.text, measured->commands_per_s,
                            measured->commands_per_s * static_cast<double>(load.bytes) / 1e9, measured->over_memcpy);
    }
    return text;
}

} // namespace bench
