// Reads the published dumps of traces/golden/published: dwords in memory order, or named values. A file that is missing
// or does not read as one fails the test that asked for it.
#pragma once

#include "testbench/harness/source_tree.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace testbench {

/// The lines of a published dump without comments and empty lines.
inline std::vector<std::string> golden_lines(const std::string& file) {
    std::ifstream in(source_tree() + "/traces/golden/published/" + file);
    if (!in)
        throw std::runtime_error("no golden file " + file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        if (!line.empty() && line[0] != '#')
            lines.push_back(line);
    return lines;
}

/// The bytes of a dump of big-endian dwords.
inline std::vector<std::byte> golden_bytes(const std::string& file) {
    std::vector<std::byte> bytes;
    for (const auto& line : golden_lines(file)) {
        std::istringstream words(line);
        for (std::string word; words >> word;) {
            const auto value = std::stoul(word, nullptr, 16);
            for (int shift = 24; shift >= 0; shift -= 8)
                bytes.push_back(static_cast<std::byte>(value >> shift & 0xff));
        }
    }
    return bytes;
}

/// The named values of a dump: name, then one or more numbers.
inline std::map<std::string, std::vector<std::uint64_t>> golden_values(const std::string& file) {
    std::map<std::string, std::vector<std::uint64_t>> values;
    for (const auto& line : golden_lines(file)) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        for (std::string word; words >> word;)
            values[name].push_back(std::stoull(word, nullptr, 0));
    }
    return values;
}

} // namespace testbench
