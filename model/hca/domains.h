// Objects that say nothing of themselves: what refers to the same one belongs together. Keys and queues of a protection
// domain (IBA "Protection domains"), queue pairs and shared receive queues of an XRC domain (PRM "XRC domain").
#pragma once

#include "model/hca/counted.h"

namespace model::hca {

struct ProtectionDomain : Counted {};
struct XrcDomain : Counted {};

} // namespace model::hca
