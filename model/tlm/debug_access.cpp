#include "model/tlm/debug_access.h"

#include "model/memory/copy.h"

#include <algorithm>

namespace model::tlm {

namespace {
struct Sight { ///< what stands at an address
    pcie::Target target;
    std::uint64_t offset = 0; ///< of the address, from where the target begins
    std::uint64_t length = 0; ///< bytes from the address on; 0: nothing can be seen
};

Sight look(Fabric& fabric, const Extension& as, std::uint64_t address, ::tlm::tlm_command command) {
    Request request; // of its own: one of the requester may be under way
    request.extension = as;
    request.prepare(command, address, {});
    request.extension.kind = RequestKind::memory;
    request.extension.hops = {};
    request.extension.answer = {};
    request.extension.remapper = nullptr;
    ::tlm::tlm_dmi dmi;
    dmi.init();
    const bool is_memory = fabric.enter_direct(request.payload, request.extension, dmi);
    auto target = request.extension.answer;
    if (request.extension.remapper != nullptr || (!is_memory && target.completer == nullptr))
        return {};
    target.memory = is_memory ? reinterpret_cast<std::byte*>(dmi.get_dmi_ptr()) : nullptr;
    return {target, address - dmi.get_start_address(), dmi.get_end_address() - address + 1};
}
} // namespace

std::size_t peek(Fabric& fabric, const Extension& as, std::uint64_t address, std::span<std::byte> into) {
    std::size_t seen = 0;
    while (seen < into.size()) {
        const auto [target, offset, length] = look(fabric, as, address + seen, ::tlm::TLM_READ_COMMAND);
        const auto part = into.subspan(seen, std::min<std::uint64_t>(length, into.size() - seen));
        auto count = part.size();
        if (target.memory != nullptr) {
            memory::copy(part.data(), target.memory + offset, count);
            if (target.posted != nullptr)
                target.posted->show_to_device(target.memory + offset, part);
        } else if (target.completer != nullptr) {
            count = target.completer->peek(target.cookie, target.offset + offset, part);
        }
        if (count == 0)
            break;
        seen += count;
    }
    return seen;
}

std::size_t poke(Fabric& fabric, const Extension& as, std::uint64_t address, std::span<const std::byte> from) {
    std::size_t changed = 0;
    while (changed < from.size()) {
        const auto [target, offset, length] = look(fabric, as, address + changed, ::tlm::TLM_WRITE_COMMAND);
        const auto part = from.subspan(changed, std::min<std::uint64_t>(length, from.size() - changed));
        auto count = part.size();
        if (target.memory != nullptr)
            memory::copy(target.memory + offset, part.data(), count);
        else if (target.completer != nullptr)
            count = target.completer->poke(target.cookie, target.offset + offset, part);
        if (count == 0)
            break;
        changed += count;
    }
    return changed;
}

} // namespace model::tlm
