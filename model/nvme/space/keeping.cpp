// What of the namespaces outlives the process: the state is written before a command ends, and read at the begin.
#include "model/nvme/keep/state_file.h"
#include "model/nvme/media/file_medium.h"
#include "model/nvme/space/namespaces.h"

#include <filesystem>
#include <stdexcept>

namespace model::nvme {

namespace {
std::string marks_of(const std::string& medium) { return medium + ".marks"; }
} // namespace

std::string Namespaces::own_file(std::uint32_t nsid, std::uint64_t generation) const {
    return base_ + ".ns" + std::to_string(nsid) + "-" + std::to_string(generation);
}

std::unique_ptr<MarkFile> Namespaces::make_marks(const std::string& medium) const {
    return base_.empty() || medium.empty() ? nullptr : std::make_unique<MarkFile>(marks_of(medium));
}

KeptNamespace Namespaces::describe(const Namespace& space) const {
    KeptNamespace one{.nsid = space.nsid(),
                      .generation = space.generation(),
                      .bytes = space.medium().size(),
                      .shape = space.shape(),
                      .origin = origins_[space.nsid() - 1],
                      .is_attached = space.is_attached(),
                      .is_erasing = false,
                      .write_protection = space.write_protection(),
                      .error_recovery = space.saved_error_recovery()};
    if (std::ranges::find(erasing_, space.nsid()) != erasing_.end())
        one.is_erasing = true, one.shape = *next_shape_;
    return one;
}

Refusal Namespaces::save() { return save_without(0); }

Refusal Namespaces::save_without(std::uint32_t nsid) {
    if (!file_)
        return {};
    kept_.generation = generation_;
    kept_.namespaces.clear();
    each([&](const Namespace& space) {
        if (nsid != abi::nvme::all_namespaces && space.nsid() != nsid)
            kept_.namespaces.push_back(describe(space));
    });
    return file_->write(encode(kept_)) ? Refusal{} : fail(Status::internal_error);
}

/// Nobody is to find what a namespace had that is gone, neither in a file of ours, nor in one of the user's, which
/// stays.
void Namespaces::let_go(std::unique_ptr<Namespace>& space) {
    const auto nsid = space->nsid();
    const auto origin = origins_[nsid - 1];
    const auto medium = origin == Origin::made         ? own_file(nsid, space->generation())
                        : origin == Origin::configured ? config_.namespaces[nsid - 1].file
                                                       : std::string();
    if (origin == Origin::configured)
        static_cast<void>(space->medium().bare().discard(0, space->medium().size(), Durability::durable, {}));
    space.reset();
    std::error_code ignored;
    if (origin == Origin::made)
        std::filesystem::remove(medium, ignored);
    if (!base_.empty() && origin != Origin::memory)
        std::filesystem::remove(marks_of(medium), ignored);
}

void Namespaces::restore(const KeptState& state) {
    kept_ = state;
    generation_ = state.generation;
    // All of them are looked at before one is changed.
    for (const auto& one : state.namespaces)
        restore(one);
    for (const auto& one : state.namespaces) {
        if (!one.is_erasing)
            continue;
        if (!spaces_[one.nsid - 1]->format(one.shape, {}).is_ok())
            throw std::runtime_error(file_->path() + " says that namespace " + std::to_string(one.nsid) +
                                     " was being formatted, and it cannot be erased");
    }
}

void Namespaces::restore(const KeptNamespace& one) {
    const auto who = "namespace " + std::to_string(one.nsid);
    NamespaceConfig config;
    config.bytes = one.bytes;
    config.format = one.shape.format_index;
    if (one.origin == Origin::made)
        config.file = own_file(one.nsid, one.generation);
    else if (one.nsid <= config_.namespaces.size())
        config.faults = config_.namespaces[one.nsid - 1].faults;
    if (one.origin == Origin::configured) {
        if (one.nsid > config_.namespaces.size() || config_.namespaces[one.nsid - 1].file.empty())
            throw std::runtime_error(file_->path() + " has " + who + " in a file that the configuration does not name");
        const auto& configured = config_.namespaces[one.nsid - 1];
        config.file = configured.file;
        if (configured.bytes != one.bytes)
            throw std::runtime_error(file_->path() + " has " + who + " of " + std::to_string(one.bytes) +
                                     " bytes, the configuration " + std::to_string(configured.bytes));
    }
    if (one.origin != Origin::memory)
        for (const auto& file : {config.file, marks_of(config.file)})
            if (!std::filesystem::exists(file))
                throw std::runtime_error(file + " is not there, and " + file_->path() + " says that " + who +
                                         " has it");
    if (one.origin != Origin::memory && std::filesystem::file_size(config.file) != one.bytes)
        throw std::runtime_error(config.file + " has " + std::to_string(std::filesystem::file_size(config.file)) +
                                 " bytes, and " + file_->path() + " says that " + who + " has " +
                                 std::to_string(one.bytes));
    // Of one that was being formatted the marks may be of either shape: it is erased below, and they begin anew.
    auto marks = make_marks(config.file);
    const auto made = [&](std::unique_ptr<MarkFile> file) {
        return std::make_unique<Namespace>(one.nsid, one.generation, make_medium(one.nsid, config), one.shape,
                                           std::move(file));
    };
    auto& space = spaces_[one.nsid - 1];
    if (one.is_erasing) {
        space = made(nullptr);
        space->take_marks(std::move(marks));
    } else if (marks != nullptr && marks->is_new()) {
        throw std::runtime_error(marks_of(config.file) + " is empty, and " + file_->path() + " says that " + who +
                                 " has marks");
    } else {
        space = made(std::move(marks));
    }
    space->set_attached(one.is_attached);
    space->set_error_recovery(one.error_recovery, true);
    // A process that begins is a power cycle.
    space->set_write_protection(one.write_protection == WriteProtection::until_power_cycle ? WriteProtection::none
                                                                                           : one.write_protection);
    origins_[one.nsid - 1] = one.origin;
}

} // namespace model::nvme
