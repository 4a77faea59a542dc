#include "model/nvme/space/namespaces.h"

#include "model/nvme/flash/timed_medium.h"
#include "model/nvme/keep/state_file.h"
#include "model/nvme/media/fault_script.h"
#include "model/nvme/media/file_medium.h"
#include "model/nvme/media/memory_medium.h"

#include <filesystem>
#include <stdexcept>

namespace model::nvme {

using abi::nvme::all_namespaces;

namespace {

/// Of a namespace, as far as places in the drive are told apart.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 51;

Shape shape_of(const SpaceConfig& space, const NamespaceConfig& config) {
    return {space.formats.at(config.format), config.format, config.is_extended, config.protection,
            config.is_protection_first};
}

} // namespace

Refusal refusal_of(const MediumResult& result) {
    switch (result.status) {
    case MediumStatus::read_error: return fail(Status::unrecovered_read_error);
    case MediumStatus::write_fault: return fail(Status::write_fault);
    case MediumStatus::no_space: return fail(Status::capacity_exceeded);
    case MediumStatus::no_answer: // its time never comes, so nobody is told
    case MediumStatus::ok: break;
    }
    return {};
}

Namespaces::Namespaces(const SpaceConfig& config, Flash* flash)
    : config_(config), flash_(flash), spaces_(config.max_namespaces), origins_(config.max_namespaces) {
    check_config();
    if (!config.make_medium)
        for (const auto& one : config.namespaces)
            if (base_.empty())
                base_ = one.file;
    if (!base_.empty())
        file_ = std::make_unique<StateFile>(base_ + ".nvme");
    if (const auto bytes = file_ ? file_->read() : std::nullopt) {
        const auto state = decode(*bytes, config_);
        if (!state)
            throw std::runtime_error(file_->path() + " " + state.error());
        restore(*state);
    }
    kept_.counters.begin_cycle();
    make_configured(kept_.configured);
    kept_.configured = std::max(kept_.configured, static_cast<std::uint32_t>(config.namespaces.size()));
    if (file_ && !save().is_ok())
        throw std::runtime_error(file_->path() + " cannot be written");
    std::uint64_t used = 0;
    each([&](const Namespace& space) { used += space.medium().size(); });
    config_.capacity = std::max(config_.capacity, used);
}

Namespaces::~Namespaces() = default;

void Namespaces::check_config() const {
    if (config_.namespaces.size() > spaces_.size())
        throw std::invalid_argument("more namespaces than the drive can have");
    if (config_.formats.empty() || config_.formats.size() > 16)
        throw std::invalid_argument("a drive has 1 to 16 formats of logical blocks");
    for (const auto& format : config_.formats)
        if (format.data_shift < 9 || format.data_shift > 12)
            throw std::invalid_argument("a logical block has 512 to 4096 bytes of data");
    for (const auto& one : config_.namespaces) {
        if (one.format >= config_.formats.size())
            throw std::invalid_argument("a namespace has a format of logical blocks that the drive does not have");
        const auto shape = shape_of(config_, one);
        if (!check_shape(shape).is_ok() || one.bytes < shape.stored_bytes())
            throw std::invalid_argument("a namespace cannot have this format");
    }
}

void Namespaces::make_configured(std::uint32_t first) {
    for (auto i = first; i < config_.namespaces.size(); ++i) {
        const auto& one = config_.namespaces[i];
        spaces_[i] = std::make_unique<Namespace>(i + 1, ++generation_, make_medium(i + 1, one), shape_of(config_, one),
                                                 make_marks(one.file));
        spaces_[i]->set_attached(one.is_attached);
        origins_[i] = one.file.empty() ? Origin::memory : Origin::configured;
    }
}

std::unique_ptr<Medium> Namespaces::make_bare_medium(std::uint32_t nsid, const NamespaceConfig& config) const {
    if (config_.make_medium)
        return config_.make_medium(nsid, config);
    auto medium = make_sound_medium(nsid, config);
    if (config.faults.empty())
        return medium;
    return make_faulty(std::move(medium), config.faults, config_.formats.at(config.format).data_bytes());
}

std::unique_ptr<Medium> Namespaces::make_sound_medium(std::uint32_t nsid, const NamespaceConfig& config) const {
    if (config.file.empty())
        return std::make_unique<MemoryMedium>("nvme namespace " + std::to_string(nsid), config.bytes);
    return std::make_unique<FileMedium>(config.file, config.bytes);
}

std::unique_ptr<Medium> Namespaces::make_medium(std::uint32_t nsid, const NamespaceConfig& config) const {
    auto medium = make_bare_medium(nsid, config);
    if (flash_ == nullptr)
        return medium;
    return std::make_unique<TimedMedium>(std::move(medium), *flash_, (nsid - 1) * most_bytes);
}

Refusal Namespaces::check_shape(const Shape& shape) const {
    if (shape.is_protected() && shape.metadata_bytes() < shape.tuple_bytes())
        return refuse(Status::invalid_format);
    return {};
}

std::uint64_t Namespaces::unallocated() const {
    auto left = config_.capacity;
    each([&](const Namespace& space) { left -= std::min(left, space.medium().size()); });
    return left;
}

Namespaces::Found Namespaces::active(std::uint32_t nsid) {
    if (!is_valid(nsid))
        return {nullptr, refuse(Status::invalid_namespace, nsid_field)};
    auto* space = spaces_[nsid - 1].get();
    if (space == nullptr || !space->is_attached())
        return {nullptr, refuse(Status::invalid_field, nsid_field)};
    return {space, {}};
}

Namespace* Namespaces::allocated(std::uint32_t nsid) { return is_valid(nsid) ? spaces_[nsid - 1].get() : nullptr; }

const Namespace* Namespaces::allocated(std::uint32_t nsid) const {
    return is_valid(nsid) ? spaces_[nsid - 1].get() : nullptr;
}

void Namespaces::note(std::uint32_t nsid) {
    const auto place = std::ranges::lower_bound(changed_, nsid);
    if (place == changed_.end() || *place != nsid)
        changed_.insert(place, nsid);
}

Namespaces::Created Namespaces::create(std::span<const std::byte> data) {
    const abi::ConstView<abi::nvme::CreateNamespace> wanted{data};
    const auto flbas = wanted.get<"flbas">();
    const auto dps = wanted.get<"dps">();
    const auto index = static_cast<std::uint8_t>((flbas & 0xf) | (flbas >> 5 & 3) << 4);
    if (index >= config_.formats.size() || (dps & 7) > 3)
        return {refuse(Status::invalid_format), 0};
    const Shape shape{config_.formats[index], index, (flbas & 0x10) != 0, static_cast<Protection>(dps & 7),
                      (dps & 8) != 0};
    if (const auto refusal = check_shape(shape); !refusal.is_ok())
        return {refusal, 0};
    const auto size = wanted.get<"nsze">(), held = wanted.get<"ncap">();
    if (size == 0 || held > size)
        return {refuse(Status::invalid_field), 0};
    if (held != size)
        return {refuse(Status::thin_not_supported), 0};
    if (size > unallocated() / shape.stored_bytes())
        return {refuse(Status::insufficient_capacity), 0};
    const auto free = std::ranges::find_if(spaces_, [](const auto& space) { return !space; });
    if (free == spaces_.end())
        return {refuse(Status::namespace_id_unavailable), 0};
    const auto nsid = static_cast<std::uint32_t>(free - spaces_.begin()) + 1;
    NamespaceConfig config;
    config.bytes = size * shape.stored_bytes();
    config.format = index;
    ++generation_;
    // A file that is there already is somebody's, if only of a process that was killed in between.
    while (!base_.empty() && std::filesystem::exists(own_file(nsid, generation_)))
        ++generation_;
    if (!base_.empty())
        config.file = own_file(nsid, generation_);
    try {
        *free =
            std::make_unique<Namespace>(nsid, generation_, make_medium(nsid, config), shape, make_marks(config.file));
    } catch (const std::exception&) { // the host has no room for what the drive promises
        return {fail(Status::insufficient_capacity), 0};
    }
    (*free)->set_attached(false);
    origins_[nsid - 1] = config.file.empty() ? Origin::memory : Origin::made;
    // Its file has its size. What other namespaces have in the write cache is none of this.
    auto refusal = refusal_of((*free)->medium().bare().flush({}));
    if (refusal.is_ok())
        refusal = save();
    if (!refusal.is_ok()) {
        let_go(*free);
        return {refusal, 0};
    }
    return {Refusal{}, nsid};
}

Refusal Namespaces::remove(std::uint32_t nsid) {
    if (nsid != all_namespaces && !is_valid(nsid))
        return refuse(Status::invalid_namespace, nsid_field);
    if (nsid != all_namespaces && allocated(nsid) == nullptr)
        return refuse(Status::invalid_field, nsid_field);
    const auto goes = [&](const auto& space) { return space && (nsid == all_namespaces || space->nsid() == nsid); };
    for (const auto& space : spaces_)
        if (goes(space) && !space->is_writable())
            return refuse(Status::namespace_write_protected);
    if (const auto refusal = save_without(nsid); !refusal.is_ok())
        return refusal;
    for (auto& space : spaces_) {
        if (!goes(space))
            continue;
        if (space->is_attached())
            note(space->nsid());
        let_go(space);
    }
    return {};
}

Refusal Namespaces::attach(std::uint32_t nsid) { return set_attached(nsid, true); }
Refusal Namespaces::detach(std::uint32_t nsid) { return set_attached(nsid, false); }

Refusal Namespaces::set_attached(std::uint32_t nsid, bool is_attached) {
    if (!is_valid(nsid))
        return refuse(Status::invalid_namespace, nsid_field);
    auto* space = allocated(nsid);
    if (space == nullptr)
        return refuse(Status::invalid_field, nsid_field);
    if (space->is_attached() == is_attached)
        return refuse(is_attached ? Status::namespace_already_attached : Status::namespace_not_attached);
    space->set_attached(is_attached);
    if (const auto refusal = save(); !refusal.is_ok()) {
        space->set_attached(!is_attached);
        return refusal;
    }
    note(nsid);
    return {};
}

Refusal Namespaces::set_error_recovery(std::uint32_t nsid, std::uint32_t value, bool is_saved) {
    if (nsid != all_namespaces) {
        const auto found = active(nsid);
        if (found.space == nullptr)
            return found.refusal;
        found.space->set_error_recovery(value, is_saved);
        return is_saved ? save() : Refusal{};
    }
    for (const auto& space : spaces_)
        if (space && space->is_attached())
            space->set_error_recovery(value, is_saved);
    return is_saved ? save() : Refusal{};
}

void Namespaces::reset_error_recovery() {
    for (const auto& space : spaces_)
        if (space)
            space->set_error_recovery(space->saved_error_recovery(), false);
}

} // namespace model::nvme
