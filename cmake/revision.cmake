# cmake -DSOURCE=... -DOUTPUT=revision.cpp -P revision.cmake: the revision of the tree as a source; touched only when it
# changes.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR revision STREQUAL "")
    set(revision unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[#include "testbench/program/version.h"

std::string_view hcasim::revision() { return "@revision@"; }
]])
