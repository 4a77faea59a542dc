// A thread of the simulation that brings pages for a device (sw/mlx/memory/pager), for as long as the object lives.
#pragma once

#include "sw/mlx/device/device.h"

#include <systemc>

namespace harness {

class PageService {
public:
    explicit PageService(sw::mlx::Device& device);
    PageService(const PageService&) = delete;
    PageService& operator=(const PageService&) = delete;
    /// Waits for the thread's end, so it belongs into a thread of the simulation.
    ~PageService();

private:
    sw::mlx::Device& device_;
    bool is_stopping_ = false, is_over_ = false;
    sc_core::sc_event over_;
};

} // namespace harness
