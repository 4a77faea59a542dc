// Programs run several at a time, each in a process group of its own, with what they say on both outputs. A job of
// hcasim/explore_processes.h is a function of this program; here are programs, which a Ctrl-C at the terminal does not
// reach, and which end with the one that has started them, however that ends.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace study {

struct Ended {
    /// lost: nobody knows; `errors` has what is known of it.
    enum class Way : std::uint8_t { status, signal, late, lost } way = Way::status;
    int number = 0; ///< of the status or the signal
    std::string output{}, errors{};
    double seconds = 0; ///< of wall time
};

class Commands {
public:
    /// `jobs` at a time, each within `seconds` of wall time.
    Commands(unsigned jobs, unsigned seconds) : jobs_(jobs), seconds_(seconds) {}
    Commands(const Commands&) = delete;
    Commands& operator=(const Commands&) = delete;

    /// The words of command `number`, the program's path first.
    using Words = std::function<std::vector<std::string>(std::size_t number)>;
    using Done = std::function<void(std::size_t number, const Ended& ended)>;
    /// Commands [0, count), until `goes_on` says no: those that are under way then come to their end. Throws
    /// std::runtime_error when the system has no more pipes or processes.
    void run(std::size_t count, const Words& words, const Done& done, const std::function<bool()>& goes_on);

private:
    struct Child {
        pid_t process = -1;
        int output = -1, errors = -1; ///< a pipe, and a file in memory
        std::size_t number = 0;
        double began = 0;
        std::string said{};
    };
    void start(std::size_t number, const std::vector<std::string>& words);
    void listen(const Done& done);
    static Ended end(const Child& child);

    unsigned jobs_, seconds_;
    std::vector<Child> children_;
};

} // namespace study
