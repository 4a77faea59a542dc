# The programs as a person runs them. A script has one function a case, whose name is the test's.

# add_program_tests(GROUP SCRIPT PROGRAMS TIMEOUT CASE...): TIMEOUT in seconds, of a case; PROGRAMS are targets, whose
# files the script gets before the tree and the case.
function(add_program_tests group script programs timeout)
    set(files)
    separate_arguments(programs)
    foreach(program ${programs})
        list(APPEND files $<TARGET_FILE:${program}>)
    endforeach()
    foreach(case ${ARGN})
        string(REPLACE "_" " " words ${case})
        add_test(NAME "scenario: ${group}: ${words}"
            COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scenario/${script} ${files}
                ${CMAKE_SOURCE_DIR} ${case})
        # What may take longest begins first, so that nobody waits for it alone at the end.
        set_tests_properties("scenario: ${group}: ${words}" PROPERTIES LABELS scenario TIMEOUT ${timeout}
            COST ${timeout} ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
    endforeach()
endfunction()

add_program_tests(program program_test.py "hcasim" 300
    verifies_itself keys_of_the_json same_seed_same_digest lossy_wire_verifies untimed_moves_the_same
    capture_roce_v2 capture_roce_v2_ipv6 capture_infiniband lossy_capture events_are_all_there
    fails_with_a_result explains_what_fails platforms_are_drawn ends_of_all_keys keys_together ways_between_devices
    behind_a_remapping_unit refuses_configuration refuses_override refuses_payload refuses_too_large)
add_program_tests(program program_manners_test.py "hcasim" 300
    outputs_are_no_inputs results_go_to_standard_output signals_end_a_run_with_its_report lost_output_is_told
    failures_come_with_advice what_waits_for_a_subnet_manager_is_refused help_is_short_and_complete help_is_words
    a_configuration_is_checked_and_printed
    a_terminal_is_treated_as_one json_is_as_its_schema_says queues_are_counted captures_are_in_the_order_of_time
    a_large_payload_is_streamed)
add_program_tests(record record_test.py "hcasim" 300
    a_recorded_run_is_the_run_itself only_what_is_named_is_recorded names_of_nothing_are_refused
    a_full_disk_stops_the_run_or_does_not signals_close_the_file a_killed_run_leaves_what_it_had)
add_program_tests(compare compare_test.py "hcasim" 300
    the_same_run_is_equal another_seed_is_found a_change_of_time_is_let_through_where_asked
    the_tolerances_of_the_help_let_a_change_of_time_through
    a_baseline_is_kept_and_compared_with a_baseline_is_not_spoiled a_report_on_standard_output_is_nothing_else
    hostile_files_are_refused)
# The explorer: a few points of its sweep; all of it is `hcasim explore all`.
add_program_tests(explorer explore_test.py "hcasim" 600
    explores_without_a_violation explores_several_worlds nothing_tested_is_a_failure the_monitor_finds_nothing
    explorer_finds_a_planted_mistake the_first_violation_is_recorded explorer_finds_a_move_behind_the_card
    explorer_finds_a_missing_invalidation
    explorer_finds_a_missing_drain detector_finds_what_no_byte_shows explores_behind_remapping_units
    a_lossy_cable_is_no_violation explores_a_drive explorer_finds_a_drive_that_does_not_let_go
    explores_pages_of_a_gpu explores_a_revoked_bar explorer_finds_a_step_that_the_driver_of_a_gpu_leaves_out
    detector_names_the_page_of_a_gpu all_is_every_subject
    what_a_program_of_a_gpu_needs_its_fences_for a_fence_whose_adversary_stays_away_has_not_been_tested
    explorer_refuses_mistakes)
# Cards beside published figures: a few quick rows; all of them is `hcasim calibrate`.
add_program_tests(calibrate calibrate_test.py "hcasim" 600
    profiles_are_configurations each_value_of_a_profile_has_its_source a_few_rows_are_measured a_slower_link_is_seen
    rows_are_listed calibration_refuses_mistakes)
# Studies: many small runs, their results file, and their page in a browser.
add_program_tests(sweep sweep_test.py "hcasim" 600
    every_point_is_what_its_command_does a_killed_sweep_comes_to_the_same_content
    an_interrupt_ends_after_the_points_under_way_and_says_how_to_go_on mistakes_are_refused_with_their_lines
    points_that_fail_are_recorded_and_others_go_on
    a_value_that_runs_nowhere_is_refused_and_one_that_runs_beside_others_is_not
    a_file_that_is_not_this_studys_stays_as_it_is
    a_knee_is_found_between_two_neighbours the_better_half_goes_on_with_more
    repetitions_end_when_the_interval_is_narrow the_minutes_of_one_call_are_not_those_of_the_sweep
    one_axis_at_a_time_and_products_of_axes keys_without_effect_are_told
    options_that_would_do_nothing_are_refused)
add_program_tests(studies studies_test.py "hcasim" 600
    shipped_studies_can_be_begun
    connection_scaling_has_its_knee_in_the_published_band the_reach_of_translations_is_that_of_their_pages
    a_doorbell_for_a_batch_is_better_than_blue_flame reads_go_as_far_as_their_window
    a_ring_is_for_many_bytes_and_a_tree_for_many_hosts
    access_control_costs_what_the_upstream_link_lacks a_small_buffer_costs_dcqcn_its_rate
    small_reductions_let_flows_that_join_share_and_fill_the_line
    the_iotlb_has_its_knee_in_the_published_band a_time_out_decides_what_loss_costs)
# The same as job arrays, on a cluster of the test's own.
add_program_tests(slurm slurm_test.py "hcasim" 900
    arrays_come_to_the_same_content_as_processes_here a_node_is_drained_and_tasks_are_killed_in_the_middle
    a_killed_coordinator_finds_its_array_at_work a_coordinator_killed_before_it_knew_its_job_finds_it_by_name
    an_interrupt_takes_back_what_waits_and_says_how_to_go_on
    a_point_whose_tasks_die_is_recorded_with_what_slurm_says torn_and_foreign_results_do_not_count
    a_controller_that_goes_away_is_waited_for what_cannot_be_submitted_is_refused)
add_program_tests(report report_test.py "hcasim" 600
    numbers_of_the_page_are_those_of_the_results a_page_is_drawn_and_printed
    a_hostile_study_is_shown_as_it_is_written what_is_no_result_gives_no_page)
add_program_tests(dmabuf dmabuf_program_test.py "hcasim" 600
    takes_every_way a_migration_takes_as_long_as_a_processor_reads_memory_of_a_device refused_by_the_host
    refuses_mistakes ends_of_its_keys)
add_program_tests(nvme nvme_program_test.py "hcasim" 300
    a_run_says_which_resource_was_busiest_and_what_its_requests_waited_for a_slow_part_is_named
    a_table_that_does_not_fit_has_a_cache_among_the_caches a_payload_that_is_larger_than_the_drive_is_refused
    without_time_nothing_is_busy
    what_a_drive_is_said_to_fail_at_fails_the_run_and_is_named)
add_program_tests(gpu_nvme gpu_nvme_program_test.py "hcasim" 600
    every_profile_agrees_with_what_was_observed the_worst_that_is_legal_lets_a_correct_program_work
    a_stuck_poll_is_explained its_drive_is_played_again_and_its_gpu_is_not
    works_without_a_remapping_unit_and_without_time refuses_mistakes)
add_program_tests(gpu_rdma gpu_rdma_program_test.py "hcasim" 600
    two_gpus_exchange_and_add_tensors the_worst_that_is_legal_lets_a_correct_program_work
    the_worst_order_of_memory_lets_a_correct_program_work a_fence_of_doorbells_that_is_left_out_is_missed_and_named
    a_flag_that_is_no_fence_is_missed_each_time_and_explained
    lost_packets_come_again eight_gpus_add_up refuses_mistakes)
add_program_tests(storage_stream storage_stream_program_test.py "hcasim" 600
    a_stream_goes_from_drive_to_drive_and_no_byte_is_in_host_memory payloads_of_any_length_arrive
    redirected_by_access_control_it_goes_through_the_root_complex lost_packets_come_again
    more_chunks_under_way_are_faster a_slow_medium_is_the_stage_that_holds_the_stream_up refuses_mistakes)
add_program_tests(remote_storage remote_storage_program_test.py "hcasim" 600
    a_file_goes_over_the_wire_and_back_and_no_byte_is_in_host_memory the_drives_own_memory_is_on_no_other_way
    what_is_in_memory_of_the_host_is_counted_there payloads_of_any_length_come_back lost_packets_come_again
    more_commands_under_way_are_faster a_slow_medium_is_seen_in_its_stage refuses_mistakes)
# Each key of time in both directions, and each bound where it is the smallest.
add_program_tests(timing timing_test.py "hcasim" 600
    no_key_of_time_is_left_out every_cost_of_software_is_monotone every_latency_of_the_card_is_monotone
    every_key_of_the_links_is_monotone
    every_key_of_the_remapping_unit_is_monotone
    reads_of_4_kib_with_16_outstanding_go_at_the_rate_of_the_link
    requests_by_way_of_the_host_are_bounded_by_links_walkers_and_tags
    a_long_way_to_memory_costs_what_the_tags_leave_and_no_more writes_are_bounded_by_the_room_of_their_receivers
    reads_are_bounded_by_the_credits_of_their_requests completions_are_bounded_by_the_room_of_the_switch_below
    the_pipeline_that_is_slower_is_named
    misses_of_contexts_are_reads_that_are_seen_on_the_bus who_waits_for_tags_contexts_or_credits_plays_it_again)
set(knee "scenario: bench: the IOTLB has its knee where silicon has it, and the published rates on either side of it")
add_test(NAME ${knee} COMMAND bench iommu --accesses 20000)
set_tests_properties(${knee}
    PROPERTIES LABELS scenario TIMEOUT 300 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
set(objects "scenario: bench: objects are made and destroyed in every order, time and memory of each are printed")
add_test(NAME ${objects} COMMAND bench objects --keys 1000 --queue-pairs 300)
set(one_each "memory keys +creation +10( +[0-9]+)+ .*memory keys +random +1000( +[0-9]+)+ ")
string(APPEND one_each ".*memory keys, all of them cached +reverse +1000( +[0-9]+)+ ")
string(APPEND one_each ".*queue pairs in RST +creation +3( +[0-9]+)+ .*queue pairs in RTS +random +300( +[0-9]+)+")
set_tests_properties(${objects} PROPERTIES LABELS scenario TIMEOUT 300 PASS_REGULAR_EXPRESSION "${one_each}"
    ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
set(cost "scenario: bench: a program is run with and without a recording, and the ratios are printed")
add_test(NAME ${cost}
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/bench/recording_cost.py --hcasim $<TARGET_FILE:hcasim>
        --source ${CMAKE_SOURCE_DIR} --turns 1 --bytes 200000)
set_tests_properties(${cost} PROPERTIES LABELS scenario TIMEOUT 300 PASS_REGULAR_EXPRESSION
    "one HCA .* ms .* MB .*x.*all .* ms .* MB .*x.*highest ratio"
    ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
add_program_tests(serve serve_test.py "hcasim" 300
    every_function_is_served clients_come_and_go refuses_a_socket_in_use refuses_a_directory_that_cannot_be
    offers_uar_pages_to_be_mapped_when_asked_to refuses_to_poll_where_there_is_nothing_to_poll
    explains_what_a_driver_does_wrong hostile_clients_cost_an_honest_one_nothing
    ends_on_every_signal_that_asks_for_it ends_when_nobody_listens_to_it stays_when_told_to_outlive_its_terminal
    refuses_a_directory_that_others_may_write_to outputs_are_no_inputs lost_output_is_told)
# Drivers in a process of their own, the cards served from another.
add_program_tests(drive drive_test.py "hcasim hcadrive" 300
    over_infiniband over_roce_in_simulated_time over_roce_with_ipv6 over_a_lossy_wire
    many_queue_pairs_and_small_messages recorded_with_all_its_clients one_after_another killed_in_the_middle
    the_server_dies nobody_serves
    cards_in_the_wrong_place no_room_for_the_payload refuses_mistakes)
# Recordings played again, also on devices that make a mistake.
add_program_tests(replay replay_test.py "hcasim planted" 600
    plays_as_it_was plays_each_platform timing_alone_fails_strict_only other_tlps_alone_fail_strict
    acknowledgements_put_together_otherwise_fail_strict time_alone_is_functionally_free mistakes_are_named
    json_is_as_its_schema_says
    cut_recordings_are_played_as_far_as_they_go what_does_not_fit_is_refused)
# What a recording says. The recorder is that of the dissector's witness.
add_program_tests(trace trace_test.py "hcasim dissector_trace" 300
    shows_what_was_asked_for says_when_nothing_is_meant says_why counts what_is_damaged_is_read_up_to_there
    checks_the_rules finds_where_two_part times_that_are_ignored_are_no_difference
    a_port_becomes_a_capture_of_one_interface perfetto_shows_tracks_flows_and_counters
    perfetto_of_a_damaged_recording_keeps_the_rules a_file_that_cannot_be_read_leaves_the_result_of_before
    refuses_mistakes)
add_dependencies(scenario_level dissector_trace)
add_program_tests(import import_test.py "hcasim" 300
    published_dumps_decode a_capture_drives_a_responder refuses_mistakes)
add_program_tests(reduce reduce_test.py "hcasim planted" 1500
    a_hundredth_shows_the_same_mistake a_mistake_late_in_a_ring_needs_few_of_the_messages_before
    a_mistake_of_time_alone_is_shown_by_less what_a_kernel_does_before_is_left_out refuses_mistakes)
add_program_tests(congestion congestion_program_test.py "hcasim" 300
    a_switch_that_pauses_loses_nothing_and_is_fair a_switch_that_drops_makes_senders_repeat
    the_default_parameters_of_dcqcn_leave_a_part_of_the_line_unused cnps_that_come_less_often_leave_the_line_full
    dcqcn_without_marks_does_nothing windows_keep_the_queue_of_an_incast_short a_window_alone_fills_the_line
    who_joins_later_gets_as_much
    with_the_default_parameters_of_dcqcn_four_that_join_do_not_share_equally_to_the_end
    who_has_left_sends_nothing_more_and_the_last_one_ends_the_run
    a_run_that_no_flow_stays_to_measure_says_that_nothing_was_measured messages_that_come_seldom_are_waited_for
    flows_join_only_where_they_have_a_time windows_limit_the_reads_of_one_from_many congestion_control_needs_ethernet
    one_key_says_what_the_other_does the_same_run_has_the_same_digest contradictions_are_refused)
add_program_tests(readme readme_test.py "hcasim" 600
    what_the_readme_shows_is_what_the_program_says a_block_that_is_wrong_is_found a_setting_is_behind_a_set_of_its_own
    each_room_of_the_model_is_in_the_tree)
add_program_tests(heads heads_test.py "hcasim" 300 no_command_in_the_head_of_a_configuration_is_refused)
add_program_tests(topology topology_program_test.py "hcasim" 600
    all_to_all_arrives_on_every_topology equal_ways_are_used_alike
    with_buffers_of_one_packet_no_credit_waits_for_itself a_circle_by_the_fewest_switches_stops
    one_line_is_what_somebody_writes a_topology_can_be_swept a_spine_that_fails_costs_retries_and_nothing_else
    without_other_ways_a_queue_pair_gives_up a_repaired_spine_is_used_again
    a_short_failure_ends_before_anybody_goes_another_way
    adaptive_routing_lets_packets_overtake_and_responders_refuse the_report_names_failures_and_what_they_cost
    the_same_failure_does_the_same what_cannot_be_is_refused_with_its_line keys_are_listed_with_their_topologies)
add_program_tests(traffic traffic_program_test.py "hcasim" 300
    every_verb_arrives_in_each_direction bytes_are_conserved every_pattern_has_its_flows more_under_way_is_never_slower
    all_to_one_is_held_back_by_the_wire_of_that_one
    who_brings_what_a_cache_lacks_is_named_and_twice_as_many_carry_twice_as_much an_open_loop_offers_its_rate
    time_and_messages_end_what_is_measured memory_is_where_it_is_wanted a_list_of_messages_is_replayed
    a_list_ends_where_several_messages_are_told_at_a_time bytes_that_come_late_are_waited_for
    rates_say_by_how_much_they_may_be_wrong the_least_queues_that_are_not_refused_are_enough
    the_same_seed_does_the_same lost_packets_come_again_and_are_counted what_cannot_be_is_refused_with_its_line)
add_program_tests(collective collective_program_test.py "hcasim" 300
    every_algorithm_adds_up_what_all_have a_ring_uses_its_wires_and_a_tree_is_quick what_adds_slowly_holds_all_back
    ranks_that_begin_late_spoil_nothing data_in_vram_is_in_no_host each_has_a_block_from_each
    workers_have_what_servers_have_added_up without_times_every_workload_moves_its_bytes
    lost_packets_change_no_sum the_same_seed_does_the_same
    a_signal_ends_it_with_its_report what_cannot_be_is_refused_with_its_line)
# One run in several processes: where there is MPI.
if(MPI_FOUND)
    add_program_tests(ranks ranks_test.py "hcasim" 300
        two_hosts_at_a_cable_are_two_processes eight_hosts_at_a_switch_are_two_processes_or_three
        sixty_four_hosts_are_two_processes_or_four credits_that_are_short_cross_between_processes
        pauses_cross_between_processes lost_and_spoiled_packets_are_the_same_ones mpirun_by_hand_is_noticed
        what_cannot_be_spread_is_refused root_is_told_what_mpirun_wants_of_it
        what_is_no_terminal_gets_no_colours a_process_that_dies_ends_the_others
        a_signal_to_one_process_ends_all_with_a_report
        a_run_that_fails_says_so_and_nothing_else_does)
endif()
add_program_tests(kv kv_program_test.py "hcasim" 300
    values_come_by_each_way a_value_that_changes_while_it_is_read_is_read_again reads_ask_no_processor
    popular_keys_make_a_server_busy lost_packets_lose_no_value the_same_seed_does_the_same
    what_cannot_be_is_refused_with_its_line)
add_program_tests(storage storage_program_test.py "hcasim" 600
    every_block_that_is_read_is_what_was_written bytes_are_conserved more_under_way_is_never_slower
    several_clients_share_a_drive_fairly buffers_elsewhere_leave_no_payload_in_memory_of_the_targets
    who_is_not_named_is_a_target_by_its_drive_and_else_a_client
    lost_packets_lose_no_block what_goes_wrong_at_a_drive_or_on_the_way_is_told
    a_byte_that_nobody_has_written_is_found_with_drive_block_and_offset the_same_seed_does_the_same
    what_cannot_be_is_refused_with_its_line
    two_drives_are_faster_than_one twice_as_many_bytes_take_about_twice_as_long a_checkpoint_is_on_the_medium
    every_checkpoint_counts_and_none_before_the_measured_ones state_of_gpus_is_in_no_memory_of_a_host
    a_state_of_any_number_of_blocks_comes_back what_cannot_be_a_checkpoint_is_refused)
# Another architecture of an HCA under the same traffic.
add_program_tests(simple simple_program_test.py "hcasim" 600
    every_verb_arrives_in_each_direction_on_each_kind_of_cable either_model_talks_to_the_other
    nothing_is_lost_on_a_cable_that_loses a_dead_cable_is_told eight_hosts_talk_to_each_other
    the_report_has_its_units_and_no_caches the_sending_unit_decides_the_rate_of_small_messages
    more_queue_pairs_cost_nothing every_time_of_the_card_is_monotone without_times_the_same_bytes_move
    ends_of_the_keys_of_the_card what_it_cannot_do_is_refused_by_its_name a_card_that_is_too_small_says_so
    keys_of_the_other_model_have_no_effect the_same_run_has_the_same_digest)
