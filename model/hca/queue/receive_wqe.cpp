#include "model/hca/queue/receive_wqe.h"

#include "abi/prm/wqe.h"

#include <algorithm>

namespace model::hca::queue {

namespace {
/// The lkey of the segment that ends a receive WQE shorter than its stride (PRM "Receive WQE", invalid lkey).
constexpr std::uint32_t terminator_key = 0x100;
} // namespace

void ReceiveRequest::decode(std::span<const std::byte> wqe) {
    count = 0;
    rewind();
    const auto end = std::min(wqe.size(), max_segments * abi::prm::WqeData::size);
    for (std::size_t i = 0; i < end; i += abi::prm::WqeData::size) {
        const abi::ConstView<abi::prm::WqeData> data{wqe.subspan(i)};
        const auto bytes = data.get<"byte_count">();
        const auto key = data.get<"lkey">();
        if (bytes == 0 && key == terminator_key)
            break;
        segments[count++] = {.key = abi::Key{key}, .length = length_of(bytes), .address = data.get<"addr">()};
    }
}

} // namespace model::hca::queue
