# cmake "-DFILES=unit/one_test.cpp;unit/other_test.cpp" -DROOT=. -DOUTPUT=together.cpp -P together.cmake: a source with
# the tests of these files, named from the root, each in a namespace of its own, so that two may call their helpers the
# same. What they include is included before: inside of a namespace it would be declared there.
cmake_policy(VERSION 3.25)
set(included "")
set(text "")
foreach(file IN LISTS FILES)
    file(STRINGS ${ROOT}/${file} lines REGEX "^#include ")
    list(APPEND included ${lines})
    string(MAKE_C_IDENTIFIER "${file}" name)
    string(APPEND text "namespace ${name} {\n#include \"${file}\"\n}\n")
endforeach()
list(REMOVE_DUPLICATES included)
list(JOIN included "\n" included)
file(WRITE ${OUTPUT} "${included}\n${text}")
