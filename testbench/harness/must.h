// What tests make of a call of the driver stack that has to succeed.
#pragma once

#include "sw/base/result.h"

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace harness {

/// The value of a result; a failure ends the test with its text.
template <class T> T must(sw::Result<T> result) {
    if (!result)
        throw std::runtime_error(result.error().what);
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

} // namespace harness
