#include "platform/bridge/vfio_user/event_signal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace platform::bridge::vfio_user {

EventSignal::EventSignal() : byte_(::memfd_create("signal", MFD_CLOEXEC)) {
    if (!byte_ || ::ftruncate(byte_.number(), 1) != 0 || ::syscall(SYS_io_setup, 1, &context_) != 0)
        context_ = 0;
}

EventSignal::~EventSignal() {
    if (context_ != 0)
        ::syscall(SYS_io_destroy, context_);
}

void EventSignal::raise(int event) {
    if (context_ != 0 && submit(event))
        return;
    // Without asynchronous accesses the flag is put back before each write: a client has but a moment to take it away.
    const int flags = ::fcntl(event, F_GETFL);
    if (flags < 0 || ::fcntl(event, F_SETFL, flags | O_NONBLOCK) != 0)
        return;
    constexpr std::uint64_t one = 1;
    // A full counter is as good as one more: its reader has not looked yet.
    [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);
}

bool EventSignal::submit(int event) {
    char byte = 0;
    iocb read{};
    read.aio_lio_opcode = IOCB_CMD_PREAD;
    read.aio_fildes = static_cast<std::uint32_t>(byte_.number());
    read.aio_buf = reinterpret_cast<std::uintptr_t>(&byte);
    read.aio_nbytes = sizeof byte;
    read.aio_flags = IOCB_FLAG_RESFD;
    read.aio_resfd = static_cast<std::uint32_t>(event);
    iocb* const all = &read;
    if (::syscall(SYS_io_submit, context_, 1, &all) != 1)
        return false;
    io_event done{};
    timespec none{};
    ::syscall(SYS_io_getevents, context_, 1, 1, &done, &none); // it has ended; its place is free again
    return true;
}

} // namespace platform::bridge::vfio_user
