// libsystemc refers to it; the fuzzer has its own main().
#include <systemc>

int sc_main(int, char**) { return 0; }
