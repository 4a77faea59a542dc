// What the coordinator of a sweep and the tasks of a job array tell each other: files in a directory that both see, an
// array's in one of its own. A file is written under another name and renamed, and holds its own checksum: one that is
// cut or torn is none.
#pragma once

#include "testbench/study/commands.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace study {

struct SpooledPoint {
    std::size_t number = 0;
    std::string settings{};           ///< all of them, to be told apart by
    std::vector<std::string> words{}; ///< behind the program's path
    unsigned losses = 0;              ///< tasks before this one that have ended without a result of it
    unsigned preemptions = 0;         ///< and those that had to make room for others
};

/// What an array is to do.
struct SpooledArray {
    std::string version{}, revision{}; ///< of the program
    std::string directory{};           ///< where relative paths begin
    std::vector<std::string> inputs{}; ///< files that a point reads
    unsigned timeout_s = 0;            ///< of wall time, for a point
    std::size_t chunk = 1;             ///< points a task
    std::vector<SpooledPoint> points{};

    std::size_t tasks() const { return (points.size() + chunk - 1) / chunk; }
};

struct SpooledResult {
    std::string version{}, revision{}, settings{};
    Ended ended{};
};

/// Throw std::runtime_error where the system refuses.
void write_array(const std::string& directory, const SpooledArray& array);
void write_result(const std::string& directory, std::size_t number, const SpooledResult& result);

/// The error says what is wrong with it.
std::expected<SpooledArray, std::string> read_array(const std::string& directory);
/// Nothing: it is not there, or not whole.
std::optional<SpooledResult> read_result(const std::string& directory, std::size_t number);

/// Numbers of points that have a result there, whole or not.
std::vector<std::size_t> results_in(const std::string& directory);

/// The directory of an array has this file: tasks begin no more points.
std::string stop_file(const std::string& directory);
/// What a task has said beside its results.
std::string output_file(const std::string& directory, std::size_t task);
bool is_there(const std::string& path);

} // namespace study
