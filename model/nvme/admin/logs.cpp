// Get Log Page. NVMe base 2.0 "Get Log Page command", "Log pages".
#include "model/nvme/admin/admin.h"

#include <algorithm>

namespace model::nvme {

using abi::nvme::LogPage;
using port::Time;
using LogRows = abi::nvme::GetLogPage;

namespace {
/// Pages that there are; the log of supported pages is made of them.
constexpr std::array pages{LogPage::supported,
                           LogPage::error,
                           LogPage::smart,
                           LogPage::firmware_slot,
                           LogPage::changed_namespaces,
                           LogPage::command_effects,
                           LogPage::self_test,
                           LogPage::telemetry_host,
                           LogPage::telemetry_controller,
                           LogPage::sanitize};
constexpr std::size_t telemetry_block = 512;
} // namespace

/// Makes the whole page in page_, and changes nothing else: the command may still be refused.
Refusal Admin::fill_log(Command command, Time at) {
    const abi::ConstView<LogRows> fields(std::span<const std::byte>(command.bytes()));
    const auto page = static_cast<LogPage>(fields.get<"lid">());
    const auto set_effect = [&](std::size_t offset, std::size_t opcode, std::uint32_t effect) {
        abi::store<std::uint32_t, abi::Endian::little>(page_.data() + offset + 4 * opcode, effect);
    };
    switch (page) {
    case LogPage::supported:
        page_.assign(1024, std::byte{});
        for (const auto supported : pages)
            set_effect(0, static_cast<std::size_t>(supported), 1);
        return {};
    case LogPage::error:
        page_.assign(config_.error_entries * abi::nvme::ErrorEntry::size, std::byte{});
        health_.fill_errors(page_);
        return {};
    case LogPage::smart: {
        const auto nsid = command.get<"nsid">();
        if (nsid != 0 && nsid != abi::nvme::all_namespaces) // LPA bit 0: there is one for all of them only
            return refuse(spaces_.is_valid(nsid) ? Status::invalid_field : Status::invalid_namespace,
                          parameter_of<abi::nvme::Command, "nsid">());
        page_.assign(abi::nvme::SmartLog::size, std::byte{});
        health_.fill_smart(abi::View<abi::nvme::SmartLog>(std::span(page_)), at);
        return {};
    }
    case LogPage::firmware_slot: {
        page_.assign(abi::nvme::FirmwareSlotLog::size, std::byte{});
        page_[0] = std::byte{1};
        std::ranges::fill_n(page_.begin() + 8, 8, std::byte{' '});
        for (std::size_t i = 0; i < std::min<std::size_t>(8, config_.firmware.size()); ++i)
            page_[8 + i] = static_cast<std::byte>(config_.firmware[i]);
        return {};
    }
    case LogPage::changed_namespaces: {
        page_.assign(4096, std::byte{});
        const auto& changed = spaces_.changed();
        if (changed.size() > 1024)
            set_effect(0, 0, 0xffff'ffff);
        else
            for (std::size_t i = 0; i < changed.size(); ++i)
                set_effect(0, i, changed[i]);
        return {};
    }
    case LogPage::self_test:
        page_.assign(abi::nvme::SelfTestLog::size, std::byte{});
        background_.fill_self_test(page_, at);
        return {};
    case LogPage::sanitize:
        page_.assign(abi::nvme::SanitizeLog::size, std::byte{});
        background_.fill_sanitize(page_, at);
        return {};
    case LogPage::telemetry_host:
    case LogPage::telemetry_controller: {
        const auto length = ((std::uint64_t{fields.get<"numdu">()} << 16 | fields.get<"numdl">()) + 1) * 4;
        if (fields.get<"lpo">() % telemetry_block != 0)
            return refuse(Status::invalid_field, parameter_of<LogRows, "lpo">());
        if (length % telemetry_block != 0)
            return refuse(Status::invalid_field, parameter_of<LogRows, "numdl">());
        if (page == LogPage::telemetry_controller)
            fill_telemetry(page, {});
        else if (fields.get<"lsp">() & 1) // create: what there is now is what is read from now on
            fill_telemetry(page, capture(at));
        else
            fill_telemetry(page, telemetry_);
        return {};
    }
    case LogPage::command_effects: {
        if (fields.get<"csi">() != 0)
            return refuse(Status::invalid_field, parameter_of<LogRows, "csi">());
        page_.assign(abi::nvme::effects_bytes, std::byte{});
        using abi::nvme::AdminOpcode;
        using abi::nvme::IoOpcode;
        for (const auto& row : rows)
            if ((row.option & ~options()) == 0)
                set_effect(0, static_cast<std::size_t>(row.opcode), 1);
        // Bit 1: contents of blocks, 2: capabilities of a namespace, 3: which there are; 18:16: what else may run.
        set_effect(0, static_cast<std::size_t>(AdminOpcode::format_nvm), 0x2'0007);
        set_effect(0, static_cast<std::size_t>(AdminOpcode::sanitize), 0x2'0003);
        set_effect(0, static_cast<std::size_t>(AdminOpcode::namespace_management), 0x9);
        set_effect(0, static_cast<std::size_t>(AdminOpcode::namespace_attachment), 0x9);
        const auto& io = config_.io;
        const auto set_io = [&](IoOpcode opcode, bool is_there, bool is_write) {
            if (is_there)
                set_effect(abi::nvme::io_effects_offset, static_cast<std::size_t>(opcode), is_write ? 3 : 1);
        };
        set_io(IoOpcode::flush, true, false), set_io(IoOpcode::write, true, true);
        set_io(IoOpcode::read, true, false), set_io(IoOpcode::compare, io.has_compare, false);
        set_io(IoOpcode::write_uncorrectable, io.has_write_uncorrectable, true);
        set_io(IoOpcode::write_zeroes, io.has_write_zeroes, true);
        set_io(IoOpcode::dataset_management, io.has_dataset_management, true);
        set_io(IoOpcode::verify, io.has_verify, false), set_io(IoOpcode::copy, io.has_copy, true);
        return {};
    }
    default: return refuse(Status::invalid_log_page, parameter_of<LogRows, "lid">());
    }
}

/// The counters as they are now, and how many captures there are with this one.
Admin::Capture Admin::capture(Time at) const {
    Capture made{std::vector<std::byte>(telemetry_block), static_cast<std::uint8_t>(telemetry_.number + 1)};
    health_.fill_smart(abi::View<abi::nvme::SmartLog>(std::span(made.data)), at);
    return made;
}

/// One area of data, with the counters of the capture. The controller itself never sees a reason to make one.
void Admin::fill_telemetry(LogPage page, const Capture& capture) {
    page_.assign(abi::nvme::TelemetryLog::size + capture.data.size(), std::byte{});
    std::ranges::copy(capture.data, page_.begin() + abi::nvme::TelemetryLog::size);
    const auto blocks = static_cast<std::uint16_t>(capture.data.size() / telemetry_block);
    const abi::View<abi::nvme::TelemetryLog> log{std::span(page_).first(abi::nvme::TelemetryLog::size)};
    log.set<"lpi">(static_cast<std::uint8_t>(page))
        .set<"dalb1">(blocks)
        .set<"dalb2">(blocks)
        .set<"dalb3">(blocks)
        .set<"hostdgn">(capture.number);
}

/// The host has the page: what waits for that, happens. A capture is made whether or not events are retained.
void Admin::log_was_read(abi::ConstView<LogRows> fields, Time at) {
    const auto page = static_cast<LogPage>(fields.get<"lid">());
    if (page == LogPage::telemetry_host && (fields.get<"lsp">() & 1) != 0)
        telemetry_ = capture(at);
    if (fields.get<"rae">())
        return;
    if (page == LogPage::changed_namespaces)
        spaces_.clear_changed();
    events_.log_was_read(page);
}

Outcome Admin::get_log_page(Command command, Time at) {
    const abi::ConstView<LogRows> fields(std::span<const std::byte>(command.bytes()));
    const auto length = ((std::uint64_t{fields.get<"numdu">()} << 16 | fields.get<"numdl">()) + 1) * 4;
    const auto offset = fields.get<"lpo">();
    constexpr std::uint64_t most = 64 << 20; // where MDTS sets no limit: no log page is as long
    if (length > (config_.io.max_transfer_bytes != 0 ? config_.io.max_transfer_bytes : most))
        return end(refuse(Status::invalid_field, parameter_of<LogRows, "numdl">()), at);
    if (offset % 4 != 0 || fields.get<"ot">())
        return end(refuse(Status::invalid_field, parameter_of<LogRows, "lpo">()), at);
    if (const auto refusal = fill_log(command, at); !refusal.is_ok())
        return end(refusal, at);
    if (offset > page_.size())
        return end(refuse(Status::invalid_field, parameter_of<LogRows, "lpo">()), at);
    page_.erase(page_.begin(), page_.begin() + static_cast<std::ptrdiff_t>(offset));
    page_.resize(length); // behind the end of a page there are zeroes: the host's buffer is written in any case
    const auto outcome = send(command, page_, at);
    if (outcome.is_ok()) // one that is refused changes nothing
        log_was_read(fields, at);
    return outcome;
}

} // namespace model::nvme
