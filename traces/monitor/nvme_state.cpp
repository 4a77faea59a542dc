#include "traces/monitor/nvme_state.h"

#include "abi/nvme/opcode.h"

#include <algorithm>
#include <cstring>

namespace traces::monitor {

using abi::ConstView;
using abi::nvme::AdminOpcode;

namespace {

constexpr std::uint64_t page_bytes = 4096;
/// More are not followed: a trace may say anything.
constexpr std::size_t most_queues = 4096;

} // namespace

NvmeQueue* NvmeState::find(bool is_completion, std::uint16_t number) {
    const auto found = queues_.find({is_completion, number});
    return found == queues_.end() ? nullptr : &found->second;
}

const NvmeQueue* NvmeState::at_address(std::uint64_t address) const {
    auto place = places_.upper_bound(address);
    if (place == places_.begin())
        return nullptr;
    --place;
    const auto queue = queues_.find(place->second);
    return queue != queues_.end() && address - queue->second.base < queue->second.bytes() ? &queue->second : nullptr;
}

void NvmeState::make(NvmeQueue queue) {
    const Key key{queue.is_completion, queue.number};
    if (queues_.size() >= most_queues || queues_.contains(key))
        return;
    places_[queue.base] = key;
    queues_[key] = queue;
}

void NvmeState::clear(const At& at, const Say& say) {
    for (const auto& [key, queue] : queues_)
        say(NvmeQueueGone{at, key.first, key.second});
    queues_.clear(), places_.clear(), admin_.clear();
    shadow_.reset();
    is_on_ = false;
}

void NvmeState::configure(const At& at, const Say& say) {
    const ConstView<abi::nvme::Registers> registers(registers_);
    const auto cc = registers.get<"cc">();
    std::array<std::byte, 4> raw{};
    abi::store<std::uint32_t, abi::Endian::little>(raw.data(), cc);
    const bool is_enabled = ConstView<abi::nvme::ControllerConfiguration>(raw).get<"en">();
    if (!is_enabled && is_on_)
        clear(at, say);
    // Without these three there is no controller, or its driver began before the trace did.
    if (!is_enabled || is_on_ || registers.get<"asq">() == 0 || registers.get<"acq">() == 0)
        return;
    is_on_ = true;
    make({.is_completion = false, .base = registers.get<"asq">(), .entries = registers.get<"asqs">() + 1u});
    make({.is_completion = true,
          .interrupts = true,
          .base = registers.get<"acq">(),
          .entries = registers.get<"acqs">() + 1u});
}

void NvmeState::software_wrote(const At& at, std::uint64_t offset, Bytes bytes, const Say& say) {
    if (offset < registers_.size()) {
        const auto length = std::min<std::size_t>(bytes.size(), registers_.size() - offset);
        std::memcpy(registers_.data() + offset, bytes.data(), length);
        const auto cc = static_cast<std::uint64_t>(abi::nvme::Register::cc);
        if (offset <= cc && cc < offset + length)
            configure(at, say);
        return;
    }
    if (!is_on_ || offset < abi::nvme::doorbells_offset)
        return;
    const auto stride = std::uint64_t{4} << stride_;
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        const auto place = offset + i - abi::nvme::doorbells_offset;
        if (place % stride == 0)
            doorbell(at, static_cast<std::uint32_t>(place / stride),
                     abi::load<std::uint32_t, abi::Endian::little>(bytes.data() + i), say);
    }
}

void NvmeState::software_read(std::uint64_t offset, Bytes bytes) {
    std::array<std::byte, 8> cap{};
    const auto upper = offset <= 4 && offset + bytes.size() >= 8;
    if (!upper)
        return;
    std::memcpy(cap.data() + 4, bytes.data() + (4 - offset), 4);
    std::array<std::byte, abi::nvme::Registers::size> registers{};
    std::ranges::copy(cap, registers.begin());
    stride_ = static_cast<unsigned>(ConstView<abi::nvme::Registers>(registers).get<"dstrd">());
}

void NvmeState::doorbell(const At& at, std::uint32_t index, std::uint32_t value, const Say& say) {
    const auto* queue = find(index % 2 != 0, static_cast<std::uint16_t>(index / 2));
    if (queue != nullptr && value < queue->entries)
        say(NvmeRung{at, *queue, value});
}

void NvmeState::device_read(const At& at, std::uint64_t address, Bytes bytes, const Say& say) {
    if (!is_on_)
        return;
    if (shadow_ && address >= *shadow_ && address < *shadow_ + page_bytes) {
        const auto stride = std::uint64_t{4} << stride_;
        for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4)
            if ((address + i - *shadow_) % stride == 0)
                doorbell(at, static_cast<std::uint32_t>((address + i - *shadow_) / stride),
                         abi::load<std::uint32_t, abi::Endian::little>(bytes.data() + i), say);
        return;
    }
    if (const auto* queue = at_address(address); queue != nullptr && !queue->is_completion)
        fetched(at, *queue, address - queue->base, bytes, say);
}

void NvmeState::fetched(const At& at, const NvmeQueue& queue, std::uint64_t offset, Bytes bytes, const Say& say) {
    if (offset % abi::nvme::command_bytes != 0)
        return;
    for (std::size_t i = 0; i + abi::nvme::command_bytes <= bytes.size(); i += abi::nvme::command_bytes) {
        const auto entry = bytes.subspan(i, abi::nvme::command_bytes);
        const ConstView<abi::nvme::Command> command(entry);
        if (queue.number == 0)
            std::ranges::copy(entry, admin_[command.get<"cid">()].begin());
        say(NvmeFetched{at, queue, static_cast<std::uint32_t>((offset + i) / abi::nvme::command_bytes), command});
    }
}

void NvmeState::device_wrote(const At& at, std::uint64_t address, Bytes bytes, const Say& say) {
    if (!is_on_)
        return;
    if (const auto* queue = at_address(address); queue != nullptr && queue->is_completion)
        completed(at, *queue, address - queue->base, bytes, say);
}

void NvmeState::completed(const At& at, const NvmeQueue& queue, std::uint64_t offset, Bytes bytes, const Say& say) {
    constexpr auto size = abi::nvme::Completion::size;
    if (offset % size != 0)
        return;
    for (std::size_t i = 0; i + size <= bytes.size(); i += size) {
        const ConstView<abi::nvme::Completion> entry(bytes.subspan(i, size));
        const auto* submissions = find(false, entry.get<"sqid">());
        say(NvmeCompleted{at, queue, static_cast<std::uint32_t>((offset + i) / size), entry, submissions});
        if (queue.number != 0 || entry.get<"sqid">() != 0)
            continue;
        const auto command = admin_.extract(entry.get<"cid">());
        if (!command.empty() && entry.get<"status">() == abi::nvme::Status::success)
            apply(at, command.mapped(), say);
    }
}

void NvmeState::apply(const At& at, Bytes bytes, const Say& say) {
    const auto remove = [&](bool is_completion) {
        const auto number = static_cast<std::uint16_t>(ConstView<abi::nvme::DeleteQueue>(bytes).get<"qid">());
        const auto found = queues_.find({is_completion, number});
        if (found == queues_.end() || number == 0)
            return;
        places_.erase(found->second.base);
        queues_.erase(found);
        say(NvmeQueueGone{at, is_completion, number});
    };
    switch (static_cast<AdminOpcode>(ConstView<abi::nvme::Command>(bytes).get<"opcode">())) {
    case AdminOpcode::create_cq: {
        const ConstView<abi::nvme::CreateCq> create(bytes);
        if (create.get<"pc">())
            make({.number = static_cast<std::uint16_t>(create.get<"qid">()),
                  .is_completion = true,
                  .interrupts = create.get<"ien">(),
                  .vector = create.get<"iv">(),
                  .base = create.get<"prp1">(),
                  .entries = create.get<"qsize">() + 1u});
        return;
    }
    case AdminOpcode::create_sq: {
        const ConstView<abi::nvme::CreateSq> create(bytes);
        if (create.get<"pc">())
            make({.number = static_cast<std::uint16_t>(create.get<"qid">()),
                  .is_completion = false,
                  .base = create.get<"prp1">(),
                  .entries = create.get<"qsize">() + 1u});
        return;
    }
    case AdminOpcode::delete_sq: return remove(false);
    case AdminOpcode::delete_cq: return remove(true);
    case AdminOpcode::doorbell_buffer_config: shadow_ = ConstView<abi::nvme::Command>(bytes).get<"prp1">(); return;
    default: return;
    }
}

bool NvmeState::knows_queues_of(std::uint16_t vector) const {
    return std::ranges::any_of(queues_, [&](const auto& one) {
        return one.second.is_completion && one.second.interrupts && one.second.vector == vector;
    });
}

} // namespace traces::monitor
