// The driver of the simple HCA behind the face of the verbs (sw/verbs/verbs.h).
#pragma once

#include "sw/base/result.h"
#include "sw/verbs/verbs.h"

#include <memory>

namespace sw::simple {

/// What this architecture can do, whatever the sizes of a card.
inline constexpr verbs::Capabilities architecture{.model = "simple",
                                                  .has_atomics = false,
                                                  .has_inline = false,
                                                  .has_blue_flame = false,
                                                  .has_dmabuf = false,
                                                  .max_message = 1 << 30};

Result<std::unique_ptr<verbs::Context>> open_verbs(transport::Transport& transport);

} // namespace sw::simple
