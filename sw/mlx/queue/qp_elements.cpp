// The scatter/gather elements of a WQE that was posted, read back from its ring: what a page fault event is about
// (PRM "WQE format").
#include "sw/mlx/queue/qp.h"

#include <array>
#include <cstring>

namespace sw::mlx {

using namespace abi::prm;

namespace {

/// One segment of 16 bytes.
using Segment = std::array<std::byte, wqe_ds_bytes>;

void append(std::vector<Sge>& elements, const Segment& segment) {
    const abi::ConstView<WqeData> data(segment);
    elements.push_back({data.get<"addr">(), data.get<"byte_count">(), data.get<"lkey">()});
}

} // namespace

std::vector<Sge> QueuePair::sent_elements(std::uint16_t index) const {
    if (ring_.base == nullptr)
        return {};
    const auto* at = ring_.block(index);
    const auto next = [&] {
        Segment segment;
        std::memcpy(segment.data(), at, segment.size());
        at += segment.size();
        if (at == ring_.end())
            at = ring_.base;
        return segment;
    };
    const auto first = next();
    const abi::ConstView<WqeCtrl> ctrl(first);
    std::vector<Sge> elements;
    for (const auto& shape : send_shapes) {
        if (shape.opcode != ctrl.get<"opcode">() || !shape.has_data)
            continue;
        auto left = ctrl.get<"ds">() - 1;
        for (auto skipped = 0u + shape.has_remote + shape.has_atomic; left != 0 && skipped != 0; --skipped, --left)
            next();
        for (; left != 0; --left) {
            const auto segment = next();
            if (abi::ConstView<WqeInline>(std::span(segment).first(WqeInline::size)).get<"inline">())
                return {}; // the data is in the WQE
            append(elements, segment);
        }
        break;
    }
    return elements;
}

std::vector<Sge> QueuePair::posted_elements(std::uint16_t index) const {
    std::vector<Sge> elements;
    if (receive_ring_ == nullptr)
        return elements;
    const auto* wqe = receive_ring_ + std::size_t{index & (receive_count_ - 1)} * receive_stride_;
    for (std::uint32_t at = 0; at + wqe_ds_bytes <= receive_stride_; at += wqe_ds_bytes) {
        Segment segment;
        std::memcpy(segment.data(), wqe + at, segment.size());
        const abi::ConstView<WqeData> data(segment);
        if (data.get<"byte_count">() == 0) // the terminator
            break;
        append(elements, segment);
    }
    return elements;
}

} // namespace sw::mlx
