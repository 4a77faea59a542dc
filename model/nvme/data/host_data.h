// Moves the data of commands between the controller and the host, after a walk of the data pointer. What comes from the
// host is lent where it is plain memory, so that it is copied once, into the medium, and only when all of it is there:
// a transfer that fails half-way has changed nothing.
#pragma once

#include "model/nvme/data/data_walker.h"

namespace model::nvme {

class HostData {
public:
    explicit HostData(port::Dma& dma) : dma_(dma), walker_(dma) {}

    void set_rules(const DataRules& rules) { walker_.set_rules(rules); }
    DataWalker& walker() { return walker_; }

    /// The bytes of `ranges`, in place where possible. `pieces` are valid until the next call, and until the host may
    /// run again. `at` moves to when the last byte was there.
    Refusal gather(const BusRanges& ranges, std::vector<std::span<const std::byte>>& pieces, port::Time& at);
    /// A copy of the bytes of `ranges`, which the host cannot change under the controller's hands.
    Refusal fetch(const BusRanges& ranges, std::span<std::byte> into, port::Time& at);
    /// Writes `from` to `ranges`, which have as many bytes; bit buckets take theirs.
    Refusal scatter(const BusRanges& ranges, std::span<const std::byte> from, port::Time& at);

    /// Data of an admin command to the host, and from it. Such a command has PRPs (NVMe over PCIe transport 1.0).
    Refusal send(const DataPointer& pointer, std::span<const std::byte> from, port::Time& at);
    Refusal receive(const DataPointer& pointer, std::span<std::byte> into, port::Time& at);

private:
    port::Dma& dma_;
    DataWalker walker_;
    BusRanges ranges_;
    std::vector<std::byte> staged_;
};

} // namespace model::nvme
