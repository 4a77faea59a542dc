#include "traces/monitor/monitor.h"

namespace traces::monitor {

namespace {

std::vector<std::string> names_of(const codec::Head& head) {
    std::vector<std::string> names;
    for (const auto& interface : head.interfaces)
        names.push_back(interface.name);
    return names;
}

} // namespace

Monitor::Monitor(const codec::Head& head)
    : names_(names_of(head)), observer_(head), rules_(make(std::type_identity<Rules>(), *this)) {}

void Monitor::on(const codec::Record& record) {
    for (const auto& fact : observer_.on(record))
        std::visit(
            [this](const auto& what) {
                std::apply(
                    [&](auto&... rule) {
                        const auto tell = [&](auto& one) {
                            if constexpr (requires { one.on(what); })
                                one.on(what);
                        };
                        (tell(rule), ...);
                    },
                    rules_);
            },
            fact);
}

void Monitor::on_end(bool is_whole) {
    if (is_whole)
        std::apply([](auto&... rule) { (rule.on_end(), ...); }, rules_);
}

std::vector<Verdict> Monitor::verdicts() const {
    return std::apply(
        [this](const auto&... rule) {
            return std::vector{Verdict{rule.name(), rule.judgements(), findings_.count(rule.name())}...};
        },
        rules_);
}

} // namespace traces::monitor
