# Recordings as tshark and capinfos read them.
add_executable(trace_file witness/trace_file.cpp)
target_link_libraries(trace_file PRIVATE hca_codec hca_options)
add_dependencies(witness_level trace_file)
add_test(NAME "witness: tshark and capinfos read a recording as it was meant"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/trace_file.py $<TARGET_FILE:trace_file>)
add_test(NAME "witness: a damaged recording does not pass"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/trace_file.py --damage $<TARGET_FILE:trace_file>)
set_tests_properties("witness: tshark and capinfos read a recording as it was meant"
    "witness: a damaged recording does not pass" PROPERTIES LABELS witness TIMEOUT 120)
