# Frames as tshark and scapy read them.
add_executable(wire_frames witness/wire_frames.cpp)
target_link_libraries(wire_frames PRIVATE hca_observe hca_options)
add_dependencies(witness_level wire_frames)
add_test(NAME "witness: tshark and scapy read every packet as it was meant"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/wire_frames.py $<TARGET_FILE:wire_frames>)
add_test(NAME "witness: a damaged capture does not pass"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/wire_frames.py --damage $<TARGET_FILE:wire_frames>)
set_tests_properties("witness: tshark and scapy read every packet as it was meant"
    "witness: a damaged capture does not pass" PROPERTIES LABELS witness TIMEOUT 300
    ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
add_executable(plain_frames witness/plain_frames.cpp)
target_link_libraries(plain_frames PRIVATE hca_observe hca_options)
add_dependencies(witness_level plain_frames)
add_test(NAME "witness: frames that scapy makes cross a cable as tshark reads them"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/plain_frames.py $<TARGET_FILE:plain_frames>)
set_tests_properties("witness: frames that scapy makes cross a cable as tshark reads them"
    PROPERTIES LABELS witness TIMEOUT 120 ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
