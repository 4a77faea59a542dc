// The way into every test program. Each case is run in a process of its own, since SystemC elaborates once in a
// process.
#include "testbench/harness/source_tree.h"

#include <catch2/catch_session.hpp>
#include <systemc>

#include <cstdlib>

std::string testbench::source_tree() { return HCA_SOURCE_DIR; }

int sc_main(int argc, char** argv) { return Catch::Session().run(argc, argv); }

// In the place of the library's own, which opens with a banner.
int main(int argc, char** argv) {
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    return sc_core::sc_elab_and_sim(argc, argv);
}
