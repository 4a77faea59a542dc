// What the controller has counted of itself: the SMART log, and the log of errors. NVMe base 2.0 "Error Information",
// "SMART / Health Information". Counters are those of the drive's life, which it keeps; entries of the error log go
// with a reset, their numbers go on.
#pragma once

#include "abi/nvme/log.h"
#include "model/nvme/io/outcome.h"
#include "model/nvme/keep/state.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <span>

namespace model::nvme {

class Health {
public:
    Health(std::uint32_t error_entries, std::uint16_t temperature, KeptCounters& counters)
        : most_errors_(error_entries), temperature_(temperature), counters_(counters),
          power_on_before_(counters.power_on_ms) {}

    struct Failure {
        std::uint16_t sqid = 0, cid = 0;
        std::uint32_t nsid = 0;
        std::uint8_t opcode = 0;
    };
    void note(const Failure& failure, const Outcome& outcome) {
        ++counters_.errors;
        if (is_of_integrity(outcome.status))
            ++counters_.media_errors;
        if (errors_.size() == most_errors_)
            errors_.pop_back();
        abi::Block<abi::nvme::ErrorEntry> entry;
        entry.view()
            .set<"count">(counters_.errors)
            .set<"sqid">(failure.sqid)
            .set<"cid">(failure.cid)
            .set<"status">(static_cast<std::uint16_t>(static_cast<unsigned>(outcome.status) << 1 |
                                                      (outcome.dnr ? 1u << 15 : 0u) | 1u << 14))
            .set<"parameter">(outcome.parameter)
            .set<"lba">(outcome.lba)
            .set<"nsid">(failure.nsid)
            .set<"opcode">(failure.opcode)
            .set<"version">(1);
        errors_.push_front(entry);
    }
    /// An error that no command has made.
    void note_no_command() {
        constexpr std::uint16_t none = 0xffff;
        note({.sqid = none, .cid = none}, {});
        errors_.front().view().set<"status">(0).set<"version">(0);
    }
    /// A bit of "Critical Warning".
    void set_warning(std::uint32_t bit, bool is_on) { warnings_ = is_on ? warnings_ | bit : warnings_ & ~bit; }
    void has_read(std::uint64_t bytes) { ++counters_.reads, counters_.bytes_read += bytes; }
    void has_written(std::uint64_t bytes) { ++counters_.writes, counters_.bytes_written += bytes; }
    /// A Controller Level Reset: the log has no entries, and numbers of errors go on.
    void clear_errors() { errors_.clear(); }
    /// How long there was power in the drive's life, up to now.
    std::uint64_t power_on_ms(port::Time now) const {
        const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now);
        return power_on_before_ + static_cast<std::uint64_t>(passed.count());
    }
    std::uint64_t hours(port::Time now) const { return power_on_ms(now) / 3'600'000; }
    /// What is kept of the time that has passed.
    void pass(port::Time now) { counters_.power_on_ms = power_on_ms(now); }
    bool is_shut_down() const { return counters_.is_shut_down; }
    void set_shut_down(bool is_shut_down) { counters_.is_shut_down = is_shut_down; }

    void fill_errors(std::span<std::byte> page) const {
        for (std::size_t at = 0; const auto& entry : errors_) {
            if (at + entry.bytes.size() > page.size())
                return;
            std::ranges::copy(entry.bytes, page.begin() + static_cast<std::ptrdiff_t>(at));
            at += entry.bytes.size();
        }
    }
    void fill_smart(abi::View<abi::nvme::SmartLog> log, port::Time now) const {
        constexpr std::uint64_t unit = 512'000; // NVMe base 2.0 "Data Units Read": thousands of 512 bytes, rounded up
        log.set<"critical_warning">(static_cast<std::uint8_t>(warnings_))
            .set<"temperature">(temperature_)
            .set<"avail_spare">(100)
            .set<"spare_thresh">(10)
            .set<"data_units_read">((counters_.bytes_read + unit - 1) / unit)
            .set<"data_units_written">((counters_.bytes_written + unit - 1) / unit)
            .set<"host_reads">(counters_.reads)
            .set<"host_writes">(counters_.writes)
            .set<"power_cycles">(counters_.power_cycles)
            .set<"power_on_hours">(hours(now))
            .set<"unsafe_shutdowns">(counters_.unsafe_shutdowns)
            .set<"media_errors">(counters_.media_errors)
            .set<"num_err_log_entries">(counters_.errors)
            .set<"temp_sensor0">(temperature_);
    }

private:
    /// "Media and Data Integrity Errors": data that a command has said is other data, or is not there, is none of them.
    static bool is_of_integrity(Status status) {
        return abi::nvme::type_of(status) == abi::nvme::StatusType::media && status != Status::compare_failure &&
               status != Status::access_denied && status != Status::deallocated_block;
    }

    std::size_t most_errors_;
    std::uint16_t temperature_;
    std::uint32_t warnings_ = 0;
    KeptCounters& counters_;
    std::uint64_t power_on_before_;                        ///< in processes before this one
    std::deque<abi::Block<abi::nvme::ErrorEntry>> errors_; ///< the newest first
};

} // namespace model::nvme
