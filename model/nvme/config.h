// What an NVMe controller is made of: sizes, limits, latencies. Identify and the registers say the same.
#pragma once

#include "model/nvme/flash/config.h"
#include "model/nvme/io/io_config.h"
#include "model/nvme/blocks/config.h"
#include "model/pcie/setting.h"

#include <cstdint>
#include <string>
#include <vector>

namespace model::nvme {

struct NvmeConfig {
    bool timed = true;
    std::uint16_t vendor_id = 0x1234, device_id = 0xc0b2; ///< of no drive that Linux has quirks for
    std::string serial = "HCASIM0001", model = "hcasim NVMe drive", firmware = "1.0";
    std::string nqn;                                          ///< empty: made of the serial number
    std::uint32_t queue_pairs = 128;                          ///< beside the admin queues
    std::uint32_t queue_entries = 65536;                      ///< of an I/O queue, at most
    std::uint32_t vectors = 129;                              ///< of MSI-X
    std::uint32_t doorbell_stride = 0;                        ///< doorbells stand 4 << stride bytes apart
    std::uint32_t ready_timeout = 0x28;                       ///< CAP.TO, units of 500 ms
    std::uint32_t event_requests = 4;                         ///< AERL + 1
    std::uint32_t error_entries = 64;                         ///< ELPE + 1
    std::uint32_t outstanding = 1024;                         ///< I/O commands that are fetched and not completed
    std::uint64_t memory_buffer = 0;                          ///< CMB, in BAR 2; 0: none
    std::uint32_t memory_buffer_uses = 31;                    ///< bits of abi::nvme::MemoryUse
    bool has_shadow_doorbells = true;                         ///< Doorbell Buffer Config
    bool has_weighted_round_robin = true;                     ///< CAP.AMS
    bool has_sgl = true;                                      ///< SGLS
    std::uint16_t temperature = 313;                          ///< kelvin
    port::Time fetch_latency = std::chrono::nanoseconds{300}; ///< from a doorbell to the read of the entry
    std::uint32_t processors = 2;                             ///< of the controller; each begins one command at a time
    port::Time command_latency =
        std::chrono::nanoseconds{700}; ///< of a processor, from the entry to the begin of its work
    port::Time ready_latency = std::chrono::microseconds{100}; ///< from CC.EN to CSTS.RDY
    port::Time self_test_time = std::chrono::milliseconds{10}; ///< of a short one; an extended one takes ten times that
    port::Time sanitize_time = std::chrono::milliseconds{10};
    FlashConfig flash;
    IoConfig io;
    SpaceConfig space;

    std::vector<pcie::Setting> settings();
    /// But for the function that makes media, which cannot be compared.
    bool operator==(const NvmeConfig& other) const;
};

} // namespace model::nvme
