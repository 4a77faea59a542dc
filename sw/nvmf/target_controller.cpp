#include "sw/nvmf/target_controller.h"

#include "sw/nvmf/io_command.h"

#include <algorithm>
#include <bit>

namespace sw::nvmf {

using abi::nvme::AdminOpcode;
using abi::nvme::Cns;
using abi::nvme::ControllerConfiguration;
using abi::nvme::FabricsType;
using abi::nvme::Feature;
using abi::nvme::Register;
using abi::nvme::ShutdownStatus;
using abi::nvme::Status;

namespace {

constexpr std::uint32_t ready_timeout = 10;   // units of 500 ms
constexpr std::uint32_t keep_alive_unit = 10; // KAS: of 100 ms
/// SGLs of any alignment, keyed blocks, and offsets into the capsule.
constexpr std::uint32_t sgl_support = 1, keyed_sgl_support = 1 << 2, offset_sgl_support = 1 << 20;
abi::Block<ControllerConfiguration> fields_of(std::uint32_t value) {
    abi::Block<ControllerConfiguration> block;
    abi::store<std::uint32_t, abi::Endian::little>(block.bytes.data(), value);
    return block;
}

constexpr std::uint32_t offset_of(Register which) { return static_cast<std::uint32_t>(which); }

} // namespace

TargetController::TargetController(nvme::Controller& drive, std::span<const nvme::Namespace> spaces,
                                   const TargetOptions& options, unsigned queues, std::uint16_t id,
                                   const abi::Block<abi::nvme::ConnectData>& host, std::uint32_t keep_alive_ms,
                                   std::chrono::nanoseconds now)
    : drive_(drive), spaces_(spaces), options_(options), queues_(queues), granted_(queues), id_(id), host_(host),
      keep_alive_(std::chrono::milliseconds(keep_alive_ms)), heard_(now) {
    registers_.view()
        .set<"mqes">(static_cast<std::uint16_t>(options.entries - 1))
        .set<"cqr">(true)
        .set<"to">(ready_timeout)
        .set<"css">(1)
        .set<"vs">(drive.facts().version);
}

bool TargetController::is_of(const abi::Block<abi::nvme::ConnectData>& host) const {
    const abi::ConstView<abi::nvme::ConnectData> ours{host_.bytes}, theirs{host.bytes};
    return ours.get<"hostid">() == theirs.get<"hostid">() && ours.get<"hostnqn">() == theirs.get<"hostnqn">();
}

void TargetController::has_shut_down() {
    registers_.view().set<"shst">(static_cast<std::uint32_t>(ShutdownStatus::complete));
}

Answer TargetController::execute(Command command, const AdminData& data) {
    const auto opcode = static_cast<AdminOpcode>(command.get<"opcode">());
    if (opcode == AdminOpcode::fabrics)
        return execute_fabrics(command);
    if (!is_ready())
        return Answer::refuse(Status::command_sequence_error);
    switch (opcode) {
    case AdminOpcode::identify: return identify(command, data);
    case AdminOpcode::get_log_page: {
        const abi::ConstView<abi::nvme::GetLogPage> log(command.bytes());
        return forward(command, data, 4 * ((std::uint64_t{log.get<"numdu">()} << 16 | log.get<"numdl">()) + 1));
    }
    case AdminOpcode::set_features: return set_features(command);
    case AdminOpcode::get_features: return get_features(command);
    case AdminOpcode::keep_alive: return {};
    case AdminOpcode::abort: return {.dw0 = 1}; // not aborted: it ends by itself, and soon
    case AdminOpcode::async_event_request:
        if (event_requests_ == most_event_requests)
            return Answer::refuse(Status::event_limit_exceeded);
        ++event_requests_;
        return {.is_parked = true};
    default: return Answer::refuse(Status::invalid_opcode);
    }
}

Answer TargetController::execute_fabrics(Command command) {
    switch (static_cast<FabricsType>(abi::ConstView<abi::nvme::FabricsCommand>(command.bytes()).get<"fctype">())) {
    case FabricsType::property_get: return get_property(command);
    case FabricsType::property_set: return set_property(command);
    default: return Answer::refuse(Status::invalid_opcode);
    }
}

Answer TargetController::get_property(Command command) {
    const abi::ConstView<abi::nvme::PropertyGet> get(command.bytes());
    const auto offset = get.get<"ofst">();
    const bool is_wide = get.get<"size">() == 1;
    const auto has = [&](Register which, bool wide) { return offset == offset_of(which) && is_wide == wide; };
    if (get.get<"size">() > 1 || (!has(Register::cap, true) && !has(Register::vs, false) && !has(Register::cc, false) &&
                                  !has(Register::csts, false)))
        return Answer::refuse(Status::invalid_field);
    const auto word = [&](std::uint32_t at) {
        return abi::load<std::uint32_t, abi::Endian::little>(registers_.bytes.data() + at);
    };
    return {.dw0 = word(offset), .dw1 = is_wide ? word(offset + 4) : 0};
}

Answer TargetController::set_property(Command command) {
    const abi::ConstView<abi::nvme::PropertySet> set(command.bytes());
    if (set.get<"size">() != 0 || set.get<"ofst">() != offset_of(Register::cc))
        return Answer::refuse(Status::invalid_field);
    configure(static_cast<std::uint32_t>(set.get<"value">()));
    return {};
}

void TargetController::configure(std::uint32_t value) {
    auto registers = registers_.view();
    const auto before = fields_of(registers.get<"cc">()), after = fields_of(value);
    registers.set<"cc">(value);
    if (!before.view().get<"en">() && after.view().get<"en">()) {
        const bool can_start = after.view().get<"css">() == 0 && after.view().get<"mps">() == 0;
        registers.set<"rdy">(can_start).set<"cfs">(!can_start);
    }
    if (before.view().get<"en">() && !after.view().get<"en">()) {
        registers.set<"rdy">(false).set<"cfs">(false).set<"shst">(0);
        event_requests_ = 0, events_ = 0, granted_ = queues_;
        is_reset_ = true;
    }
    if (after.view().get<"shn">() != 0 && before.view().get<"shn">() == 0)
        is_shutting_down_ = true;
}

Answer TargetController::identify(Command command, const AdminData& data) {
    if (data.bytes.size() < abi::nvme::identify_bytes)
        return Answer::refuse(Status::invalid_data_sgl_length);
    const auto page = data.bytes.first(abi::nvme::identify_bytes);
    const abi::ConstView<abi::nvme::Identify> fields(command.bytes());
    const auto cns = static_cast<Cns>(fields.get<"cns">());
    if (cns == Cns::active_namespaces) {
        // Only those that this target carries: with metadata it carries none.
        std::ranges::fill(page, std::byte{});
        std::size_t at = 0;
        for (const auto& space : spaces_)
            if (space.number() > command.get<"nsid">() && at < page.size()) {
                abi::store<std::uint32_t, abi::Endian::little>(page.data() + at, space.number());
                at += 4;
            }
        return {.bytes = abi::nvme::identify_bytes};
    }
    auto answer = forward(command, data, abi::nvme::identify_bytes);
    if (cns == Cns::controller && answer.bytes != 0)
        describe_controller(page);
    return answer;
}

/// The drive's page, as the host has it: without what belongs to PCIe or is not passed on.
void TargetController::describe_controller(std::span<std::byte> page) const {
    const abi::View<abi::nvme::IdentifyController> said(page);
    std::array<std::byte, 256> name{};
    std::ranges::copy(std::as_bytes(std::span(options_.subsystem)), name.begin());
    const auto pages = options_.largest_transfer / nvme::page_bytes;
    said.set<"cntlid">(id_)
        .set<"cmic">(0)
        .set<"mdts">(static_cast<std::uint8_t>(std::countr_zero(pages)))
        .set<"oaes">(0)
        .set<"oacs">(0)
        .set<"acl">(0)
        .set<"aerl">(most_event_requests - 1)
        .set<"npss">(0)
        .set<"apsta">(0)
        .set<"hmpre">(0)
        .set<"hmmin">(0)
        .set<"sanicap">(0)
        .set<"kas">(keep_alive_unit)
        .set<"maxcmd">(static_cast<std::uint16_t>(options_.entries))
        .set<"oncs">(passed_on(said.get<"oncs">()))
        .set<"fuses">(0)
        .set<"sgls">(sgl_support | keyed_sgl_support | (options_.in_capsule_bytes != 0 ? offset_sgl_support : 0))
        .set<"subnqn">(name)
        .set<"ioccsz">(static_cast<std::uint32_t>((abi::nvme::command_bytes + options_.in_capsule_bytes) /
                                                  abi::nvme::capsule_unit_bytes))
        .set<"iorcsz">(abi::nvme::response_bytes / abi::nvme::capsule_unit_bytes)
        .set<"icdoff">(0)
        .set<"fcatt">(0)
        .set<"msdbd">(1)
        .set<"ofcs">(0);
}

Answer TargetController::set_features(Command command) {
    const abi::ConstView<abi::nvme::Features> feature(command.bytes());
    switch (static_cast<Feature>(feature.get<"fid">())) {
    case Feature::number_of_queues: {
        abi::Block<abi::nvme::QueuesFeature> wanted;
        abi::store<std::uint32_t, abi::Endian::little>(wanted.bytes.data(), feature.get<"cdw11">());
        granted_ = std::min({queues_, wanted.view().get<"nsq">() + 1u, wanted.view().get<"ncq">() + 1u});
        wanted.view().set<"nsq">(granted_ - 1).set<"ncq">(granted_ - 1);
        return {.dw0 = abi::load<std::uint32_t, abi::Endian::little>(wanted.bytes.data())};
    }
    case Feature::async_event: events_ = feature.get<"cdw11">(); return {};
    case Feature::keep_alive: keep_alive_ = std::chrono::milliseconds(feature.get<"cdw11">()); return {};
    // The others are settings of a drive that other hosts have, too.
    default: return Answer::refuse(Status::feature_not_changeable);
    }
}

Answer TargetController::get_features(Command command) {
    switch (static_cast<Feature>(abi::ConstView<abi::nvme::Features>(command.bytes()).get<"fid">())) {
    case Feature::number_of_queues: return {.dw0 = (granted_ - 1) * 0x10001u};
    case Feature::async_event: return {.dw0 = events_};
    case Feature::keep_alive:
        return {.dw0 = static_cast<std::uint32_t>(
                    std::chrono::duration_cast<std::chrono::milliseconds>(keep_alive_).count())};
    case Feature::arbitration:
    case Feature::power_management:
    case Feature::temperature_threshold:
    case Feature::error_recovery:
    case Feature::volatile_write_cache:
    case Feature::write_atomicity: return forward(command, {}, 0);
    // What has data of its own, or is about a way that this host has not.
    default: return Answer::refuse(Status::invalid_field);
    }
}

/// The drive answers. Its status goes to the host as it is.
Answer TargetController::forward(Command command, const AdminData& data, std::uint64_t bytes) {
    if (bytes > data.bytes.size())
        return Answer::refuse(Status::invalid_data_sgl_length);
    nvme::QueuePair::Command copy;
    std::ranges::copy(command.bytes(), copy.bytes.begin());
    copy.view()
        .set<"fuse">(0)
        .set<"psdt">(abi::nvme::DataPointerType::prp)
        .set<"mptr">(0)
        .set<"prp1">(0)
        .set<"prp2">(0);
    const std::array segment{nvme::Segment{data.drive.bus, bytes}};
    const auto done = drive_.execute(copy, std::span(segment).first(bytes == 0 ? 0 : 1));
    if (!done)
        return Answer::refuse(Status::internal_error);
    return {.status = done->status,
            .do_not_retry = done->do_not_retry,
            .dw0 = done->result,
            .bytes = done->is_ok() ? static_cast<std::uint32_t>(bytes) : 0};
}

} // namespace sw::nvmf
