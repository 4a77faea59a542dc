// The files of a command, looked at before any is opened for writing: none may be two things at once.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>

namespace hcasim {

struct NamedFile {
    enum class Use : std::uint8_t { input, output };
    std::string what; ///< "--json", "the configuration"
    std::string path; ///< of an output: "-" is standard output; empty: there is none
    Use use = Use::output;
};

/// An error when an output is an input or another output, by whatever names: hard and symbolic links, /dev/stdout.
/// Files are told apart by device and inode. Devices without a memory of what is written (/dev/null) may be several.
std::expected<void, std::string> are_apart(std::span<const NamedFile> files);

} // namespace hcasim
