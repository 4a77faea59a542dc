// Adds one to an eventfd of a client, and waits for nobody. A write would wait where the counter is full, and that an
// eventfd does not wait is a flag of the open file, which the client has, too, and takes back when it likes. The kernel
// itself signals an eventfd at the end of an asynchronous access, and never waits then: so there is an access, of a
// byte of a memory file, which ends before its submission returns.
#pragma once

#include "platform/bridge/vfio_user/descriptor.h"

#include <linux/aio_abi.h>

namespace platform::bridge::vfio_user {

class EventSignal {
public:
    EventSignal();
    ~EventSignal();
    EventSignal(const EventSignal&) = delete;
    EventSignal& operator=(const EventSignal&) = delete;

    /// A full counter stays full, and its reader finds it so.
    void raise(int event);

private:
    bool submit(int event);

    aio_context_t context_ = 0; ///< 0: the system has none for us
    Descriptor byte_;
};

} // namespace platform::bridge::vfio_user
