// `hcasim report RESULTS.sqlite`: the page of a study. Runs nothing.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace hcasim {

struct StudyReportOptions {
    std::string results;
    std::string output{}; ///< empty: the results' name with .html, where the program was started
};

/// The command of that name, `report`, with its options, which parsing fills.
CLI::App* add_study_report(CLI::App& app, StudyReportOptions& options);

/// Returns the exit status (status.h).
int study_report(const StudyReportOptions& options);

} // namespace hcasim
