// Where the tree stands that the test programs were built from. Only one translation unit of a program is told, so that
// the others compile to the same objects wherever the tree stands, and a compiler cache serves every clone.
#pragma once

#include <string>

namespace testbench {

/// The absolute path of the tree's root, without a slash at its end.
std::string source_tree();

} // namespace testbench
