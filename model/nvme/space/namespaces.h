// The namespaces of a drive: which there are, which the controller may use, and what Identify says of them. Creates,
// deletes, attaches, formats and erases them, as the admin commands of the same names ask (NVMe base 2.0 "Namespace
// Management command" and its neighbours). Reads no host memory: who calls has the data structures at hand. Where the
// drive lies in files, what was done to it is durable before the call returns, and is there again in the next process.
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/identify.h"
#include "model/nvme/data/refusal.h"
#include "model/nvme/flash/flash.h"
#include "model/nvme/keep/state.h"
#include "model/nvme/space/namespace.h"

#include <optional>
#include <span>
#include <string>

namespace model::nvme {

/// Where a command names its namespace.
inline constexpr auto nsid_field = parameter_of<abi::nvme::Command, "nsid">();

class StateFile;

/// What Sanitize does (its SANACT).
enum class SanitizeAction : std::uint8_t { block_erase = 2, overwrite = 3, cryptographic_erase = 4 };

class Namespaces {
public:
    /// Throws where a medium cannot be made, or where a namespace of the configuration cannot be; and where files of an
    /// earlier process are damaged, or do not fit, with their name. Nothing of them is changed then.
    /// flash   the drive that gives accesses their times; nullptr: they take none
    explicit Namespaces(const SpaceConfig& config, Flash* flash = nullptr);
    ~Namespaces();

    const SpaceConfig& config() const { return config_; }
    std::uint32_t max() const { return config_.max_namespaces; } ///< NN
    std::uint64_t capacity() const { return config_.capacity; }  ///< TNVMCAP
    std::uint64_t unallocated() const;                           ///< UNVMCAP

    /// The namespace a command may use, or why it has none: no such number (0/0Bh), or not attached (0/02h).
    struct Found {
        Namespace* space = nullptr;
        Refusal refusal;
    };
    Found active(std::uint32_t nsid);
    /// One that exists, attached or not; nullptr: none.
    Namespace* allocated(std::uint32_t nsid);
    const Namespace* allocated(std::uint32_t nsid) const;
    bool is_valid(std::uint32_t nsid) const { return nsid != 0 && nsid <= max(); }

    /// Lists of CNS 02 and 10: up to 1024 numbers above `after`, the rest zero.
    void list(std::span<std::byte> page, std::uint32_t after, bool only_attached) const;
    /// CNS 00 and 11; ffffffff: what all have in common. False: there is none, and the page is zero.
    bool identify(std::uint32_t nsid, std::span<std::byte> page) const;
    bool identify_descriptors(std::uint32_t nsid, std::span<std::byte> page) const; ///< CNS 03
    bool identify_nvm(std::uint32_t nsid, std::span<std::byte> page) const;         ///< CNS 05
    bool identify_independent(std::uint32_t nsid, std::span<std::byte> page) const; ///< CNS 08

    struct Created {
        Refusal refusal;
        std::uint32_t nsid = 0;
    };
    /// `data` has the 4096 bytes of the host's structure. The new namespace is not attached.
    Created create(std::span<const std::byte> data);
    Refusal remove(std::uint32_t nsid); ///< ffffffff: all
    Refusal attach(std::uint32_t nsid);
    Refusal detach(std::uint32_t nsid);
    /// Done, and durable, when it returns. `at` moves to when it is done.
    Refusal format(std::uint32_t nsid, abi::ConstView<abi::nvme::FormatNvm> command, port::Time& at);
    /// Everything that was ever written is gone. `is_deallocated` false: the blocks read as zero, and are allocated.
    Refusal sanitize(SanitizeAction action, std::uint32_t pattern, bool is_deallocated, port::Time& at);
    bool has_write_protected() const;
    /// Feature 84h: off, or on, when what was written is durable.
    Refusal protect(std::uint32_t nsid, std::uint32_t state, port::Time& at);
    /// Feature 05h; ffffffff: all that are attached.
    Refusal set_error_recovery(std::uint32_t nsid, std::uint32_t value, bool is_saved);
    /// A Controller Level Reset: it is what was saved.
    void reset_error_recovery();
    /// All that was written is durable afterwards.
    Refusal flush(port::Time& at);
    Refusal flush(Namespace& space, port::Time& at);

    /// Status of all I/O commands while a sanitize operation runs, or has failed; success: they are executed.
    Status hold() const { return hold_; }
    void set_hold(Status status) { hold_ = status; }

    /// Log page 04h: what has changed since clear_changed(); ascending, each once.
    const std::vector<std::uint32_t>& changed() const { return changed_; }
    void clear_changed() { changed_.clear(); }

    /// What the drive keeps for others, who change it and save it.
    KeptState& kept() { return kept_; }
    /// Writes down what there is now. Durable when it ends well; otherwise nothing has changed (0/06h). A drive in
    /// memory has nothing to write.
    Refusal save();

private:
    Refusal set_attached(std::uint32_t nsid, bool is_attached);
    void make_configured(std::uint32_t first);
    void check_config() const;
    void restore(const KeptState& state);
    void restore(const KeptNamespace& one);
    /// As there will be, but for one namespace that goes.
    Refusal save_without(std::uint32_t nsid);
    KeptNamespace describe(const Namespace& space) const;
    std::string own_file(std::uint32_t nsid, std::uint64_t generation) const;
    std::unique_ptr<MarkFile> make_marks(const std::string& medium) const;
    void let_go(std::unique_ptr<Namespace>& space);
    std::unique_ptr<Medium> make_sound_medium(std::uint32_t nsid, const NamespaceConfig& config) const;
    std::unique_ptr<Medium> make_bare_medium(std::uint32_t nsid, const NamespaceConfig& config) const;
    std::unique_ptr<Medium> make_medium(std::uint32_t nsid, const NamespaceConfig& config) const;
    Refusal check_shape(const Shape& shape) const;
    Refusal format_one(Namespace& space, const Shape& shape, port::Time& at);
    void note(std::uint32_t nsid);
    void fill_shape(abi::View<abi::nvme::IdentifyNamespace> page) const;
    template <class Visit> void each(Visit&& visit) const {
        for (const auto& space : spaces_)
            if (space)
                visit(*space);
    }

    SpaceConfig config_;
    Flash* flash_;
    std::vector<std::unique_ptr<Namespace>> spaces_; ///< [nsid - 1]
    std::vector<std::uint32_t> changed_;
    std::uint64_t generation_ = 0;
    std::string base_; ///< of the names of files; empty: the drive is in memory
    std::unique_ptr<StateFile> file_;
    KeptState kept_;
    std::vector<Origin> origins_;     ///< [nsid - 1]
    std::optional<Shape> next_shape_; ///< of those that a Format is about to erase
    std::vector<std::uint32_t> erasing_;
    Status hold_ = Status::success;
};

/// Status of a medium's failure.
Refusal refusal_of(const MediumResult& result);

} // namespace model::nvme
