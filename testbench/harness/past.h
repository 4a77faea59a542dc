// What is past for everybody belongs to the whole program, as the kernel's time does. A test whose times begin at 0,
// without a kernel, says so by one of these.
#pragma once

#include "model/time/schedule.h"

namespace testbench {

class NothingIsPast {
public:
    NothingIsPast() { model::time::past_until = {}; }
    ~NothingIsPast() { model::time::past_until = before_; }
    NothingIsPast(const NothingIsPast&) = delete;
    NothingIsPast& operator=(const NothingIsPast&) = delete;

private:
    model::port::Time before_ = model::time::past_until;
};

} // namespace testbench
