// What the controller has counted of itself: the SMART log, and the log of errors. NVMe base 2.0 "Error Information",
// "SMART / Health Information".
#pragma once

#include "abi/nvme/log.h"
#include "model/nvme/io/outcome.h"

#include <cstdint>
#include <deque>
#include <span>

namespace model::nvme {

class Health {
public:
    explicit Health(std::uint32_t error_entries, std::uint16_t temperature)
        : most_errors_(error_entries), temperature_(temperature) {}

    struct Failure {
        std::uint16_t sqid = 0, cid = 0;
        std::uint32_t nsid = 0;
        std::uint8_t opcode = 0;
    };
    void note(const Failure& failure, const Outcome& outcome) {
        ++error_count_;
        if (abi::nvme::type_of(outcome.status) == abi::nvme::StatusType::media)
            ++media_errors_;
        if (errors_.size() == most_errors_)
            errors_.pop_back();
        abi::Block<abi::nvme::ErrorEntry> entry;
        entry.view()
            .set<"count">(error_count_)
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
    /// A bit of "Critical Warning". Returns what it was.
    bool set_warning(std::uint32_t bit, bool is_on) {
        const bool was_on = (warnings_ & bit) != 0;
        warnings_ = is_on ? warnings_ | bit : warnings_ & ~bit;
        return was_on;
    }
    void has_read(std::uint64_t bytes) { ++reads_, bytes_read_ += bytes; }
    void has_written(std::uint64_t bytes) { ++writes_, bytes_written_ += bytes; }

    void fill_errors(std::span<std::byte> page) const {
        for (std::size_t at = 0; const auto& entry : errors_) {
            if (at + entry.bytes.size() > page.size())
                return;
            std::ranges::copy(entry.bytes, page.begin() + static_cast<std::ptrdiff_t>(at));
            at += entry.bytes.size();
        }
    }
    void fill_smart(abi::View<abi::nvme::SmartLog> log) const {
        constexpr std::uint64_t unit = 512'000; // NVMe base 2.0 "Data Units Read": thousands of 512 bytes, rounded up
        log.set<"critical_warning">(static_cast<std::uint8_t>(warnings_))
            .set<"temperature">(temperature_)
            .set<"avail_spare">(100)
            .set<"spare_thresh">(10)
            .set<"data_units_read">((bytes_read_ + unit - 1) / unit)
            .set<"data_units_written">((bytes_written_ + unit - 1) / unit)
            .set<"host_reads">(reads_)
            .set<"host_writes">(writes_)
            .set<"power_cycles">(1)
            .set<"media_errors">(media_errors_)
            .set<"num_err_log_entries">(error_count_)
            .set<"temp_sensor0">(temperature_);
    }

private:
    std::size_t most_errors_;
    std::uint16_t temperature_;
    std::uint32_t warnings_ = 0;
    std::uint64_t error_count_ = 0, media_errors_ = 0, reads_ = 0, writes_ = 0, bytes_read_ = 0, bytes_written_ = 0;
    std::deque<abi::Block<abi::nvme::ErrorEntry>> errors_; ///< the newest first
};

} // namespace model::nvme
