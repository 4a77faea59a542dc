find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(SYSTEMC REQUIRED IMPORTED_TARGET systemc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(PCAP REQUIRED IMPORTED_TARGET libpcap)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
find_file(HCA_D3 d3.min.js PATHS /usr/share/javascript/d3 NO_DEFAULT_PATH REQUIRED) # libjs-d3: plots of a report
find_package(fmt REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)

# Debian 12 has Catch2 v3 only in its backports; `dev` unpacks that package under .deps/ (Debian 13 has it stock).
# The program alone needs none; the presets that exist for testing insist on it.
option(HCA_TESTS "Refuse to configure without Catch2; the tests are built wherever it is found" OFF)
list(APPEND CMAKE_PREFIX_PATH ${CMAKE_SOURCE_DIR}/.deps/catch2/usr)
find_package(Catch2 3 QUIET)
if(HCA_TESTS AND NOT Catch2_FOUND)
    message(FATAL_ERROR
        "Catch2 v3 not found: `./dev test` brings it; by hand, unpack libcatch2-dev (>= 3) into .deps/catch2")
endif()
# One simulation in several processes (`hcasim run --ranks`). Where there is no MPI, the program says so when asked.
pkg_check_modules(MPI IMPORTED_TARGET mpi-c)

# The library was built as C++17; its headers select features by SC_CPLUSPLUS and check that tag at link time.
add_library(hca_systemc INTERFACE)
add_library(hca::systemc ALIAS hca_systemc)
target_link_libraries(hca_systemc INTERFACE PkgConfig::SYSTEMC Threads::Threads)
target_compile_definitions(hca_systemc INTERFACE SC_CPLUSPLUS=201703L SC_INCLUDE_DYNAMIC_PROCESSES)

add_library(hca_platform_deps INTERFACE)
add_library(hca::platform_deps ALIAS hca_platform_deps)
target_link_libraries(hca_platform_deps INTERFACE
    fmt::fmt tomlplusplus::tomlplusplus OpenSSL::Crypto PkgConfig::XXHASH Boost::headers)

add_library(hca_codec_deps INTERFACE)
add_library(hca::codec_deps ALIAS hca_codec_deps)
target_link_libraries(hca_codec_deps INTERFACE fmt::fmt PkgConfig::XXHASH PkgConfig::ZSTD)
