# Stock Linux on the simulated cards: each case is a script that runs in a guest (see guest/case.py for what stands in
# its head).
# Guests come one after another, and first, so that the many short tests fill the core that a guest leaves idle; two
# guests at once take the machine for themselves. Cases on demand work with the release build: they take minutes as it
# is. The others work with the build that is tested anyhow: a second one takes longer than all of them together.
set(guest ${CMAKE_CURRENT_SOURCE_DIR}/guest)
set(guest_kernels)
add_custom_target(guest_level)
add_dependencies(guest_level hcasim hcadrive)

file(GLOB guest_cases CONFIGURE_DEPENDS ${guest}/cases/*.sh)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${guest_cases})
foreach(script ${guest_cases})
    set(timeout 120)
    set(machines A)
    set(kernel 6.12)
    set(run)
    set(root tools)
    file(STRINGS ${script} head REGEX "^# (name|timeout|kernel|machines|run|root): ")
    foreach(line ${head})
        string(REGEX MATCH "^# ([a-z]+): (.*)$" line "${line}")
        set(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endforeach()
    if(run STREQUAL "by hand")
        continue()
    endif()
    set(labels guest)
    set(fixtures guest_image)
    set(program $<TARGET_FILE:hcasim>)
    if(run STREQUAL "on demand") # with `./dev test guest`, not with all the others
        set(program ${CMAKE_SOURCE_DIR}/build/release/hcasim)
        list(APPEND labels long)
        list(APPEND fixtures guest_kernels)
        list(APPEND guest_kernels ${kernel})
    endif()
    if(root STREQUAL "applications")
        list(APPEND fixtures guest_applications)
    endif()
    # The runner's own limit comes first and says in which part; captures are judged afterwards.
    math(EXPR limit "${timeout} + 90")
    get_filename_component(stem ${script} NAME_WE)
    add_test(NAME "guest: ${name}"
        COMMAND ${HCA_PYTHON} -B ${guest}/run_case.py --hcasim-release ${program}
            --hcasim-asan $<TARGET_FILE:hcasim> --results ${CMAKE_BINARY_DIR}/guest/${stem} ${script})
    set(processors 1)
    if(machines MATCHES " ")
        set(processors 2)
    endif()
    set_tests_properties("guest: ${name}" PROPERTIES LABELS "${labels}" TIMEOUT ${limit} COST 1000
        PROCESSORS ${processors} RESOURCE_LOCK guest
        SKIP_RETURN_CODE 77 FIXTURES_REQUIRED "${fixtures}" ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
endforeach()

# The first time on a machine it fetches and unpacks Debian packages; afterwards it is done at once. Where Debian cannot
# be reached, guests are skipped, which ctest says.
list(REMOVE_DUPLICATES guest_kernels)
add_test(NAME "guest: the guests can be made from Debian's packages"
    COMMAND ${HCA_PYTHON} -B ${guest}/image.py)
set_tests_properties("guest: the guests can be made from Debian's packages" PROPERTIES LABELS guest TIMEOUT 1200
    SKIP_RETURN_CODE 77 FIXTURES_SETUP guest_image)
add_test(NAME "guest: the kernels can be made from Debian's packages"
    COMMAND ${HCA_PYTHON} -B ${guest}/image.py ${guest_kernels})
set_tests_properties("guest: the kernels can be made from Debian's packages" PROPERTIES LABELS "guest;long" TIMEOUT 1200
    SKIP_RETURN_CODE 77 FIXTURES_SETUP guest_kernels)
add_test(NAME "guest: the applications of guests can be made from Debian's packages"
    COMMAND ${HCA_PYTHON} -B ${guest}/image.py applications)
set_tests_properties("guest: the applications of guests can be made from Debian's packages"
    PROPERTIES LABELS "guest;long" TIMEOUT 1200 SKIP_RETURN_CODE 77 FIXTURES_SETUP guest_applications)

# What of the level needs no guest.
function(guest_check name program)
    add_test(NAME "guest: ${name}" COMMAND ${HCA_PYTHON} -B ${guest}/${program} ${ARGN})
    set_tests_properties("guest: ${name}" PROPERTIES LABELS guest TIMEOUT 120)
endfunction()
guest_check("a message of the kernel that nobody knows is found" kernel_log.py --self-test)
guest_check("a test of pyverbs that fails, or is skipped without our saying so, is found" pyverbs_table.py --self-test)
guest_check("a part of a guest is made once, whole or not at all" image_test.py)
guest_check("two guests have a network between them whichever comes up first" network_test.py)
set_tests_properties("guest: two guests have a network between them whichever comes up first" PROPERTIES
    FIXTURES_REQUIRED guest_image SKIP_RETURN_CODE 77)
