// libsystemc's own main() calls sc_main; every test program is one.
#include <catch2/catch_session.hpp>
#include <systemc>

int sc_main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
