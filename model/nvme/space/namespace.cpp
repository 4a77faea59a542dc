#include "model/nvme/space/namespace.h"

#include "abi/layout.h"

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace model::nvme {

Namespace::Namespace(std::uint32_t nsid, std::uint64_t generation, std::unique_ptr<Medium> medium, const Shape& shape,
                     std::unique_ptr<MarkFile> marks)
    : nsid_(nsid), generation_(generation), medium_(std::move(medium)), marks_(std::move(marks)) {
    take_shape(shape);
    if (marks_ && !marks_->is_new()) {
        marks_->load(blocks_, generation_, allocated_, uncorrectable_);
        return;
    }
    find_allocated();
    if (marks_ && (!marks_->begin(blocks_, generation_) ||
                   !marks_->store(MarkFile::Plane::allocated, allocated_, 0, blocks_) || !marks_->sync()))
        throw std::runtime_error("the marks of namespace " + std::to_string(nsid_) + " cannot be written");
}

Namespace::~Namespace() = default;

void Namespace::take_marks(std::unique_ptr<MarkFile> marks) { marks_ = std::move(marks); }

void Namespace::take_shape(const Shape& shape) {
    shape_ = shape;
    blocks_ = medium_->size() / shape.stored_bytes();
    clear_marks();
}

void Namespace::clear_marks() {
    allocated_.resize(blocks_);
    uncorrectable_.resize(blocks_);
}

void Namespace::find_allocated() {
    const auto data_end = blocks_ * shape_.data_bytes();
    for (auto extent = medium_->next_data(0); extent && extent->begin < data_end;
         extent = medium_->next_data(extent->end)) {
        const auto first = extent->begin / shape_.data_bytes();
        const auto end = std::min(blocks_, (extent->end + shape_.data_bytes() - 1) / shape_.data_bytes());
        allocated_.set(first, end - first, true);
        if (extent->end >= data_end)
            break;
    }
}

bool Namespace::mark(std::uint64_t lba, std::uint64_t count, Marks marks, Durability durability) {
    const auto set = [&](BlockMap& map, MarkFile::Plane plane, bool value) {
        const auto before = map.count();
        map.set(lba, count, value);
        return map.count() == before || marks_ == nullptr || marks_->store(plane, map, lba, count);
    };
    bool is_written = set(allocated_, MarkFile::Plane::allocated, marks.is_allocated);
    is_written &= set(uncorrectable_, MarkFile::Plane::uncorrectable, marks.is_uncorrectable);
    return is_written && (marks_ == nullptr || durability != Durability::durable || marks_->sync());
}

MediumResult Namespace::flush(port::Time at) {
    auto result = medium_->flush(at);
    if (result.is_ok() && marks_ != nullptr && !marks_->sync())
        result.status = MediumStatus::write_fault;
    return result;
}

MediumResult Namespace::erase(port::Time at) {
    auto result = medium_->discard(0, medium_->size(), Durability::durable, at);
    if (!result.is_ok())
        return result;
    clear_marks();
    if (marks_ != nullptr && !marks_->begin(blocks_, generation_))
        result.status = MediumStatus::write_fault;
    return result;
}

MediumResult Namespace::format(const Shape& shape, port::Time at) {
    auto result = erase(at);
    if (!result.is_ok())
        return result;
    take_shape(shape);
    if (marks_ != nullptr && !marks_->begin(blocks_, generation_))
        result.status = MediumStatus::write_fault;
    return result;
}

MediumResult Namespace::overwrite(std::uint32_t pattern, port::Time at) {
    std::vector<std::byte> bytes(1 << 16);
    for (std::size_t i = 0; i < bytes.size(); i += 4)
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data() + i, pattern);
    MediumResult result{.done = at};
    for (std::uint64_t offset = 0; offset < medium_->size() && result.is_ok();) {
        const auto part = std::min<std::uint64_t>(bytes.size(), medium_->size() - offset);
        const std::array piece{std::span<const std::byte>(bytes).first(part)};
        result = medium_->write(offset, piece, Durability::volatile_cache, result.done);
        offset += part;
    }
    if (!result.is_ok())
        return result;
    if (!mark(0, blocks_, {}, Durability::volatile_cache))
        result.status = MediumStatus::write_fault;
    return result.is_ok() ? flush(result.done) : result;
}

} // namespace model::nvme
