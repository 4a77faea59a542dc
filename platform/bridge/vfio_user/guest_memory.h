// The memory of a client as one function may reach it: bus address ranges over the files that came with them.
// Ranges without a usable file are reached by messages; that is the caller's business. No SystemC, no sockets.
#pragma once

#include "model/pcie/bridge_space.h"
#include "platform/bridge/vfio_user/descriptor.h"
#include "platform/bridge/vfio_user/mapped_file.h"
#include "platform/bridge/vfio_user/message.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace platform::bridge::vfio_user {

class GuestMemory {
public:
    static constexpr std::size_t max_ranges = protocol::default_max_maps;

    struct Range {
        model::pcie::Range bus;
        std::byte* memory; ///< of bus.begin; nullptr: by messages
        bool is_readable, is_writable;
        std::shared_ptr<FileMapping> file;
        bool allows(bool is_write) const { return is_write ? is_writable : is_readable; }
    };

    explicit GuestMemory(FileMappings& files) : files_(files) {}

    /// EEXIST where the range touches another one; errno values of the file.
    int map(const DmaMapRequest& map, const Descriptor& file);
    /// All ranges inside of it go, as in the kernel's VFIO: a hypervisor with an IOMMU of its own unmaps whatever may
    /// be there. EINVAL, and nothing goes, where a range lies across an edge.
    int unmap(const DmaUnmapRequest& unmap);
    void unmap_all() { ranges_.clear(); }
    /// Calls `visit(range)` for what an unmap request means.
    template <class Visit> void for_each_within(const DmaUnmapRequest& unmap, Visit&& visit) const {
        const auto last = unmap.is_all ? ~std::uint64_t{0} : unmap.address + (unmap.size - 1);
        for (auto at = ranges_.lower_bound(unmap.address); at != ranges_.end() && at->first <= last; ++at)
            visit(at->second);
    }

    const Range* find(std::uint64_t address) const;
    /// What lies around an address without a range, up to the next ones.
    model::pcie::Range gap(std::uint64_t address) const;
    std::size_t size() const { return ranges_.size(); }
    /// There is memory without a file that the device may write, which is no ROM therefore.
    bool has_message_memory() const;
    /// A file of the client has failed.
    bool is_broken() const;

private:
    FileMappings& files_;
    std::map<std::uint64_t, Range> ranges_; ///< by address, disjoint
};

} // namespace platform::bridge::vfio_user
