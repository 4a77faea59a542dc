option(HCA_SANITIZE "AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(HCA_SANITIZE_THREADS "ThreadSanitizer, in the place of the others" OFF)
option(HCA_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(HCA_MUTANTS "The copy of the tree whose guards can be broken (testbench/mutants), tests without sanitizers" OFF)

add_library(hca_options INTERFACE)
target_compile_options(hca_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
# Other compilers warn of other things (`./dev lint` reads clang's): only the compiler that everybody builds with
# refuses.
target_compile_options(hca_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Werror>)
if(HCA_SANITIZE)
    # Lines in backtraces are enough here: full debug information is a third of the time to compile. Preset debug has
    # it.
    # Each case of a test is a process. Nine tenths of the start of one were its relocations and the tables of two
    # checks that add nothing here: a null pointer that is used stops the process anyhow, and casts down are not ours.
    # Programs have a fixed place, therefore, which libFuzzer's clang need not know.
    add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,vptr -fno-sanitize-recover=undefined
        -fno-omit-frame-pointer -O1 -g1 $<$<CXX_COMPILER_ID:GNU>:-fno-pie>)
    add_compile_definitions(_GLIBCXX_ASSERTIONS)
    add_link_options(-fsanitize=address,undefined $<$<CXX_COMPILER_ID:GNU>:-no-pie>)
endif()
# For the tests that have threads: the socket transport's, and drivers beside a served platform.
if(HCA_SANITIZE_THREADS)
    # GCC warns of each fence of the drivers (sw/base/barrier.h), because this sanitizer does not model fences: a report
    # of accesses that only a fence orders would be a false one.
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -O1 -g1 -Wno-tsan)
    add_compile_definitions(_GLIBCXX_ASSERTIONS)
    add_link_options(-fsanitize=thread)
endif()
# What is rewritten warns of what nobody wrote.
if(HCA_MUTANTS)
    add_compile_options(-O1 -w)
    add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
if(HCA_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# The data path crosses many small files; what they call in each other is inlined at link time.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT HCA_SANITIZE)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
    # Two types of one name, which no compilation of a single file can see.
    add_link_options($<$<CXX_COMPILER_ID:GNU>:-Werror=odr>)
endif()

# What most files of a target read first is read once for all of them: in the rooms of the HCA that is two thirds of the
# time to compile a file. Warnings about such a header come from the builds that read it each time: the release build
# does, of whose fewer files it would not be less work.
function(hca_precompile target)
    if(ARGN AND (HCA_SANITIZE OR HCA_MUTANTS) AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Spelled from the root, so that every clone has the same bytes and a compiler cache serves them all.
        list(TRANSFORM ARGN PREPEND "<")
        list(TRANSFORM ARGN APPEND ">")
        target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
endfunction()

# The headers that another library has precompiled, with the same options.
function(hca_precompile_as target other)
    get_target_property(there ${other} PRECOMPILE_HEADERS)
    if(there)
        target_precompile_headers(${target} REUSE_FROM ${other})
    endif()
endfunction()

# Files of a room are compiled together: what they include is read once, and what it needs of templates is made once,
# which is most of the time to compile one of them. A directory is such a room; of a large one, the files that begin
# alike. What two files of a room call the same in their unnamed namespaces does not compile then: such names are made
# to say what they are, or the file is left out, by what its name matches.
option(HCA_UNITE "Compile the files of a room together" ON)
function(hca_unite target) # and what is left out, a regular expression
    if(NOT HCA_UNITE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        cmake_path(GET source PARENT_PATH room)
        cmake_path(RELATIVE_PATH room BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
        string(MAKE_C_IDENTIFIER "${room}" room)
        math(EXPR count_${room} "0${count_${room}} + 1")
    endforeach()
    foreach(source IN LISTS sources)
        cmake_path(GET source PARENT_PATH room)
        cmake_path(GET source FILENAME name)
        cmake_path(RELATIVE_PATH room BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
        string(MAKE_C_IDENTIFIER "${room}" room)
        if(count_${room} GREATER 12)
            string(SUBSTRING "${name}" 0 1 letter)
            string(APPEND room "_${letter}")
        endif()
        if(NOT ARGN OR NOT name MATCHES "${ARGN}")
            set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${room}")
        endif()
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
