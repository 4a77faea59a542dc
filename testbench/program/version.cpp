#include "testbench/program/version.h"

namespace hcasim {

std::string_view version() { return HCASIM_VERSION; }
// revision() is made by cmake/revision.cmake.

} // namespace hcasim
