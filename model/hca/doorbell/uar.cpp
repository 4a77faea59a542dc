#include "model/hca/doorbell/uar.h"

#include "abi/layout.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/wqe.h"

#include <algorithm>

namespace model::hca::doorbell {

namespace {

/// Whether a doorbell of 8 bytes begins here: the CQ register, or one of the two buffers of a BlueFlame register, which
/// software uses in turn (PRM "BlueFlame").
bool is_pair_register(std::uint32_t offset) {
    using namespace abi::prm;
    return offset == uar_cq_doorbell ||
           (offset >= uar_bfreg && offset < uar_bfreg_end && offset % bf_buffer_bytes == 0);
}
std::size_t register_number(std::uint32_t offset) {
    using namespace abi::prm;
    return offset == uar_cq_doorbell ? 0 : 1 + (offset - uar_bfreg) / bf_buffer_bytes;
}

/// `store` begins with the doorbell; of a BlueFlame register it may hold the whole WQE, or its first lines.
Doorbell decode_send(std::span<const std::byte> store) {
    const abi::ConstView<abi::prm::SendDoorbell> doorbell(store.first<8>());
    const auto index = static_cast<std::uint16_t>(doorbell.get<"wqe_index">());
    const auto blocks =
        (doorbell.get<"ds">() * abi::prm::wqe_ds_bytes + abi::prm::wqe_bb_bytes - 1) / abi::prm::wqe_bb_bytes;
    const auto bytes = std::size_t{blocks} * abi::prm::wqe_bb_bytes;
    const auto has_lines = store.size() >= abi::prm::wqe_bb_bytes && store.size() % abi::prm::wqe_bb_bytes == 0;
    const auto here = has_lines && bytes <= abi::prm::bf_buffer_bytes ? std::min(bytes, store.size()) : 0;
    return SendRing{.qpn = abi::Qpn{doorbell.get<"qpn">()},
                    .index = index,
                    .producer = static_cast<std::uint16_t>(index + blocks),
                    .wqe = store.first(here),
                    .wqe_bytes = bytes};
}

Doorbell decode(std::uint32_t offset, std::span<const std::byte, 8> value) {
    if (offset != abi::prm::uar_cq_doorbell)
        return decode_send(value);
    const abi::ConstView<abi::prm::CqDoorbell> doorbell(value);
    return CqArm{abi::Cqn{doorbell.get<"cqn">()},
                 {.consumer = doorbell.get<"ci">(),
                  .solicited_only = doorbell.get<"cmd">() == abi::prm::ArmCommand::solicited,
                  .sequence = static_cast<std::uint8_t>(doorbell.get<"cmd_sn">())}};
}

} // namespace

std::optional<Doorbell> Uar::write(std::uint32_t page, std::uint32_t offset, std::span<const std::byte> bytes) {
    if (page >= halves_.size())
        return std::nullopt;
    if (bytes.size() >= 8 && is_pair_register(offset)) [[likely]]
        return offset != abi::prm::uar_cq_doorbell ? decode_send(bytes) : decode(offset, bytes.first<8>());
    if (bytes.size() == 4 && (offset == abi::prm::uar_eq_arm || offset == abi::prm::uar_eq_update)) {
        const abi::ConstView<abi::prm::EqDoorbell> value(bytes);
        return EventsConsumed{abi::Eqn{value.get<"eqn">()}, value.get<"ci">(), offset == abi::prm::uar_eq_arm};
    }
    if (bytes.size() != 4)
        return std::nullopt;
    const auto start = offset & ~std::uint32_t{7};
    if (!is_pair_register(start) || offset % 4 != 0)
        return std::nullopt;
    auto& half = halves_[page][register_number(start)];
    if (offset == start) {
        half.is_set = true;
        std::ranges::copy(bytes, half.bytes.begin());
        return std::nullopt;
    }
    if (!half.is_set)
        return std::nullopt;
    std::array<std::byte, 8> value;
    std::ranges::copy(half.bytes, value.begin());
    std::ranges::copy(bytes, value.begin() + 4);
    half.is_set = false;
    return decode(start, value);
}

void Uar::reset() { std::ranges::fill(halves_, std::array<Half, registers>{}); }

} // namespace model::hca::doorbell
