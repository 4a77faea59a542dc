// A file of text as a whole.
#pragma once

#include <expected>
#include <string>

namespace load {

/// At most 1 GiB. The error has the file's name and why: "list.txt: cannot be read: No such file or directory".
std::expected<std::string, std::string> read_text_file(const std::string& file);

} // namespace load
