// The file descriptors of buffers in a process: dma_buf_fd, dma_buf_get, dup, close. A number holds a reference, and a
// look-up gives another one. Programs pass memory to each other as such a number.
#pragma once

#include "sw/base/result.h"
#include "sw/memory/dmabuf.h"

#include <map>

namespace sw::memory {

class Descriptors {
public:
    static constexpr int first = 3; ///< behind the standard streams

    /// `limit` is the number of open files a process may have (RLIMIT_NOFILE).
    explicit Descriptors(int limit = 1024) : limit_(limit) {}

    /// The lowest free number. EINVAL for no buffer, EMFILE when all are taken.
    Result<int> install(DmaBufHandle buffer);
    /// A reference to the buffer of `descriptor`. EBADF when it is not open.
    Result<DmaBufHandle> get(int descriptor) const;
    /// A second number for the same buffer.
    Result<int> duplicate(int descriptor);
    /// EBADF when it is not open. The exporter is told when this was the last reference.
    Result<void> close(int descriptor);

private:
    int limit_;
    std::map<int, DmaBufHandle> buffers_;
};

} // namespace sw::memory
