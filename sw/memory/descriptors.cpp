#include "sw/memory/descriptors.h"

#include <fmt/format.h>

#include <cerrno>

namespace sw::memory {

Result<int> Descriptors::install(DmaBufHandle buffer) {
    if (!buffer)
        return failure(EINVAL, "a descriptor for a dma-buf: there is no buffer");
    auto number = first;
    for (const auto& entry : buffers_) {
        if (entry.first != number)
            break;
        ++number;
    }
    if (number >= limit_)
        return failure(EMFILE, fmt::format("a descriptor for a dma-buf: {} files are open, that is the limit", limit_));
    buffers_.emplace(number, std::move(buffer));
    return number;
}

Result<DmaBufHandle> Descriptors::get(int descriptor) const {
    const auto found = buffers_.find(descriptor);
    if (found == buffers_.end())
        return failure(EBADF, fmt::format("descriptor {} is not open", descriptor));
    return found->second;
}

Result<int> Descriptors::duplicate(int descriptor) {
    auto buffer = get(descriptor);
    if (!buffer)
        return std::unexpected(std::move(buffer.error()));
    return install(std::move(*buffer));
}

Result<void> Descriptors::close(int descriptor) {
    const auto found = buffers_.find(descriptor);
    if (found == buffers_.end())
        return failure(EBADF, fmt::format("close: descriptor {} is not open", descriptor));
    const auto last = std::move(found->second); // the exporter is called with the number free already
    buffers_.erase(found);
    return {};
}

} // namespace sw::memory
