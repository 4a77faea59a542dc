# fuzz/NAME_fuzz.cpp becomes the libFuzzer program NAME_fuzz; fuzz/corpus/NAME/ is what it learnt and is kept.
# Each test replays the corpus in the build of the other levels, which GCC has made: libFuzzer is told nothing of the
# ways that a run takes there, and changes what is kept at random. `./dev test fuzz` has a tree of its own, built by
# clang, in which it searches for a while; what it finds new goes to the build tree.
# To search for long: build/fuzz/testbench/NAME_fuzz testbench/fuzz/corpus/NAME
if(HCA_FUZZ)
    set(fuzz_library -fsanitize=fuzzer)
    set(fuzz_title "fuzz: search ")
    set(fuzz_limits -max_total_time=10)
else()
    find_program(fuzz_clang clang++-19)
    if(fuzz_clang)
        execute_process(COMMAND ${fuzz_clang} -print-file-name=libclang_rt.fuzzer-${CMAKE_SYSTEM_PROCESSOR}.a
            OUTPUT_VARIABLE fuzz_library OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    if(NOT IS_ABSOLUTE "${fuzz_library}" OR NOT EXISTS "${fuzz_library}")
        if(HCA_TESTS)
            message(FATAL_ERROR "no libFuzzer: `./dev test` brings it; by hand, install clang-19, libclang-rt-19-dev")
        endif()
        return()
    endif()
    set(fuzz_title "fuzz: ")
    set(fuzz_limits -keep_seed=1 -runs=20000 -max_total_time=5)
endif()
set(fuzz_config_space_libraries hca_platform) # a machine with its sockets; most need cores only
set(fuzz_vfio_user_libraries hca_platform)
set(fuzz_trace_libraries hca_trace_tool hca_monitor hca_codec)
set(fuzz_trace_frames_libraries hca_codec)
set(fuzz_import_dump_libraries hca_importer)
set(fuzz_import_capture_libraries hca_importer)
set(fuzz_platform_text_libraries hca_platform)
set(fuzz_message_list_libraries hca_workload)
set(fuzz_study_libraries hca_program)
set(fuzz_results_libraries hca_program PkgConfig::SQLITE)
set(fuzz_compared_libraries hca_program)
add_custom_target(fuzzers)
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/*_fuzz.cpp)
foreach(source ${fuzz_sources})
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" name ${program})
    set(kept ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name})
    set(found ${CMAKE_CURRENT_BINARY_DIR}/corpus/${name})
    file(MAKE_DIRECTORY ${found})

    add_executable(${program} ${source})
    if("${fuzz_${name}_libraries}" MATCHES "hca_(platform|workload|program)")
        target_sources(${program} PRIVATE fuzz/sc_main.cpp) # they have SystemC
    endif()
    target_link_libraries(${program} PRIVATE ${fuzz_${name}_libraries} hca_core_benches hca_devices hca_options)
    target_link_libraries(${program} PRIVATE ${fuzz_library})
    add_dependencies(fuzzers ${program})

    if(NOT IS_DIRECTORY ${kept})
        set(kept "")
    endif()
    # libFuzzer keeps a copy of its program's name, of which no pointer need be left at the end; the leak check then
    # takes it for one of ours. A short name has no memory of its own.
    add_test(NAME "${fuzz_title}${name}" COMMAND bash -c "exec -a fuzz \"$0\" \"$@\"" $<TARGET_FILE:${program}>
        -seed=1 ${fuzz_limits} -timeout=10 -rss_limit_mb=2048
        -artifact_prefix=${found}/ -print_final_stats=1 ${found} ${kept})
    set_tests_properties("${fuzz_title}${name}" PROPERTIES LABELS fuzz TIMEOUT 120)
endforeach()
