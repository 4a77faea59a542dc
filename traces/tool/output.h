// Text on its way out, in pieces of some size. What a file says may be shown on a terminal and must not steer it.
#pragma once

#include "traces/codec/stream.h"

#include <string>
#include <string_view>

namespace traces::tool {

class Output {
public:
    explicit Output(codec::Destination& destination) : destination_(destination) {}
    /// One line, without its end. Control characters in it become "\x1b".
    void line(std::string_view text);
    void flush();
    bool is_good() const { return failure_.empty(); }
    /// Why the destination takes nothing; the first reason.
    const std::string& failure() const { return failure_; }

private:
    static constexpr std::size_t most_bytes = 65536;
    codec::Destination& destination_;
    std::string buffer_, failure_;
};

} // namespace traces::tool
