#include "testbench/load/text_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace load {

namespace {
constexpr std::size_t most_bytes = 1 << 30;
} // namespace

std::expected<std::string, std::string> read_text_file(const std::string& file) {
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    std::string text;
    for (std::array<char, 65536> part; stream.read(part.data(), part.size()) || stream.gcount() > 0;) {
        text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
        if (text.size() > most_bytes)
            return std::unexpected(fmt::format("{}: is larger than {} MiB", file, most_bytes >> 20));
    }
    if (!stream.eof())
        return std::unexpected(fmt::format("{}: cannot be read: {}", file, std::strerror(errno != 0 ? errno : EIO)));
    return text;
}

} // namespace load
