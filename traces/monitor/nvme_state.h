// One NVMe function of a recorded device: whether its driver has switched it on, the queues that commands have made,
// and where these live. A function is taken for an NVMe controller when its driver has written the three admin queue
// registers and enabled it: nobody writes to these places of an HCA's BAR.
#pragma once

#include "abi/nvme/registers.h"
#include "traces/monitor/facts.h"

#include <array>
#include <functional>
#include <map>
#include <optional>

namespace traces::monitor {

class NvmeState {
public:
    using Say = std::function<void(Fact)>;

    bool is_on() const { return is_on_; }
    /// A store of software to BAR 0.
    void software_wrote(const At& at, std::uint64_t offset, Bytes bytes, const Say& say);
    /// What software has loaded from BAR 0.
    void software_read(std::uint64_t offset, Bytes bytes);
    void device_read(const At& at, std::uint64_t address, Bytes bytes, const Say& say);
    void device_wrote(const At& at, std::uint64_t address, Bytes bytes, const Say& say);
    /// The controller is off: no queue is there.
    void clear(const At& at, const Say& say);
    /// Each completion queue with this vector is known; there is one, and it interrupts.
    bool knows_queues_of(std::uint16_t vector) const;

private:
    using Key = std::pair<bool, std::uint16_t>; ///< whether it is of completions, and its number
    using CommandBytes = std::array<std::byte, abi::nvme::command_bytes>;

    void configure(const At& at, const Say& say);
    void doorbell(const At& at, std::uint32_t index, std::uint32_t value, const Say& say);
    void make(NvmeQueue queue);
    void fetched(const At& at, const NvmeQueue& queue, std::uint64_t offset, Bytes bytes, const Say& say);
    void completed(const At& at, const NvmeQueue& queue, std::uint64_t offset, Bytes bytes, const Say& say);
    /// An admin command has succeeded.
    void apply(const At& at, Bytes command, const Say& say);
    NvmeQueue* find(bool is_completion, std::uint16_t number);
    /// The queue whose memory has this address.
    const NvmeQueue* at_address(std::uint64_t address) const;

    std::array<std::byte, abi::nvme::Registers::size> registers_{}; ///< as software has written them
    bool is_on_ = false;
    unsigned stride_ = 0;
    std::map<Key, NvmeQueue> queues_;
    std::map<std::uint64_t, Key> places_;         ///< by their first byte
    std::map<std::uint16_t, CommandBytes> admin_; ///< under way, by identifier
    std::optional<std::uint64_t> shadow_;         ///< doorbells in memory: a page
};

} // namespace traces::monitor
