// How an agent of the subnet management class walks its table of attributes (IBA 14.2.4): finds the row, lets it take
// over what a Set says, and fills in what a Get tells; a Set is answered like a Get.
#pragma once

#include "abi/wire/mad.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace model::management {

using AttributeData = std::span<std::byte, 64>;

/// The port that a modifier of PortInfo names. Bit 31 says that the subnet manager knows extended speeds
/// (IBA 14.2.5.6).
constexpr std::uint32_t port_of(std::uint32_t modifier) { return modifier & 0x7fffffff; }

/// A row has `id`, `get` and `set`, which is nullptr where the attribute is read only. `call(action, data)` carries one
/// out.
template <class Table, class Call>
abi::wire::MadStatus carry_out(const Table& table, abi::ConstView<abi::wire::MadHeader> header, AttributeData data,
                               Call&& call) {
    using namespace abi::wire;
    const auto method = static_cast<MadMethod>(header.get<"method">());
    const auto row = std::ranges::find_if(
        table, [id = static_cast<SmAttribute>(header.get<"attr_id">())](const auto& r) { return r.id == id; });
    if (header.get<"base_version">() != mad_base_version || header.get<"class_version">() != 1)
        return MadStatus::bad_version;
    if (row == std::ranges::end(table))
        return MadStatus::bad_attribute;
    if (method == MadMethod::set) {
        if (row->set == nullptr)
            return MadStatus::bad_attribute;
        if (const auto status = call(row->set, data); status != MadStatus::ok)
            return status;
    } else if (method != MadMethod::get) {
        return MadStatus::bad_method;
    }
    std::ranges::fill(data, std::byte{});
    return call(row->get, data);
}

} // namespace model::management
