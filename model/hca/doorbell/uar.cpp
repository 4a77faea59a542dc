#include "model/hca/doorbell/uar.h"

#include "abi/layout.h"
#include "abi/prm/doorbell.h"

#include <algorithm>

namespace model::hca::doorbell {

using abi::Endian;

namespace {

constexpr std::uint32_t cq_register = 0x20, eq_arm_register = 0x40, eq_update_register = 0x48;
constexpr std::uint32_t first_bfreg = 0x800, end_of_page = 0x1000;
/// Software alternates between the two halves of a BlueFlame register (PRM "BlueFlame", log_bf_reg_size 9).
constexpr std::uint32_t bf_half = 1u << (abi::prm::log_bf_reg_size - 1);

bool is_pair_register(std::uint32_t offset) {
    return offset == cq_register || (offset >= first_bfreg && offset < end_of_page && offset % bf_half == 0);
}
std::size_t register_number(std::uint32_t offset) {
    return offset == cq_register ? 0 : 1 + (offset - first_bfreg) / bf_half;
}

Doorbell decode(std::uint32_t offset, std::span<const std::byte, 8> value) {
    if (offset != cq_register)
        return SendRing{abi::Qpn{abi::ConstView<abi::prm::SendDoorbell>(value).get<"qpn">()}};
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
        return decode(offset, bytes.first<8>());
    if (bytes.size() == 4 && (offset == eq_arm_register || offset == eq_update_register)) {
        const auto value = abi::load<std::uint32_t, Endian::big>(bytes.data());
        return EventsConsumed{abi::Eqn{value >> 24}, value & 0xffffff, offset == eq_arm_register};
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
