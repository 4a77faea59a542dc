#include "model/nvme/admin/admin.h"

namespace model::nvme {

using abi::nvme::AdminOpcode;
using abi::nvme::OptionalAdmin;
using port::Time;

namespace {
constexpr std::uint16_t bit(OptionalAdmin option) { return static_cast<std::uint16_t>(option); }
template <class L> abi::ConstView<L> as(abi::ConstView<abi::nvme::Command> command) {
    return abi::ConstView<L>(std::span<const std::byte>(command.bytes()));
}
} // namespace

const std::array<Admin::Row, 17> Admin::rows{{
    {AdminOpcode::delete_sq, 0, &Admin::delete_submission},
    {AdminOpcode::create_sq, 0, &Admin::create_submission},
    {AdminOpcode::get_log_page, 0, &Admin::get_log_page},
    {AdminOpcode::delete_cq, 0, &Admin::delete_completion},
    {AdminOpcode::create_cq, 0, &Admin::create_completion},
    {AdminOpcode::identify, 0, &Admin::identify},
    {AdminOpcode::abort, 0, &Admin::abort},
    {AdminOpcode::set_features, 0, &Admin::set_features},
    {AdminOpcode::get_features, 0, &Admin::get_features},
    {AdminOpcode::async_event_request, 0, &Admin::request_event},
    {AdminOpcode::namespace_management, bit(OptionalAdmin::namespace_management), &Admin::manage_namespace},
    {AdminOpcode::namespace_attachment, bit(OptionalAdmin::namespace_management), &Admin::attach_namespace},
    {AdminOpcode::device_self_test, bit(OptionalAdmin::self_test), &Admin::self_test},
    {AdminOpcode::sanitize, 0, &Admin::sanitize},
    {AdminOpcode::keep_alive, 0, &Admin::keep_alive},
    {AdminOpcode::doorbell_buffer_config, bit(OptionalAdmin::doorbell_buffer), &Admin::configure_doorbells},
    {AdminOpcode::format_nvm, bit(OptionalAdmin::format), &Admin::format},
}};

Admin::Admin(const NvmeConfig& config, Queues& queues, InFlight& in_flight, Namespaces& spaces, Io& io, Health& health,
             HostBuffer& host_buffer, traces::Events events)
    : config_(config), queues_(queues), in_flight_(in_flight), spaces_(spaces), io_(io), health_(health),
      host_buffer_(host_buffer), events_door_(events), events_(config.event_requests),
      background_(config, spaces, health) {
    for (const auto& [feature, selector, saved] : spaces_.kept().features)
        if (auto* value = features_.find(static_cast<abi::nvme::Feature>(feature), selector); value != nullptr)
            value->saved = value->current = saved & value->mask;
}

void Admin::reset(Time at) {
    features_.reset();
    host_buffer_.reset();
    background_.reset(at);
    time_.reset(at);
    events_.reset();
    is_temperature_told_ = false;
}

std::uint16_t Admin::options() const {
    return static_cast<std::uint16_t>(bit(OptionalAdmin::format) | bit(OptionalAdmin::namespace_management) |
                                      bit(OptionalAdmin::self_test) |
                                      (config_.has_shadow_doorbells ? bit(OptionalAdmin::doorbell_buffer) : 0));
}

Outcome Admin::execute(Command command, Time at) {
    is_parked_ = false;
    const auto opcode = static_cast<AdminOpcode>(command.get<"opcode">());
    const auto row = std::ranges::find(rows, opcode, &Row::opcode);
    if (row == rows.end() || (row->option & ~options()) != 0)
        return end(refuse(Status::invalid_opcode, parameter(0)), at);
    if (command.get<"fuse">() != 0 || command.get<"psdt">() != abi::nvme::DataPointerType::prp)
        return end(refuse(Status::invalid_field, parameter(1)), at);
    advance(at);
    if (is_held(command))
        return end(fail(background_.is_sanitizing() ? Status::sanitize_in_progress : Status::sanitize_failed), at);
    return (this->*row->handler)(command, at);
}

Outcome Admin::send(Command command, std::span<const std::byte> page, Time at) {
    const auto refusal = io_.data().send(DataPointer::of(command), page, at);
    return end(refusal, at);
}

Outcome Admin::create_submission(Command command, Time at) {
    return end(queues_.create(as<abi::nvme::CreateSq>(command), submission_shift_, at), at);
}
Outcome Admin::create_completion(Command command, Time at) {
    return end(queues_.create(as<abi::nvme::CreateCq>(command), completion_shift_, at), at);
}
Outcome Admin::delete_completion(Command command, Time at) {
    return end(queues_.delete_completion(as<abi::nvme::DeleteQueue>(command).get<"qid">()), at);
}

/// Commands of the queue that have not ended end now, before it does.
Outcome Admin::delete_submission(Command command, Time at) {
    const auto id = as<abi::nvme::DeleteQueue>(command).get<"qid">();
    if (id != 0 && queues_.has_submission(id))
        in_flight_.leave(id, [&](CompletionEntry entry, bool is_lost) {
            if (is_lost)
                entry.status = Status::aborted_sq_deletion, entry.dnr = false, entry.dw0 = 0;
            queues_.post(entry, at);
        });
    return end(queues_.delete_submission(id), at);
}

Outcome Admin::abort(Command command, Time at) {
    const auto fields = as<abi::nvme::Abort>(command);
    const auto sqid = fields.get<"sqid">(), cid = fields.get<"cid">();
    const bool is_aborted = in_flight_.abort(sqid, cid) || (sqid == 0 && events_.abort(cid));
    if (is_aborted)
        queues_.post({.sqid = sqid, .cid = cid, .status = Status::abort_requested}, at);
    return end({}, at, is_aborted ? 0 : 1); // bit 0: not aborted
}

Outcome Admin::request_event(Command command, Time at) {
    if (!events_.park(command.get<"cid">()))
        return end(refuse(Status::event_limit_exceeded), at);
    is_parked_ = true;
    return end({}, port::never);
}

Outcome Admin::keep_alive(Command, Time at) { return end({}, at); }

Outcome Admin::configure_doorbells(Command command, Time at) {
    const auto doorbells = command.get<"prp1">(), events = command.get<"prp2">();
    if (doorbells == 0 || doorbells % page_bytes_ != 0)
        return end(refuse(Status::invalid_field, parameter(prp1_offset)), at);
    if (events == 0 || events % page_bytes_ != 0 || events == doorbells)
        return end(refuse(Status::invalid_field, parameter(prp2_offset)), at);
    queues_.set_shadow(doorbells, events, at);
    return end({}, at);
}

void Admin::changed(std::uint32_t nsid, traces::NamespaceChange what, Time at) {
    events_door_.emit(at, traces::NvmeNamespaceChanged{nsid, what});
    constexpr traces::NamespaceChange created = "created"; // not attached: nothing that the host sees has changed
    const auto mask = features_.current(abi::nvme::Feature::async_event);
    if (what != created && (mask >> abi::nvme::AsyncEventFeature::field<"namespace_attribute">::low & 1) != 0)
        events_.note(abi::nvme::EventType::notice, abi::nvme::NoticeEvent::namespace_changed,
                     abi::nvme::LogPage::changed_namespaces);
}

Outcome Admin::format(Command command, Time at) {
    const auto refusal = spaces_.format(command.get<"nsid">(), as<abi::nvme::FormatNvm>(command), at);
    if (refusal.is_ok()) {
        background_.is_formatted(command.get<"nsid">(), at);
        changed(command.get<"nsid">(), "formatted", at);
    }
    return end(refusal, at);
}

Outcome Admin::self_test(Command command, Time at) {
    const auto outcome = end(background_.self_test(command, at), at);
    advance(at);
    return outcome;
}

Outcome Admin::sanitize(Command command, Time at) {
    const auto outcome = end(background_.sanitize(as<abi::nvme::Sanitize>(command), at), at);
    advance(at);
    return outcome;
}

void Admin::advance(Time now) {
    if (!background_.advance(now))
        return;
    events_door_.emit(now, traces::NvmeNamespaceChanged{abi::nvme::all_namespaces, "sanitized"});
    events_.note(abi::nvme::EventType::io_set, abi::nvme::IoSetEvent::sanitize_done, abi::nvme::LogPage::sanitize);
}

/// NVMe base 2.0 "Sanitize Operations", commands that are allowed: those by which a host looks after the controller.
bool Admin::is_held(Command command) const {
    if (!background_.is_sanitizing() && !background_.has_failed())
        return false;
    switch (static_cast<AdminOpcode>(command.get<"opcode">())) {
    case AdminOpcode::delete_sq:
    case AdminOpcode::create_sq:
    case AdminOpcode::delete_cq:
    case AdminOpcode::create_cq:
    case AdminOpcode::identify:
    case AdminOpcode::abort:
    case AdminOpcode::set_features:
    case AdminOpcode::get_features:
    case AdminOpcode::async_event_request:
    case AdminOpcode::keep_alive:
    case AdminOpcode::doorbell_buffer_config:
    case AdminOpcode::device_self_test:
    case AdminOpcode::sanitize: return false;
    case AdminOpcode::get_log_page: {
        constexpr std::array allowed{abi::nvme::LogPage::error,
                                     abi::nvme::LogPage::smart,
                                     abi::nvme::LogPage::firmware_slot,
                                     abi::nvme::LogPage::command_effects,
                                     abi::nvme::LogPage::changed_namespaces,
                                     abi::nvme::LogPage::self_test,
                                     abi::nvme::LogPage::supported,
                                     abi::nvme::LogPage::sanitize};
        return std::ranges::find(allowed, static_cast<abi::nvme::LogPage>(
                                              as<abi::nvme::GetLogPage>(command).get<"lid">())) == allowed.end();
    }
    default: return true;
    }
}

Outcome Admin::manage_namespace(Command command, Time at) {
    using L = abi::nvme::NamespaceManagement;
    const auto fields = as<L>(command);
    const auto select = fields.get<"sel">();
    if (select == 0) {
        if (fields.get<"csi">() != 0)
            return end(refuse(Status::command_set_not_supported, parameter_of<L, "csi">()), at);
        page_.assign(abi::nvme::identify_bytes, std::byte{});
        if (const auto refusal = io_.data().receive(DataPointer::of(command), page_, at); !refusal.is_ok())
            return end(refusal, at);
        const auto created = spaces_.create(page_);
        if (created.refusal.is_ok())
            changed(created.nsid, "created", at);
        return end(created.refusal, at, created.nsid);
    }
    if (select != 1)
        return end(refuse(Status::invalid_field, parameter_of<L, "sel">()), at);
    const auto refusal = spaces_.remove(command.get<"nsid">());
    if (refusal.is_ok()) {
        background_.is_removed(command.get<"nsid">(), at);
        changed(command.get<"nsid">(), "deleted", at);
    }
    return end(refusal, at);
}

Outcome Admin::attach_namespace(Command command, Time at) {
    const auto select = as<abi::nvme::NamespaceAttachment>(command).get<"sel">();
    if (select > 1)
        return end(refuse(Status::invalid_field, parameter_of<abi::nvme::NamespaceAttachment, "sel">()), at);
    page_.assign(abi::nvme::identify_bytes, std::byte{});
    if (const auto refusal = io_.data().receive(DataPointer::of(command), page_, at); !refusal.is_ok())
        return end(refusal, at);
    // The subsystem has this controller alone, whose number is 0: the list is it.
    const auto count = abi::ConstView<abi::nvme::ControllerList>(std::span<const std::byte>(page_)).get<"num">();
    if (count != 1 || page_[2] != std::byte{} || page_[3] != std::byte{})
        return end(refuse(Status::invalid_controller_list), at);
    const auto nsid = command.get<"nsid">();
    const auto refusal = select == 0 ? spaces_.attach(nsid) : spaces_.detach(nsid);
    if (refusal.is_ok() && select == 0)
        changed(nsid, "attached", at);
    else if (refusal.is_ok())
        changed(nsid, "detached", at);
    return end(refusal, at);
}

} // namespace model::nvme
