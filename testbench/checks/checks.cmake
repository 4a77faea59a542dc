# Each check reads the tree (ctest label `checks`) and proves on a planted violation that it sees one.
add_custom_target(checks)
foreach(check layers rooms size paths width words format asserts cases rules mutants)
    set(program ${CMAKE_CURRENT_SOURCE_DIR}/checks/${check}.py)
    add_test(NAME "checks: ${check}" COMMAND ${HCA_PYTHON} -B ${program} ${CMAKE_SOURCE_DIR})
    add_test(NAME "checks: ${check} finds what is planted" COMMAND ${HCA_PYTHON} -B ${program} --self-test)
    set_tests_properties("checks: ${check}" "checks: ${check} finds what is planted"
        PROPERTIES LABELS checks TIMEOUT 300)
endforeach()
# The table of mutants is read above; this breaks a planted file with each of its mutants.
add_test(NAME "checks: a guard that is broken is noticed where a case passes through it"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/mutants/mutants_test.py)
set_tests_properties("checks: a guard that is broken is noticed where a case passes through it"
    PROPERTIES LABELS checks TIMEOUT 300)
