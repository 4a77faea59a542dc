// Points of a study as job arrays of Slurm. Every task is this program, which runs its points and leaves their results
// in the spool directory; who submits them waits and collects. Which arrays are at work is noted in the results file
// before they are submitted, so that a coordinator that is started again finds them.
#pragma once

#include "testbench/study/engine.h"
#include "testbench/study/slurm.h"
#include "testbench/study/spool.h"
#include "testbench/study/store.h"

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace study {

struct SlurmSetup {
    std::string spool{};                              ///< a directory that all nodes see; made and removed here
    std::string program{};                            ///< path of this program, which is copied there
    std::string version{}, revision{};                ///< of it
    std::vector<std::string> inputs{};                ///< files that each point reads
    unsigned timeout_s = 0;                           ///< of wall time, for a point
    std::size_t at_a_time = 0;                        ///< tasks; 0: as many as there is room for
    std::vector<std::string> options{};               ///< for sbatch
    std::function<void(const std::string& line)> say; ///< what a person may want to know meanwhile
};

/// sbatch does not take the job.
class SubmissionRefused final : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class SlurmEngine final : public Engine {
public:
    SlurmEngine(const Study& study, Store& store, Slurm slurm, SlurmSetup setup)
        : study_(study), store_(store), slurm_(std::move(slurm)), setup_(std::move(setup)) {}

    /// A task that has ended without a result of a point is sent again, three times in all, and so is one that had to
    /// make room for others, fifty times; then the point is lost.
    void run(std::span<const Point> points, const Commands::Words& words, const Commands::Done& done,
             const std::function<bool()>& goes_on) override;

private:
    struct Wanted {
        std::size_t place = 0; ///< in what was given to run()
        SpooledPoint point{};
        bool is_under_way = false;
    };
    struct Working {
        Array row{};
        SpooledArray content{};
        std::set<std::size_t> gone{}, over{}; ///< tasks that neither waited nor ran at the last look, and at two
        bool is_stopped = false;
        std::string told{}; ///< why it waits
    };
    using Points = std::map<std::size_t, Wanted>; ///< by number

    Points wanted_of(std::span<const Point> points, const Commands::Words& words) const;
    void find_arrays(Points& wanted);
    void submit(Points& wanted);
    void submit(Points& wanted, const std::vector<SpooledPoint>& points, std::size_t chunk);
    /// Whether anything has changed.
    bool look(Working& array, Points& wanted, const Commands::Done& done);
    bool collect(const Working& array, Points& wanted, const Commands::Done& done) const;
    bool mourn(Working& array, std::size_t task, Points& wanted, const Commands::Done& done) const;
    void stop(Working& array) const;
    void drop(const Array& row);
    void tell_why_it_waits(Working& array, const std::map<std::size_t, Slurm::Task>& tasks) const;
    void tell(Working& array, const std::string& why) const;
    void wait(const std::function<bool()>& goes_on) const;

    const Study& study_;
    Store& store_;
    Slurm slurm_;
    SlurmSetup setup_;
    std::vector<Working> arrays_;
    double pause_s_ = 0;
    bool has_program_ = false;
};

/// Forgets arrays that somebody had submitted for this file, whose points are now run elsewhere. Returns their jobs.
std::vector<std::string> forget_arrays(Store& store, const std::string& spool);

} // namespace study
