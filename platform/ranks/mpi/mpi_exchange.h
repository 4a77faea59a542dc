// Processes started by mpirun, as an Exchange over MPI. The one room that knows MPI; without the library it only says
// so.
#pragma once

#include "platform/ranks/exchange.h"

#include <expected>
#include <memory>
#include <string>

namespace platform::ranks::mpi {

/// Whether this program was built with MPI.
bool is_built_in();

/// How many processes the launcher has started this one with, as its environment says; 1: there is no launcher.
/// Initialises nothing.
unsigned launched_ranks();
/// And which of them it is.
unsigned launched_rank();

/// Joins the other processes (MPI_Init), once in a process. They part when what is returned is let go, for which all
/// wait for each other. The error is one line for a person.
std::expected<std::unique_ptr<Exchange>, std::string> join();

} // namespace platform::ranks::mpi
