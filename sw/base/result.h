// Errors of the environment as values: what failed, where, why. A driver returns them up to a person.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace sw {

struct Error {
    int code = 0;     ///< errno value, or a device's status where `what` says so
    std::string what; ///< one sentence: operation, object, reason
};

template <class T> using Result = std::expected<T, Error>;

inline std::unexpected<Error> failure(int code, std::string what) {
    return std::unexpected(Error{code, std::move(what)});
}

} // namespace sw
