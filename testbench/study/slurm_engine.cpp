#include "testbench/study/slurm_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>

namespace study {
namespace {

namespace fs = std::filesystem;

constexpr unsigned most_losses = 3, most_preemptions = 50;
constexpr double shortest_pause_s = 0.5, longest_pause_s = 10; ///< between two questions to the controller

/// For a shell: nothing in it means anything.
std::string quote(std::string_view text) {
    std::string quoted = "'";
    for (const char letter : text)
        quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return quoted + "'";
}

/// For sbatch, which replaces %a and others.
std::string escape(std::string_view text) {
    std::string escaped;
    for (const char letter : text)
        escaped += letter == '%' ? std::string("%%") : std::string(1, letter);
    return escaped;
}

std::string settings_of(const Study& study, const Point& point) { return print(all_settings(study, point)); }

/// The last line that a task has said, for a person.
std::string last_words(const std::string& file) {
    std::ifstream stream(file);
    std::string line, last;
    while (std::getline(stream, line))
        if (!line.empty())
            last = line;
    constexpr std::string_view ours = "hcasim: ";
    return last.starts_with(ours) ? last.substr(ours.size()) : last;
}

/// Nothing else may have this name: jobs are found by it.
std::string new_name() {
    std::random_device random;
    return fmt::format("hcasim-{:08x}{:08x}", random(), random());
}

std::string name_of(const Array& row) { return fs::path(row.directory).filename(); }

/// A results file may come from anywhere: what it names is removed only where it can be ours.
bool is_ours(const std::string& directory, const std::string& spool) {
    const fs::path path(directory);
    return path.parent_path() == spool && path.filename().string().starts_with("hcasim-");
}

void remove_quietly(const std::string& path) {
    std::error_code ignored; // a task may be writing there still; what is left is told from what counts
    fs::remove_all(path, ignored);
}

/// With nothing in it that is not ours.
void remove_spool(const std::string& spool) {
    std::error_code ignored;
    fs::remove(spool + "/hcasim", ignored);
    fs::remove(spool, ignored);
}

void make_directories(const std::string& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error)
        throw std::runtime_error(fmt::format("{}: {}", path, error.message()));
}

} // namespace

void SlurmEngine::run(std::span<const Point> points, const Commands::Words& words, const Commands::Done& done,
                      const std::function<bool()>& goes_on) {
    auto wanted = wanted_of(points, words);
    find_arrays(wanted);
    pause_s_ = shortest_pause_s;
    while (!wanted.empty()) {
        const bool is_stopping = !goes_on();
        for (auto& array : arrays_)
            if (is_stopping)
                stop(array);
        if (!is_stopping)
            submit(wanted);
        if (arrays_.empty())
            break;
        bool has_changed = false;
        for (auto& array : arrays_)
            has_changed = look(array, wanted, done) || has_changed;
        std::erase_if(arrays_, [&](const Working& array) {
            const bool is_over = array.over.size() == array.content.tasks();
            if (is_over)
                drop(array.row);
            return is_over;
        });
        constexpr double growth = 1.3;
        pause_s_ = has_changed || is_stopping ? shortest_pause_s : std::min(longest_pause_s, pause_s_ * growth);
        if (!wanted.empty() && !(is_stopping && arrays_.empty()))
            wait(is_stopping ? [] { return true; } : goes_on);
    }
    for (const auto& array : arrays_) { // each of its points is there, or has come from elsewhere
        slurm_.cancel(array.row.job, name_of(array.row));
        drop(array.row);
    }
    arrays_.clear();
    remove_spool(setup_.spool);
    has_program_ = false;
}

SlurmEngine::Points SlurmEngine::wanted_of(std::span<const Point> points, const Commands::Words& words) const {
    Points wanted;
    for (std::size_t i = 0; i != points.size(); ++i) {
        auto all = words(i);
        all.erase(all.begin()); // a task is the program itself
        wanted[points[i].number] = {
            .place = i,
            .point = {.number = points[i].number, .settings = settings_of(study_, points[i]), .words = std::move(all)}};
    }
    return wanted;
}

/// Those that were submitted by a coordinator before this one, and may be at work still.
void SlurmEngine::find_arrays(Points& wanted) {
    for (auto& row : store_.arrays()) {
        auto content = read_array(row.directory);
        if (!content || !is_ours(row.directory, setup_.spool)) {
            // It was never submitted, or somebody has removed what it reads, or the file has moved.
            slurm_.cancel(row.job, name_of(row));
            drop(row);
            continue;
        }
        bool has_any = false;
        for (const auto& point : content->points) {
            const auto found = wanted.find(point.number);
            if (found == wanted.end() || found->second.point.settings != point.settings)
                continue;
            has_any = true;
            found->second.is_under_way = true;
            found->second.point.losses = point.losses;
            found->second.point.preemptions = point.preemptions;
        }
        if (has_any && !row.job.empty())
            setup_.say(fmt::format("job {} has been working for this study; going on with it", row.job));
        arrays_.push_back({.row = row, .content = std::move(*content)});
    }
}

/// What has been lost before is sent as tasks of one point, so that it takes no other with it.
void SlurmEngine::submit(Points& wanted) {
    std::vector<SpooledPoint> fresh, lost;
    for (auto& [number, one] : wanted)
        if (!one.is_under_way)
            (one.point.losses == 0 ? fresh : lost).push_back(one.point);
    const auto most = slurm_.most_tasks();
    if (!fresh.empty())
        submit(wanted, fresh, (fresh.size() + most - 1) / most);
    for (std::size_t at = 0; at < lost.size(); at += most)
        submit(wanted,
               {lost.begin() + static_cast<std::ptrdiff_t>(at),
                lost.begin() + static_cast<std::ptrdiff_t>(std::min(lost.size(), at + most))},
               1);
}

void SlurmEngine::submit(Points& wanted, const std::vector<SpooledPoint>& points, std::size_t chunk) {
    const auto name = new_name();
    const auto directory = fmt::format("{}/{}", setup_.spool, name);
    const auto program = setup_.spool + "/hcasim", script = directory + "/script";
    make_directories(directory);
    if (!has_program_) {
        // A copy: whoever builds while jobs wait would have points of two programs, or of none.
        std::error_code error;
        fs::copy_file(setup_.program, program + ".new", fs::copy_options::overwrite_existing, error);
        if (!error)
            fs::rename(program + ".new", program, error);
        if (error)
            throw std::runtime_error(fmt::format("{}: {}", program, error.message()));
        has_program_ = true;
    }
    Working array{.row = {directory, {}},
                  .content = {.version = setup_.version,
                              .revision = setup_.revision,
                              .directory = fs::current_path(),
                              .inputs = setup_.inputs,
                              .timeout_s = setup_.timeout_s,
                              .chunk = chunk,
                              .points = points}};
    write_array(directory, array.content);
    std::ofstream(script) << "#!/bin/sh\nexec " << quote(program) << " sweep --task " << quote(directory) << "\n";
    store_.note_array(array.row);
    constexpr std::uint64_t seconds_per_minute = 60, spare_minutes = 1;
    const auto job = slurm_.submit({.name = name,
                                    .script = script,
                                    .output = escape(directory) + "/task-%a.out",
                                    .directory = array.content.directory,
                                    .tasks = array.content.tasks(),
                                    .at_a_time = setup_.at_a_time,
                                    .minutes = chunk * setup_.timeout_s / seconds_per_minute + 1 + spare_minutes},
                                   setup_.options);
    if (!job && !job.error().is_silence) {
        drop(array.row);
        remove_spool(setup_.spool);
        throw SubmissionRefused(job.error().why);
    }
    if (job) // else it may have been taken all the same: who looks for it finds out
        store_.note_array({directory, array.row.job = *job});
    for (const auto& point : points)
        wanted.at(point.number).is_under_way = true;
    arrays_.push_back(std::move(array));
}

bool SlurmEngine::look(Working& array, Points& wanted, const Commands::Done& done) {
    if (array.row.job.empty()) {
        // Nobody was told its number: the controller knows whether it has the job.
        const auto job = slurm_.find_job(name_of(array.row));
        if (!job)
            return tell(array, "the controller does not answer; waiting for it"), false;
        if (!job->empty())
            store_.note_array({array.row.directory, array.row.job = *job});
    }
    // First who is at work, then what is there: a result of one that ends between the two is found.
    const auto active = array.row.job.empty() ? std::map<std::size_t, Slurm::Task>() : slurm_.active(array.row.job);
    bool has_changed = collect(array, wanted, done);
    if (!active)
        return tell(array, "the controller does not answer; waiting for it"), has_changed;
    tell_why_it_waits(array, *active);
    for (std::size_t task = 0; task != array.content.tasks(); ++task) {
        if (active->contains(task))
            array.gone.erase(task);
        // A second look, since the files of another machine may be seen a moment late.
        else if (!array.gone.insert(task).second && array.over.insert(task).second)
            has_changed = mourn(array, task, wanted, done) || has_changed;
    }
    return has_changed;
}

bool SlurmEngine::collect(const Working& array, Points& wanted, const Commands::Done& done) const {
    bool has_any = false;
    for (const auto number : results_in(array.row.directory)) {
        const auto found = wanted.find(number);
        if (found == wanted.end())
            continue;
        const auto result = read_result(array.row.directory, number);
        if (!result || result->settings != found->second.point.settings || result->version != setup_.version ||
            result->revision != setup_.revision)
            continue;
        done(found->second.place, result->ended);
        wanted.erase(found);
        has_any = true;
    }
    return has_any;
}

/// Of a task that is over, what it has left undone: the first of its points was under way, the others not begun.
bool SlurmEngine::mourn(Working& array, std::size_t task, Points& wanted, const Commands::Done& done) const {
    bool is_first = true, has_any = false;
    const auto& content = array.content;
    for (auto i = task * content.chunk; i < std::min((task + 1) * content.chunk, content.points.size()); ++i) {
        const auto found = wanted.find(content.points[i].number);
        if (found == wanted.end() || !found->second.is_under_way || array.is_stopped)
            continue;
        auto& one = found->second;
        one.is_under_way = false;
        has_any = true;
        if (!std::exchange(is_first, false) || array.row.job.empty()) // a job that never was has lost nothing
            continue;
        const auto fate = slurm_.fate(array.row.job, task);
        const auto output = output_file(array.row.directory, task);
        const auto words = last_words(output);
        const auto count = fate.is_preempted ? ++one.point.preemptions : ++one.point.losses;
        auto why = fmt::format("its task has ended {} times without a result, at last as {}", count, fate.text);
        if (!words.empty())
            why += ": " + words;
        else if (!is_there(output))
            why += fmt::format("; its output is not in {}: do the nodes see this directory?", array.row.directory);
        if (one.point.losses < most_losses && one.point.preemptions < most_preemptions) {
            setup_.say(fmt::format("point {} is sent again: {}", one.point.number, why));
            continue;
        }
        Ended ended{.way = Ended::Way::lost};
        ended.errors = why;
        done(one.place, ended);
        wanted.erase(found);
    }
    return has_any;
}

void SlurmEngine::stop(Working& array) const {
    if (!array.is_stopped)
        std::ofstream(stop_file(array.row.directory)) << "\n";
    array.is_stopped = true;
    slurm_.cancel_waiting(array.row.job, name_of(array.row));
}

void SlurmEngine::drop(const Array& row) {
    store_.forget_array(row.directory);
    if (is_ours(row.directory, setup_.spool))
        remove_quietly(row.directory);
}

void SlurmEngine::tell_why_it_waits(Working& array, const std::map<std::size_t, Slurm::Task>& tasks) const {
    const auto is_usual = [](const auto& numbered) {
        constexpr std::array<std::string_view, 7> reasons{"None",   "Priority", "Resources", "JobArrayTaskLimit",
                                                          "(null)", "Cleaning", ""};
        return !numbered.second.is_waiting || std::ranges::find(reasons, numbered.second.reason) != reasons.end();
    };
    const auto odd = std::ranges::find_if_not(tasks, is_usual);
    tell(array, odd == tasks.end() ? std::string()
                                   : fmt::format("job {} waits: {}; `scontrol show job {}_{}` has more", array.row.job,
                                                 odd->second.reason, array.row.job, odd->first));
}

void SlurmEngine::tell(Working& array, const std::string& why) const {
    if (!why.empty() && why != array.told)
        setup_.say(why);
    array.told = why;
}

void SlurmEngine::wait(const std::function<bool()>& goes_on) const {
    constexpr std::chrono::milliseconds step{100}; // a Ctrl-C is noticed within it
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(pause_s_);
    while (std::chrono::steady_clock::now() < until && goes_on())
        std::this_thread::sleep_for(step);
}

std::vector<std::string> forget_arrays(Store& store, const std::string& spool) {
    std::vector<std::string> jobs;
    for (const auto& row : store.arrays()) {
        jobs.push_back(row.job);
        store.forget_array(row.directory);
        if (is_ours(row.directory, spool))
            remove_quietly(row.directory); // its tasks begin nothing without it
    }
    remove_spool(spool);
    return jobs;
}

} // namespace study
