#include "testbench/hcasim/choice.h"
#include "testbench/hcasim/study_report.h"
#include "testbench/hcasim/sweep.h"

#include <CLI/CLI.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace hcasim {

CLI::App* add_sweep(CLI::App& app, SweepOptions& options) {
    auto* sweep = app.add_subcommand("sweep", "Run a study: a platform again and again with some of its keys varied");
    sweep->footer(
        "\nA study is a TOML file (platform/studies has some, and a README with every key):\n"
        "  question = \"How many queue pairs ...?\"\n"
        "  base = \"../profiles/connectx5.toml\"\n"
        "  [set]                       keys beside the base\n"
        "  [[axes]]                    key = \"scenario.qps\", and values = [...], range = {from, to, step} or\n"
        "                              log = {from, to, points}; design = grid, one_at_a_time or latin_hypercube\n"
        "  [[metrics]]                 value = \"transfers[WRITE A -> B].rate_bytes_per_second\", as `hcasim compare` "
        "has it\n"
        "  [[constraints]], objectives, repetitions, [refine], [stop]\n\n"
        "Each point is a process, `hcasim run BASE --set KEY=VALUE ...`, whose result is in the file as soon as it is "
        "there.\nA sweep that was interrupted or killed goes on where it was when it is called again, and comes to the "
        "same content:\n--digest prints its SHA-256, without wall times. `hcasim report RESULTS.sqlite` makes a page "
        "of it.\n\n"
        "With --engine slurm, points are tasks of job arrays, several a task where there are more than the cluster "
        "lets an array have.\nRESULTS.sqlite.spool beside the results, and what the study reads, have to be on a file "
        "system that the nodes share. A task that\nis killed, or whose node fails, is sent again, three times in "
        "all; then its point is recorded with the reason that Slurm gives.\nA sweep that was killed finds its arrays "
        "at work when it is called again.\n\n"
        "Exit status: 0 every point is done, 1 some have failed, 2 refused before the first run, 3 the results file "
        "could\nnot be written, 130 interrupted (SIGINT), 143 terminated (SIGTERM), after the points under way.\n");
    sweep->add_option("study", options.study, "The study, a TOML file")->required()->type_name("STUDY.toml");
    sweep
        ->add_option("--output,-o", options.output,
                     "The results file; default: the study's name with .sqlite, in this directory")
        ->type_name("RESULTS.sqlite");
    sweep
        ->add_option("--jobs", options.jobs,
                     "Points at a time; default: one a processor, of slurm as many as there is room for")
        ->check(CLI::Range(1u, most_jobs));
    constexpr std::array<std::pair<std::string_view, SweepOptions::Engine>, 2> engines{
        {{"local", SweepOptions::Engine::local}, {"slurm", SweepOptions::Engine::slurm}}};
    add_choice(*sweep, "--engine", options.engine, engines,
               "Where points run: local, on this machine, is the default; slurm submits job arrays. The results are "
               "the same");
    sweep->add_option("--partition", options.partition, "Of slurm; default: the cluster's")->type_name("NAME");
    sweep
        ->add_option("--slurm-option", options.slurm_options,
                     "For sbatch, as --slurm-option=--account=me; may be "
                     "repeated")
        ->type_name("OPTION")
        ->allow_extra_args(false)
        ->take_all();
    sweep->add_flag("--retry", options.retries, "Run points again that have failed");
    sweep->add_flag("--check", options.only_checks, "Say what is wrong with the study, and run nothing");
    sweep->add_flag("--digest", options.only_digest,
                    "Print the SHA-256 of a results file, which is named as the study");
    sweep->add_flag("--task", options.is_task, "Be a task of an array of slurm")->group(""); // for nobody but the sweep
    return sweep;
}

CLI::App* add_study_report(CLI::App& app, StudyReportOptions& options) {
    auto* report = app.add_subcommand("report", "Make a page of the results of a sweep");
    report->footer(
        "\nOne HTML file that needs no network: the question and its answer, plots, the platform with its "
        "utilisation, each\npoint with the command that runs it again.\n\n"
        "Exit status: 0 it is written, 2 refused: no results of `hcasim sweep`, or of another version, 3 it could not "
        "be\nwritten.\n");
    report->add_option("results", options.results, "What `hcasim sweep` wrote")
        ->required()
        ->type_name("RESULTS.sqlite");
    report
        ->add_option("--output,-o", options.output,
                     "The page; - is standard output; default: the results' name with .html, in this directory")
        ->type_name("REPORT.html");
    return report;
}

} // namespace hcasim
