#include "model/nvme/space/namespace.h"

#include "abi/layout.h"

#include <array>
#include <vector>

namespace model::nvme {

Namespace::Namespace(std::uint32_t nsid, std::uint64_t generation, std::unique_ptr<Medium> medium, const Shape& shape)
    : nsid_(nsid), generation_(generation), medium_(std::move(medium)) {
    take_shape(shape);
    find_allocated();
}

void Namespace::take_shape(const Shape& shape) {
    shape_ = shape;
    blocks_ = medium_->size() / shape.stored_bytes();
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

MediumResult Namespace::erase(port::Time at) {
    auto result = medium_->discard(0, medium_->size(), Durability::durable, at);
    if (result.is_ok()) {
        allocated_.resize(blocks_);
        uncorrectable_.resize(blocks_);
    }
    return result;
}

MediumResult Namespace::format(const Shape& shape, port::Time at) {
    const auto result = erase(at);
    if (result.is_ok())
        take_shape(shape);
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
    if (result.is_ok())
        result = medium_->flush(result.done);
    if (result.is_ok()) {
        allocated_.set(0, blocks_, true);
        uncorrectable_.resize(blocks_);
    }
    return result;
}

} // namespace model::nvme
