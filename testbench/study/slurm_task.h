// What a task of a job array does: its share of the points, one after the other, each a process of this program.
#pragma once

#include <string>

namespace study {

/// `directory` is an array's (spool.h); which task this is says the environment (SLURM_ARRAY_TASK_ID). Returns why a
/// point has no result; empty: each has one, or nobody wants more. Throws std::runtime_error where the system refuses.
std::string run_task(const std::string& directory);

} // namespace study
