// One namespace: logical blocks of a format, on a medium. Knows where a block's data and metadata are, which blocks are
// allocated and which are marked as uncorrectable, and whether it may be written; writes the marks down where they are
// to outlive the process. Executes no commands.
#pragma once

#include "abi/nvme/feature.h"
#include "model/nvme/keep/mark_file.h"
#include "model/nvme/blocks/block_map.h"
#include "model/nvme/blocks/shape.h"

#include <cstdint>
#include <memory>

namespace model::nvme {

class Namespace {
public:
    /// `marks`: the file of the marks; nullptr: they go with the process. Throws where it is the file of another one.
    Namespace(std::uint32_t nsid, std::uint64_t generation, std::unique_ptr<Medium> medium, const Shape& shape,
              std::unique_ptr<MarkFile> marks = nullptr);
    ~Namespace();

    std::uint32_t nsid() const { return nsid_; }
    /// Which namespace of this number it is, since the drive was made: identifiers are never used again.
    std::uint64_t generation() const { return generation_; }
    std::uint64_t blocks() const { return blocks_; }
    const Shape& shape() const { return shape_; }
    Medium& medium() { return *medium_; }
    const Medium& medium() const { return *medium_; }

    bool is_attached() const { return is_attached_; }
    void set_attached(bool is_attached) { is_attached_ = is_attached; }
    WriteProtection write_protection() const { return write_protection_; }
    void set_write_protection(WriteProtection state) { write_protection_ = state; }
    bool is_writable() const { return write_protection_ == WriteProtection::none; }
    /// Feature 05h, dword 11 of the command that set it, and what it is after a reset.
    std::uint32_t error_recovery() const { return error_recovery_; }
    std::uint32_t saved_error_recovery() const { return saved_error_recovery_; }
    void set_error_recovery(std::uint32_t value, bool is_saved) {
        error_recovery_ = value;
        if (is_saved)
            saved_error_recovery_ = value;
    }
    /// DULBE: a read of a deallocated block is an error.
    bool reports_deallocated() const { return (error_recovery_ & abi::nvme::reports_deallocated) != 0; }

    bool has(std::uint64_t lba, std::uint64_t count) const { return lba <= blocks_ && count <= blocks_ - lba; }
    std::uint64_t data_at(std::uint64_t lba) const { return lba * shape_.data_bytes(); }
    std::uint64_t metadata_at(std::uint64_t lba) const {
        return blocks_ * shape_.data_bytes() + lba * shape_.metadata_bytes();
    }
    /// The block that a byte of the medium belongs to.
    std::uint64_t block_of(std::uint64_t offset) const {
        const auto data = blocks_ * shape_.data_bytes();
        return offset < data ? offset / shape_.data_bytes() : (offset - data) / shape_.metadata_bytes();
    }

    const BlockMap& allocated() const { return allocated_; }
    const BlockMap& uncorrectable() const { return uncorrectable_; }
    struct Marks {
        bool is_allocated = true, is_uncorrectable = false;
    };
    /// Another file of the marks, which begins anew with the next format().
    void take_marks(std::unique_ptr<MarkFile> marks);
    /// What these blocks are from now on. False: it could not be written down.
    bool mark(std::uint64_t lba, std::uint64_t count, Marks marks, Durability durability);
    /// Everything that was written before, marks among it, is durable when this has ended well.
    MediumResult flush(port::Time at);

    /// Gives the blocks another shape; nothing of their content is left, nor of marks.
    MediumResult format(const Shape& shape, port::Time at);
    /// All blocks lose their content; they are deallocated, or hold `pattern`, a dword, from then on.
    MediumResult erase(port::Time at);
    MediumResult overwrite(std::uint32_t pattern, port::Time at);

private:
    void take_shape(const Shape& shape);
    void clear_marks();
    void find_allocated();

    std::uint32_t nsid_;
    std::uint64_t generation_;
    std::unique_ptr<Medium> medium_;
    Shape shape_;
    std::uint64_t blocks_ = 0;
    BlockMap allocated_, uncorrectable_;
    std::unique_ptr<MarkFile> marks_;
    bool is_attached_ = true;
    std::uint32_t error_recovery_ = 0, saved_error_recovery_ = 0;
    WriteProtection write_protection_ = WriteProtection::none;
};

} // namespace model::nvme
