# abi/nvme/fabrics.h against the headers of the driver that will talk with it.
add_executable(dump_fabrics witness/dump_fabrics.cpp)
target_link_libraries(dump_fabrics PRIVATE hca_abi hca_options)
add_dependencies(witness_level dump_fabrics)
set(fabrics_layouts ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/witness/fabrics_layouts.py
    $<TARGET_FILE:dump_fabrics> ${CMAKE_SOURCE_DIR})
add_test(NAME "witness: every structure of NVMe over Fabrics stands where Linux has it" COMMAND ${fabrics_layouts})
add_test(NAME "witness: a field of NVMe over Fabrics that is moved does not pass" COMMAND ${fabrics_layouts} --damage)
set_tests_properties("witness: every structure of NVMe over Fabrics stands where Linux has it"
    "witness: a field of NVMe over Fabrics that is moved does not pass" PROPERTIES LABELS witness TIMEOUT 60)
