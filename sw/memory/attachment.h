// The use of a dma-buf by one device, from attach to detach: the agreed form of mapping, the pins, the mappings.
#pragma once

#include "sw/base/result.h"
#include "sw/memory/dmabuf.h"

#include <list>

namespace sw::memory {

class Attachment {
public:
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;
    /// Undoes pins and mappings that are left, and detaches. An importer that relies on this has a bug; detach() says
    /// so.
    ~Attachment();

    /// Keeps the exporter from moving the buffer. Pins are counted: each needs an unpin.
    /// Only for dynamic importers (EINVAL). ENODEV when the buffer was taken back.
    Result<void> pin(const Lock& lock);
    /// EINVAL without a pin of this attachment.
    Result<void> unpin(const Lock& lock);

    /// Addresses of the whole buffer for this device. The importer may trim the list in place but gives it back as it
    /// was. Does not wait for fences: the contents may not have arrived yet. Each call makes a mapping of its own.
    /// EINVAL when another type was agreed on, or when the importer has not pinned and cannot be told of moves; ENODEV
    /// when the buffer was taken back; EIO when the exporter's list breaks the contract.
    Result<ScatterList*> map(const Lock& lock);
    /// EINVAL for a list that is not mapped, and for one that came back changed; the latter is unmapped all the same.
    Result<void> unmap(const Lock& lock, ScatterList* list);

    /// The same for a physical list, which stays as it is.
    Result<const PhysicalList*> map_physical(const Lock& lock);
    Result<void> unmap_physical(const Lock& lock, const PhysicalList* list);

    /// EBUSY while pins or mappings are left, EDEADLK when the caller holds the lock. After it only the destructor may
    /// be called.
    Result<void> detach();

    const DmaBufHandle& buffer() const { return buffer_; }
    transport::Transport& device() const { return device_; }
    const std::string& importer_name() const { return importer_.name; }
    MappingType type() const { return type_; }
    bool is_dynamic() const { return is_dynamic_; }
    bool is_revocable() const { return static_cast<bool>(importer_.move_notify); }
    bool peer2peer() const { return importer_.allow_peer2peer; }
    unsigned pins() const { return pins_; }
    bool is_mapped() const { return cached_ || !mappings_.empty(); }

private:
    friend class DmaBuf;
    struct Mapping {
        ScatterList list;  ///< the list that the importer has, and may trim
        ScatterList given; ///< as the exporter made it
    };
    Attachment(DmaBufHandle buffer, transport::Transport& device, Importer importer, bool is_dynamic, MappingType type)
        : buffer_(std::move(buffer)), device_(device), importer_(std::move(importer)), is_dynamic_(is_dynamic),
          type_(type) {}
    Result<void> check_usable(const Lock& lock, std::string_view operation) const;
    Result<ScatterList*> make_mapping(const Lock& lock);
    Result<void> map_for_good(const Lock& lock);
    void undo(const Lock& lock);
    std::string text(std::string_view operation) const;

    DmaBufHandle buffer_;
    transport::Transport& device_;
    Importer importer_;
    bool is_dynamic_;
    MappingType type_;
    unsigned pins_ = 0;
    std::list<Mapping> mappings_;   ///< addresses stay
    ScatterList* cached_ = nullptr; ///< made by attach, when only one side is dynamic
    bool is_attached_ = false;
};

} // namespace sw::memory
