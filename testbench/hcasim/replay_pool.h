// Replays in processes of their own, several at a time. A process says how far it has come and in the end what it has
// found, by a pipe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hcasim {

/// What a process has found; of one that has ended before it said so, why.
struct PoolResult {
    int status = 0;
    std::string text{}, json{};
    std::string ended{}; ///< "was ended by signal 6, Aborted"; empty: it has said all
};

class ReplayPool {
public:
    explicit ReplayPool(unsigned jobs) : jobs_(jobs) {}

    /// Called in the process; tells how many bytes of the recording have been read.
    using Progress = std::function<void(std::uint64_t bytes)>;
    using Work = std::function<PoolResult(std::size_t number, const Progress& progress)>;
    /// Called here; `done` in any order, `progressed` with the bytes of all that were begun.
    using Done = std::function<void(std::size_t number, PoolResult result)>;
    using Progressed = std::function<void(std::uint64_t bytes)>;
    void run(std::size_t count, const Work& work, const Done& done, const Progressed& progressed);

private:
    struct Child {
        pid_t process = -1;
        int pipe = -1;
        std::size_t number = 0;
        std::string said{};
    };
    void start(std::size_t number, const Work& work);
    void listen(const Done& done);
    void take_progress(Child& child);
    static PoolResult end(const Child& child);

    unsigned jobs_;
    std::vector<Child> children_;
    std::vector<std::uint64_t> bytes_; ///< by number
};

} // namespace hcasim
