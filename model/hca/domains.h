// Domains have no state of their own: objects that refer to the same one belong together. These are the keys and queues
// of a protection domain (IBA "Protection domains"), and the queue pairs and shared receive queues of an XRC domain
// (PRM "XRC domain").
#pragma once

#include "model/hca/counted.h"

namespace model::hca {

struct ProtectionDomain : Counted {};
struct XrcDomain : Counted {};

} // namespace model::hca
