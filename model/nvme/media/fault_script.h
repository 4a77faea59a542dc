// What of a medium fails, as a line of a configuration says it: faults with commas between them, each a word and, where
// it needs them, numbers of logical blocks, the last one included:
//
//   read 100, write 8..15, full 16..31, silent 40, flush, power 7
#pragma once

#include "model/nvme/media/medium.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace model::nvme {

/// What is wrong with the script, whatever the size of the medium; nothing where it is right.
std::optional<std::string> fault_of_script(std::string_view script);
/// `medium` with the faults of the script, of blocks of `block_bytes`. Throws std::invalid_argument where the script is
/// wrong, or has a block that the medium does not have.
std::unique_ptr<Medium> make_faulty(std::unique_ptr<Medium> medium, std::string_view script, std::uint32_t block_bytes);

} // namespace model::nvme
