# abi/gpu/sdma.h against the driver that will use it.
add_executable(dump_sdma witness/dump_sdma.cpp)
target_link_libraries(dump_sdma PRIVATE hca_abi hca_options)
add_dependencies(witness_level dump_sdma)
add_test(NAME "witness: packets and registers of copy engines are as Linux' driver has them"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/sdma_layouts.py $<TARGET_FILE:dump_sdma>
        ${CMAKE_SOURCE_DIR})
add_test(NAME "witness: a field of a copy engine's packet that is moved does not pass"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/sdma_layouts.py $<TARGET_FILE:dump_sdma>
        ${CMAKE_SOURCE_DIR} --damage)
set_tests_properties("witness: packets and registers of copy engines are as Linux' driver has them"
    "witness: a field of a copy engine's packet that is moved does not pass" PROPERTIES LABELS witness TIMEOUT 60)
