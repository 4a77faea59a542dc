// What takes content away, or keeps it from being changed: Format NVM, Sanitize, write protection. And the flush.
#include "model/nvme/space/namespaces.h"

namespace model::nvme {

using abi::nvme::all_namespaces;
using abi::nvme::FormatNvm;

namespace {
constexpr unsigned most_secure_erase = 2; ///< SES: none, user data, cryptographic
} // namespace

Refusal Namespaces::format_one(Namespace& space, const Shape& shape, port::Time& at) {
    const auto result = space.format(shape, at);
    at = std::max(at, result.done);
    if (result.is_ok())
        note(space.nsid());
    return refusal_of(result);
}

Refusal Namespaces::format(std::uint32_t nsid, abi::ConstView<FormatNvm> command, port::Time& at) {
    if (nsid != all_namespaces) {
        if (!is_valid(nsid))
            return refuse(Status::invalid_namespace, nsid_field);
        if (allocated(nsid) == nullptr)
            return refuse(Status::invalid_field, nsid_field);
    }
    const auto index = command.get<"lbafl">() | command.get<"lbafu">() << 4;
    if (command.get<"ses">() > most_secure_erase)
        return refuse(Status::invalid_field, parameter_of<FormatNvm, "ses">());
    if (index >= config_.formats.size())
        return refuse(Status::invalid_format, parameter_of<FormatNvm, "lbafl">());
    if (command.get<"pi">() > 3)
        return refuse(Status::invalid_format, parameter_of<FormatNvm, "pi">());
    const Shape shape{config_.formats[index], static_cast<std::uint8_t>(index), command.get<"mset">(),
                      static_cast<Protection>(command.get<"pi">()), command.get<"pil">() != 0};
    if (const auto refusal = check_shape(shape); !refusal.is_ok())
        return refuse(refusal.status, parameter_of<FormatNvm, "pi">());
    // With both scopes of FNA cleared, ffffffff is each namespace that is attached to the controller, and no other one
    // (NVMe base 2.0 "Format NVM command").
    const auto is_meant = [&](const auto& space) {
        return space && (nsid == all_namespaces ? space->is_attached() : nsid == space->nsid());
    };
    // All of them are looked at before one is touched.
    for (const auto& space : spaces_) {
        if (!is_meant(space))
            continue;
        if (!space->is_writable())
            return refuse(Status::namespace_write_protected);
        if (space->medium().size() < shape.stored_bytes())
            return refuse(Status::invalid_format, parameter_of<FormatNvm, "lbafl">());
    }
    // A process that is killed in the midst of it is followed by one that goes on.
    next_shape_ = shape;
    for (const auto& space : spaces_)
        if (is_meant(space))
            erasing_.push_back(space->nsid());
    auto refusal = save();
    for (const auto number : refusal.is_ok() ? erasing_ : std::vector<std::uint32_t>{})
        if (refusal.is_ok())
            refusal = format_one(*allocated(number), shape, at);
    erasing_.clear();
    return refusal.is_ok() ? save() : refusal;
}

bool Namespaces::has_write_protected() const {
    bool is_found = false;
    each([&](const Namespace& space) { is_found |= !space.is_writable(); });
    return is_found;
}

Refusal Namespaces::sanitize(SanitizeAction action, std::uint32_t pattern, bool is_deallocated, port::Time& at) {
    if (has_write_protected())
        return refuse(Status::namespace_write_protected);
    for (const auto& space : spaces_) {
        if (!space)
            continue;
        MediumResult result{.done = at};
        if (action == SanitizeAction::overwrite)
            result = space->overwrite(pattern, at);
        if (result.is_ok() && (action != SanitizeAction::overwrite || is_deallocated))
            result = space->erase(result.done);
        at = std::max(at, result.done);
        if (!result.is_ok())
            return fail(Status::sanitize_failed);
        if (!is_deallocated && !space->mark(0, space->blocks(), {}, Durability::durable))
            return fail(Status::sanitize_failed);
    }
    return {};
}

/// Two of the four states: a controller with Write Protect Until Power Cycle, or with Permanent Write Protect, shall
/// have the Write Protection Control of an RPMB, which decides whether a host may ask for them (NVMe base 2.1
/// "Namespace Write Protection"). There is no RPMB here, so neither of them is there, and NWPC says so. What is
/// permanently protected is so since an earlier version, whose file of the state says it.
Refusal Namespaces::protect(std::uint32_t nsid, std::uint32_t state, port::Time& at) {
    const auto found = active(nsid);
    if (found.space == nullptr)
        return found.refusal;
    if (state > static_cast<std::uint32_t>(WriteProtection::on))
        return refuse(Status::invalid_field, parameter_of<abi::nvme::Command, "cdw11">());
    const auto now = found.space->write_protection();
    const auto wanted = static_cast<WriteProtection>(state);
    if (wanted == now)
        return {};
    if (now == WriteProtection::permanent)
        return refuse(Status::feature_not_changeable);
    // What the volatile write cache has is committed first: a Flush does nothing afterwards (NVMe base 2.0 "Namespace
    // Write Protection Config").
    if (wanted == WriteProtection::on)
        if (const auto refusal = flush(*found.space, at); !refusal.is_ok())
            return refusal;
    found.space->set_write_protection(wanted);
    auto refusal = save();
    if (!refusal.is_ok())
        found.space->set_write_protection(now);
    return refusal;
}

Refusal Namespaces::flush(Namespace& space, port::Time& at) {
    const auto result = space.flush(at);
    at = std::max(at, result.done);
    return refusal_of(result);
}

Refusal Namespaces::flush(port::Time& at) {
    Refusal worst;
    auto done = at;
    for (const auto& space : spaces_) {
        if (!space)
            continue;
        auto ends = at;
        // Each is flushed, even after one has failed: what can be saved is saved.
        if (const auto refusal = flush(*space, ends); !refusal.is_ok())
            worst = refusal;
        done = std::max(done, ends);
    }
    at = done;
    return worst;
}

} // namespace model::nvme
