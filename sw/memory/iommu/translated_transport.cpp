#include "sw/memory/iommu/translated_transport.h"

#include "sw/memory/iommu/unit.h"

#include <fmt/format.h>

#include <cassert>
#include <cerrno>

namespace sw::memory::iommu {

namespace {
constexpr std::uint64_t offset_in_page(std::uint64_t address) { return address % page_bytes; }
constexpr std::uint64_t whole_pages(std::uint64_t address, std::uint64_t bytes) {
    return (offset_in_page(address) + bytes + page_bytes - 1) / page_bytes * page_bytes;
}
} // namespace

Result<transport::DmaMemory> TranslatedTransport::allocate(std::size_t bytes, std::size_t alignment) {
    auto memory = function_.allocate(bytes, alignment);
    if (!memory)
        return memory;
    const auto iova = space_.map(memory->bus, whole_pages(0, bytes), alignment);
    if (!iova) {
        function_.release(*memory);
        return std::unexpected(iova.error());
    }
    physical_.emplace(iova->value, memory->bus);
    space_.unit().note_memory(memory->data, memory->bus);
    return transport::DmaMemory{memory->data, iova->value, memory->size};
}

void TranslatedTransport::release(const transport::DmaMemory& memory) {
    const auto found = physical_.find(memory.bus);
    assert(found != physical_.end() && "what is released was allocated here");
    space_.unit().forget_memory(memory.data);
    // Memory that a device may still reach must not get another owner: when the unit does not answer, it is never
    // reused.
    if (space_.unmap(memory.bus, whole_pages(0, memory.size)))
        function_.release({memory.data, found->second, memory.size});
    physical_.erase(found);
}

Result<std::uint64_t> TranslatedTransport::map_peer(std::uint64_t bus, std::size_t bytes) {
    const auto route = find_route_ ? find_route_(bus) : PeerRoute::through_host;
    if (route == PeerRoute::none)
        return failure(
            EREMOTEIO,
            fmt::format("map {:#x} bytes of a peer at {:#x}: requests to it are redirected to the host, which "
                        "does not pass them on",
                        bytes, bus));
    const auto reached = function_.map_peer(bus, bytes);
    if (!reached || route == PeerRoute::direct) // no request on that way meets the remapping unit
        return reached;
    const auto offset = offset_in_page(*reached);
    const auto iova = space_.map(*reached - offset, whole_pages(*reached, bytes));
    if (!iova) {
        function_.unmap_peer(*reached, bytes);
        return std::unexpected(iova.error());
    }
    peers_.emplace(iova->value, *reached);
    return iova->value + offset;
}

void TranslatedTransport::unmap_peer(std::uint64_t address, std::size_t bytes) {
    const auto page = address - offset_in_page(address);
    const auto found = peers_.find(page);
    if (found == peers_.end())
        return function_.unmap_peer(address, bytes);
    [[maybe_unused]] const auto unmapped = space_.unmap(page, whole_pages(address, bytes));
    function_.unmap_peer(found->second, bytes);
    peers_.erase(found);
}

Result<std::uint64_t> TranslatedTransport::map_memory(const transport::DmaMemory& memory) {
    const auto physical = space_.unit().find_memory(memory.data);
    if (!physical)
        return failure(EINVAL, fmt::format("map {:#x} bytes of another function's memory at {:#x}: no function behind "
                                           "this remapping unit has it",
                                           memory.size, memory.bus));
    const auto iova = space_.map(*physical, whole_pages(0, memory.size));
    if (!iova)
        return std::unexpected(iova.error());
    return iova->value;
}

void TranslatedTransport::unmap_memory(std::uint64_t address, std::size_t bytes) {
    [[maybe_unused]] const auto unmapped = space_.unmap(address, whole_pages(0, bytes));
}

} // namespace sw::memory::iommu
