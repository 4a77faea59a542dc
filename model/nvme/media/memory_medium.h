// A medium of RAM: what is written is there, and no loss of power is simulated. Untouched bytes cost nothing.
#pragma once

#include "model/memory/sparse_memory.h"
#include "model/nvme/media/medium.h"

#include <string>

namespace model::nvme {

class MemoryMedium final : public Medium {
public:
    /// Throws std::system_error where the machine cannot map so much.
    MemoryMedium(const std::string& name, std::uint64_t bytes);

    std::uint64_t size() const override { return memory_.size(); }
    MediumResult read(std::uint64_t offset, std::span<std::byte> into, port::Time at) override;
    View view(std::uint64_t offset, std::uint64_t length, port::Time at) override;
    MediumResult write(std::uint64_t offset, Pieces from, Durability durability, port::Time at) override;
    MediumResult discard(std::uint64_t offset, std::uint64_t length, Durability durability, port::Time at) override;
    MediumResult flush(port::Time at) override { return {.done = at}; }
    std::optional<Extent> next_data(std::uint64_t offset) const override;

private:
    memory::SparseMemory memory_;
};

} // namespace model::nvme
