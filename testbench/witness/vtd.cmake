# abi/iommu against the driver that will use it.
add_executable(dump_vtd witness/dump_vtd.cpp)
target_link_libraries(dump_vtd PRIVATE hca_abi hca_options)
add_dependencies(witness_level dump_vtd)
add_test(NAME "witness: every VT-d structure stands where Linux' driver has it"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/vtd_layouts.py $<TARGET_FILE:dump_vtd>
        ${CMAKE_SOURCE_DIR})
add_test(NAME "witness: a VT-d field that is moved does not pass"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/vtd_layouts.py $<TARGET_FILE:dump_vtd>
        ${CMAKE_SOURCE_DIR} --damage)
set_tests_properties("witness: every VT-d structure stands where Linux' driver has it"
    "witness: a VT-d field that is moved does not pass" PROPERTIES LABELS witness TIMEOUT 60)
