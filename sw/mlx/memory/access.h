// Rights of memory regions and queue pairs, as the verbs have them.
#pragma once

#include "sw/verbs/access.h"

namespace sw::mlx {

using verbs::Access;
using verbs::all_access;
using verbs::has;

} // namespace sw::mlx
