// Jobs of an exploration, each in a process of its own, several at a time: a platform is elaborated once in a process,
// and one that ends badly takes nothing with it. What a job found comes back by a pipe, as text.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace hcasim {

class Processes {
public:
    explicit Processes(unsigned jobs) : jobs_(jobs) {}
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;

    /// Called in the process of job `number`: what it has to say.
    using Job = std::function<std::string(std::size_t number)>;
    /// `said` may be cut, or empty: `end` says then how the process ended.
    using Done = std::function<void(std::size_t number, const std::string& said, const std::string& end)>;
    /// Jobs [0, count).
    void run(std::size_t count, const Job& job, const Done& done);

private:
    struct Child {
        pid_t process = -1;
        int pipe = -1;
        std::size_t number = 0;
        std::string said{};
    };
    void start(std::size_t number, const Job& job);
    void listen(const Done& done);
    static std::string end(const Child& child);

    unsigned jobs_;
    std::vector<Child> children_;
};

} // namespace hcasim
