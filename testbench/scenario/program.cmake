# The program as a person runs it: program_test.py has one function a case.
foreach(case verifies_itself keys_of_the_json same_seed_same_digest lossy_wire_verifies untimed_moves_the_same
             capture_roce_v2 capture_roce_v2_ipv6 capture_infiniband lossy_capture events_are_all_there
             fails_with_a_result explains_what_fails ends_of_all_keys keys_together ways_between_devices
             behind_a_remapping_unit
             refuses_configuration refuses_override refuses_payload refuses_too_large)
    string(REPLACE "_" " " words ${case})
    add_test(NAME "scenario: program: ${words}"
        COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scenario/program_test.py $<TARGET_FILE:hcasim> ${CMAKE_SOURCE_DIR} ${case})
    set_tests_properties("scenario: program: ${words}" PROPERTIES LABELS scenario TIMEOUT 300
        ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
endforeach()
foreach(case outputs_are_no_inputs results_go_to_standard_output signals_end_a_run_with_its_report lost_output_is_told
             failures_come_with_advice help_is_short_and_complete a_configuration_is_checked_and_printed a_terminal_is_treated_as_one
             json_is_as_its_schema_says captures_are_in_the_order_of_time)
    string(REPLACE "_" " " words ${case})
    add_test(NAME "scenario: program: ${words}"
        COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scenario/program_manners_test.py $<TARGET_FILE:hcasim> ${CMAKE_SOURCE_DIR} ${case})
    set_tests_properties("scenario: program: ${words}" PROPERTIES LABELS scenario TIMEOUT 300
        ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
endforeach()
# The explorer: a few points of its sweep; all of it is `hcasim explore all`.
foreach(case explores_without_a_violation explores_several_worlds nothing_tested_is_a_failure explorer_finds_a_planted_mistake
             explorer_finds_a_move_behind_the_card explorer_finds_a_missing_invalidation
             explorer_finds_a_missing_drain detector_finds_what_no_byte_shows
             explores_behind_remapping_units a_lossy_cable_is_no_violation explorer_refuses_mistakes)
    string(REPLACE "_" " " words ${case})
    add_test(NAME "scenario: explorer: ${words}"
        COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scenario/explore_test.py $<TARGET_FILE:hcasim> ${CMAKE_SOURCE_DIR} ${case})
    set_tests_properties("scenario: explorer: ${words}" PROPERTIES LABELS scenario TIMEOUT 600
        ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
endforeach()
foreach(case takes_every_way refused_by_the_host refuses_mistakes ends_of_its_keys)
    string(REPLACE "_" " " words ${case})
    add_test(NAME "scenario: dmabuf: ${words}"
        COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scenario/dmabuf_program_test.py $<TARGET_FILE:hcasim> ${CMAKE_SOURCE_DIR} ${case})
    set_tests_properties("scenario: dmabuf: ${words}" PROPERTIES LABELS scenario TIMEOUT 600
        ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
endforeach()
add_test(NAME "scenario: bench: the IOTLB has its knee where silicon has it, and the published rates on either side of it"
    COMMAND bench iommu --accesses 20000)
set_tests_properties("scenario: bench: the IOTLB has its knee where silicon has it, and the published rates on either side of it"
    PROPERTIES LABELS scenario TIMEOUT 300 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
foreach(case every_function_is_served clients_come_and_go refuses_a_socket_in_use refuses_a_directory_that_cannot_be
             explains_what_a_driver_does_wrong hostile_clients_cost_an_honest_one_nothing
             ends_on_every_signal_that_asks_for_it ends_when_nobody_listens_to_it stays_when_told_to_outlive_its_terminal
             refuses_a_directory_that_others_may_write_to)
    string(REPLACE "_" " " words ${case})
    add_test(NAME "scenario: serve: ${words}"
        COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scenario/serve_test.py $<TARGET_FILE:hcasim> ${CMAKE_SOURCE_DIR} ${case})
    set_tests_properties("scenario: serve: ${words}" PROPERTIES LABELS scenario TIMEOUT 300
        ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
endforeach()
# Drivers in a process of their own, the cards served from another.
foreach(case over_infiniband over_roce_in_simulated_time over_roce_with_ipv6 over_a_lossy_wire
             many_queue_pairs_and_small_messages one_after_another killed_in_the_middle the_server_dies nobody_serves
             cards_in_the_wrong_place no_room_for_the_payload refuses_mistakes)
    string(REPLACE "_" " " words ${case})
    add_test(NAME "scenario: drive: ${words}"
        COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scenario/drive_test.py
                $<TARGET_FILE:hcasim> $<TARGET_FILE:hcadrive> ${CMAKE_SOURCE_DIR} ${case})
    set_tests_properties("scenario: drive: ${words}" PROPERTIES LABELS scenario TIMEOUT 300
        ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
endforeach()
