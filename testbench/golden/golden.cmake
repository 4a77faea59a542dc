# Golden traces: recordings that the model has to play again, byte for byte and at the same times, and that keep the
# rules of the specifications. `./dev golden` records them again on purpose (golden.py).
add_custom_target(replay_level)
add_dependencies(replay_level hcasim)

file(GLOB golden_recipes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/traces/golden/*/recipe.toml)
foreach(recipe ${golden_recipes})
    get_filename_component(folder ${recipe} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    string(REPLACE "_" " " words ${name})
    set(again "replay: ${words}: the devices do the same again, at the same times")
    file(STRINGS ${recipe} dumps REGEX "^dump ")
    if(dumps) # nobody has recorded a device
        set(again "replay: ${words}: what drivers have printed is read as it was")
        add_test(NAME ${again} COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/golden.py
            --hcasim $<TARGET_FILE:hcasim> --check ${name})
    else()
        add_test(NAME ${again} COMMAND hcasim replay --strict ${folder}/trace.pcapng.zst)
    endif()
    add_test(NAME "replay: ${words}: the rules of the specifications are kept"
        COMMAND hcasim trace check ${folder}/trace.pcapng.zst)
    set_tests_properties(${again}
        "replay: ${words}: the rules of the specifications are kept" PROPERTIES LABELS replay TIMEOUT 300
        ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
endforeach()
add_test(NAME "replay: golden traces have recipes, a page and at most 1 MiB"
    COMMAND ${HCA_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/golden_test.py)
set_tests_properties("replay: golden traces have recipes, a page and at most 1 MiB" PROPERTIES LABELS replay TIMEOUT 60)
