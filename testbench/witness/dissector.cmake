# The dissector of traces/wireshark, as tshark runs it.
add_executable(dissector_tables witness/dissector_tables.cpp)
target_link_libraries(dissector_tables PRIVATE hca_codec hca_options)
if(HCA_SANITIZE)
    target_compile_options(dissector_tables PRIVATE -O0 -fno-sanitize=all) # it prints what the compiler knows
endif()
add_executable(dissector_trace witness/dissector_trace.cpp)
target_link_libraries(dissector_trace PRIVATE hca_core_benches hca_sw hca_devices hca_record hca_options)
add_dependencies(witness_level dissector_tables dissector_trace)
set(dissector ${CMAKE_SOURCE_DIR}/traces/wireshark)
function(hca_dissector_test name mode program)
    add_test(NAME "witness: ${name}" COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/dissector.py ${mode}
        $<TARGET_FILE:${program}> ${dissector})
    set_tests_properties("witness: ${name}" PROPERTIES LABELS witness TIMEOUT 300 COST 300
        ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
endfunction()
hca_dissector_test("the tables of the dissector are those of abi/ and traces/" tables dissector_tables)
hca_dissector_test("tshark reads in the first WRITE what the HCA has said" transcript dissector_trace)
hca_dissector_test("a dissector that is wrong somewhere does not pass" damage dissector_trace)
hca_dissector_test("spoilt records do not stop the dissector" malformed dissector_trace)
hca_dissector_test("the Lua of later Wiresharks reads the same as tshark" alone dissector_trace)
