#include "traces/monitor/violation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace traces::monitor {

std::string Violation::text() const {
    return fmt::format("{} (record{} {}; {}): {} [{}]", rule.name, records.size() == 1 ? "" : "s",
                       fmt::join(records, ", "), objects, sentence, rule.chapter);
}

} // namespace traces::monitor
