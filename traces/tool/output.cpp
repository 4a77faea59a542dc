#include "traces/tool/output.h"

#include <fmt/format.h>

#include <iterator>
#include <span>

namespace traces::tool {

namespace {

/// Of UTF-8, U+0080 to U+009F are control characters, too: 0xc2, and a byte with these upper bits.
constexpr unsigned c1_lead = 0xc2, c1_mask = 0xe0, c1_bits = 0x80;

} // namespace

void Output::line(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
        const bool is_c1 = byte == c1_lead && (next & c1_mask) == c1_bits;
        if (byte >= ' ' && byte != 0x7f && !is_c1) [[likely]] {
            buffer_ += text[i];
            continue;
        }
        if (is_c1)
            byte = static_cast<unsigned char>(text[++i]);
        fmt::format_to(std::back_inserter(buffer_), "\\x{:02x}", byte);
    }
    buffer_ += '\n';
    if (buffer_.size() >= most_bytes)
        flush();
}

void Output::flush() {
    if (failure_.empty() && !buffer_.empty())
        if (const auto written = destination_.write(std::as_bytes(std::span(buffer_))); !written)
            failure_ = written.error();
    buffer_.clear();
}

} // namespace traces::tool
