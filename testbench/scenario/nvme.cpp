#include "testbench/scenario/nvme.h"

#include "sw/nvme/namespace.h"
#include "testbench/scenario/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

namespace scenario {

using sw::failure;
using sw::nvme::Blocks;
using sw::nvme::Completion;
using sw::nvme::Controller;
using sw::nvme::Namespace;
using sw::nvme::QueuePair;
using sw::nvme::Segment;
using namespace std::chrono_literals;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

constexpr std::uint64_t small_bytes = 4096;
constexpr std::chrono::nanoseconds patience = 10s;

/// What a pass moves: as many pieces as there are, each a command.
struct Pass {
    std::uint64_t pieces = 0;
    /// Where piece `number` is on the drive.
    std::function<Blocks(std::uint64_t number)> where;
    bool is_write = false;
    /// Fills what is written, or takes what was read, in the order of the pieces. May fail.
    std::function<sw::Result<void>(std::uint64_t number, std::span<std::byte> bytes)> use;
};

class DriveUser {
public:
    DriveUser(Controller& controller, const NvmeOptions& options, Namespace space, NvmeReport& report)
        : controller_(controller), options_(options), space_(space), report_(report) {}
    sw::Result<void> open();
    sw::Result<void> run();
    sw::Result<void> close();

private:
    /// Memory for one piece, and the command that has it.
    struct Slot {
        sw::memory::Buffer memory;
        bool is_under_way = false;
    };
    sw::Result<void> carry_out(const Pass& pass, NvmeStep& step);
    sw::Result<void> begin(const Pass& pass, std::uint64_t number, NvmeStep& step);
    sw::Result<void> wait_for(std::uint64_t number, NvmeStep& step);
    sw::Result<void> write_payload(NvmeStep& step);
    sw::Result<void> flush(NvmeStep& step);
    sw::Result<void> read_payload(NvmeStep& step);
    sw::Result<void> read_at_random(NvmeStep& step);
    /// Of the payload; what the last piece has behind it is zero.
    sw::Result<void> fill(std::uint64_t offset, std::span<std::byte> into) const;
    std::uint64_t pieces() const { return (options_.payload.size() + piece_ - 1) / piece_; }
    std::uint64_t used(std::uint64_t number) const {
        return std::min(piece_, options_.payload.size() - number * piece_);
    }
    Blocks blocks_of(std::uint64_t offset, std::uint64_t bytes) const {
        const auto block = space_.block_bytes();
        return {offset / block, (bytes + block - 1) / block};
    }

    Controller& controller_;
    const NvmeOptions& options_;
    Namespace space_;
    NvmeReport& report_;
    std::uint64_t piece_ = 0;
    std::vector<std::unique_ptr<QueuePair>> queues_;
    std::vector<Slot> slots_;                               ///< piece n has slot n modulo their count
    std::vector<std::vector<std::size_t>> slot_of_command_; ///< by queue and identifier
};

sw::Result<void> DriveUser::open() {
    piece_ = options_.command_bytes;
    if (const auto most = controller_.facts().largest_transfer; most != 0)
        piece_ = std::min(piece_, most);
    piece_ = std::max<std::uint64_t>(piece_ / small_bytes, 1) * small_bytes;
    if (options_.payload.size() > space_.blocks() * space_.block_bytes())
        return failure(ENOSPC, fmt::format("the payload of {} bytes does not fit into a namespace of {}",
                                           options_.payload.size(), space_.blocks() * space_.block_bytes()));
    for (unsigned i = 0; i < std::min(options_.queue_pairs, controller_.queue_pairs()); ++i) {
        auto queue = controller_.create_queue_pair({.entries = options_.queue_depth + 1,
                                                    .vector = static_cast<std::uint16_t>(i + 1),
                                                    .largest_transfer = piece_});
        if (!queue)
            return std::unexpected(queue.error());
        slot_of_command_.emplace_back((*queue)->entries());
        queues_.push_back(std::move(*queue));
    }
    for (const auto& queue : queues_)
        for (std::size_t i = 0; i < queue->room(); ++i) {
            auto memory = sw::memory::Buffer::allocate(controller_.transport(), piece_);
            if (!memory)
                return std::unexpected(memory.error());
            slots_.push_back({.memory = std::move(*memory)});
        }
    return {};
}

sw::Result<void> DriveUser::fill(std::uint64_t offset, std::span<std::byte> into) const {
    const auto there = std::min<std::uint64_t>(into.size(), options_.payload.size() - offset);
    if (const auto read = options_.payload.read(offset, into.first(there)); !read)
        return failure(EIO, read.error());
    std::ranges::fill(into.subspan(there), std::byte{});
    return {};
}

sw::Result<void> DriveUser::begin(const Pass& pass, std::uint64_t number, NvmeStep& step) {
    auto& slot = slots_[number % slots_.size()];
    const auto blocks = pass.where(number);
    const auto bytes = blocks.count * space_.block_bytes();
    if (pass.is_write)
        TRY(pass.use(number, slot.memory.bytes().first(bytes)));
    auto command = pass.is_write ? space_.write(blocks) : space_.read(blocks);
    auto& queue = *queues_[number % queues_.size()];
    const std::array data{Segment{slot.memory.bus(), bytes}};
    const auto id = queue.submit(command, data);
    if (!id)
        return std::unexpected(id.error());
    queue.ring();
    slot_of_command_[number % queues_.size()][*id] = number % slots_.size();
    slot.is_under_way = true;
    ++step.commands;
    step.bytes += bytes;
    return {};
}

sw::Result<void> DriveUser::wait_for(std::uint64_t number, NvmeStep& step) {
    const auto& slot = slots_[number % slots_.size()];
    const auto own = number % queues_.size();
    for (const auto deadline = controller_.transport().now() + patience; slot.is_under_way;) {
        std::array<Completion, 16> found;
        const auto count = queues_[own]->wait(found, deadline - controller_.transport().now());
        if (count == 0)
            return failure(ETIMEDOUT, fmt::format("{}: a command has not ended", step.name));
        for (const auto& completion : std::span(found).first(count)) {
            slots_[slot_of_command_[own][completion.id]].is_under_way = false;
            step.errors += !completion.is_ok();
            if (!completion.is_ok())
                return failure(EIO, fmt::format("{}: {}", step.name, sw::nvme::describe(completion)));
        }
    }
    return {};
}

/// A window of pieces under way moves over all of them, so that each is used in its order.
sw::Result<void> DriveUser::carry_out(const Pass& pass, NvmeStep& step) {
    const auto begun = controller_.transport().now();
    std::uint64_t total = 0, moved = 0;
    for (std::uint64_t number = 0; number < pass.pieces; ++number)
        total += pass.where(number).count * space_.block_bytes();
    for (std::uint64_t next = 0, done = 0; done < pass.pieces; ++done) {
        for (; next < pass.pieces && next < done + slots_.size(); ++next)
            TRY(begin(pass, next, step));
        TRY(wait_for(done, step));
        const auto bytes = pass.where(done).count * space_.block_bytes();
        if (!pass.is_write)
            TRY(pass.use(done, slots_[done % slots_.size()].memory.bytes().first(bytes)));
        if (options_.progress)
            options_.progress(step.name, moved += bytes, total);
    }
    step.took = controller_.transport().now() - begun;
    return {};
}

sw::Result<void> DriveUser::write_payload(NvmeStep& step) {
    Sha256 digest;
    const Pass pass{.pieces = pieces(),
                    .where = [&](std::uint64_t number) { return blocks_of(number * piece_, used(number)); },
                    .is_write = true,
                    .use = [&](std::uint64_t number, std::span<std::byte> bytes) -> sw::Result<void> {
                        TRY(fill(number * piece_, bytes));
                        digest.add(bytes.first(used(number)));
                        return {};
                    }};
    TRY(carry_out(pass, step));
    step.sha256 = report_.source_sha256 = digest.finish();
    step.is_verified = true;
    return {};
}

sw::Result<void> DriveUser::flush(NvmeStep& step) {
    const auto begun = controller_.transport().now();
    TRY(space_.flush(*queues_.front()));
    step.took = controller_.transport().now() - begun;
    step.commands = 1;
    step.is_verified = true;
    step.sha256 = report_.source_sha256;
    return {};
}

sw::Result<void> DriveUser::read_payload(NvmeStep& step) {
    Sha256 digest;
    const Pass pass{.pieces = pieces(),
                    .where = [&](std::uint64_t number) { return blocks_of(number * piece_, used(number)); },
                    .use = [&](std::uint64_t number, std::span<std::byte> bytes) -> sw::Result<void> {
                        digest.add(bytes.first(used(number)));
                        return {};
                    }};
    TRY(carry_out(pass, step));
    step.sha256 = digest.finish();
    step.is_verified = step.sha256 == report_.source_sha256;
    return {};
}

sw::Result<void> DriveUser::read_at_random(NvmeStep& step) {
    const auto places = options_.payload.size() / small_bytes;
    // A full period over all places, whatever their number (Knuth's multiplier): the same ones in each run.
    const auto place = [places](std::uint64_t number) { return number * 2654435761u % places * small_bytes; };
    std::vector<std::byte> expected(small_bytes);
    bool is_equal = true;
    const Pass pass{.pieces = places == 0 ? 0 : options_.random_reads,
                    .where = [&](std::uint64_t number) { return blocks_of(place(number), small_bytes); },
                    .use = [&](std::uint64_t number, std::span<std::byte> bytes) -> sw::Result<void> {
                        TRY(fill(place(number), expected));
                        is_equal = is_equal && std::ranges::equal(bytes, expected);
                        return {};
                    }};
    TRY(carry_out(pass, step));
    step.is_verified = is_equal;
    step.sha256 = is_equal ? report_.source_sha256 : "";
    return {};
}

sw::Result<void> DriveUser::run() {
    constexpr std::array steps{&DriveUser::write_payload, &DriveUser::flush, &DriveUser::read_payload,
                               &DriveUser::read_at_random};
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (options_.boundary)
            options_.boundary(i, false);
        TRY((this->*steps[i])(report_.steps[i]));
        if (options_.boundary)
            options_.boundary(i, true);
    }
    return {};
}

sw::Result<void> DriveUser::close() {
    for (auto& queue : queues_) {
        report_.register_writes += queue->register_writes();
        TRY(controller_.destroy(std::move(queue)));
    }
    queues_.clear();
    return {};
}

} // namespace

sw::Result<void> use_drive(sw::transport::Transport& function, const NvmeOptions& options, NvmeReport& report) {
    auto opened = Controller::open(function, {.queue_pairs = options.queue_pairs, .shadow_doorbells = true});
    if (!opened)
        return std::unexpected(opened.error());
    auto& controller = **opened;
    const auto numbers = controller.active_namespaces();
    if (!numbers)
        return std::unexpected(numbers.error());
    if (numbers->empty())
        return failure(ENODEV, "the drive has no namespace");
    auto space = Namespace::open(controller, numbers->front());
    if (!space)
        return std::unexpected(space.error());
    DriveUser user(controller, options, *space, report);
    auto done = user.open();
    if (done)
        done = user.run();
    if (done)
        done = user.close();
    // Before the memory of what may still be under way is released.
    const auto closed = controller.close();
    return done ? closed : done;
}

} // namespace scenario
