#include "platform/topology/what_to_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace platform::topology {

namespace {

constexpr std::string_view all = "all", events = "events", port_word = ".port";

/// A card, whole.
record::Subject subject_of(const Description& description, const PartAt& at) {
    const auto& part = description.part(at);
    record::Subject subject{.path = description.path_of(at)};
    if (part.kind == PartKind::hca)
        subject.ports.emplace_back(description.cables[part.hca().cable].link.encapsulation);
    else if (part.kind == PartKind::device)
        subject.functions = static_cast<unsigned>(part.other().functions().size());
    return subject;
}

/// "A.hca0.port1" is "A.hca0" and 1.
struct Name {
    std::string_view part;
    unsigned port = 0; ///< 0: the part
};
Name split(std::string_view name) {
    const auto at = name.rfind(port_word);
    if (at == name.npos)
        return {.part = name};
    const auto digits = name.substr(at + port_word.size());
    Name split{.part = name.substr(0, at)};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), split.port);
    return error == std::errc{} && end == digits.data() + digits.size() && split.port != 0 ? split : Name{name};
}

class Choice {
public:
    explicit Choice(const Description& description) : description_(description) {
        for (std::size_t host = 0; host < description.hosts.size(); ++host)
            for (std::size_t part = 0; part < description.hosts[host].parts.size(); ++part)
                if (description.hosts[host].parts[part].is_card())
                    whole_.push_back(subject_of(description, {host, part}));
        chosen_.resize(whole_.size());
    }

    bool add(std::string_view wish) {
        if (wish == all)
            chosen_ = whole_;
        if (wish == all || wish == events)
            return has_events_ = true;
        const auto name = split(wish);
        const auto at = description_.find(name.part);
        if (!at || !description_.part(*at).is_card())
            return false;
        const auto row = std::ranges::find(whole_, description_.path_of(*at), &record::Subject::path) - whole_.begin();
        const auto& whole = whole_[static_cast<std::size_t>(row)];
        auto& chosen = chosen_[static_cast<std::size_t>(row)];
        if (name.port > whole.ports.size())
            return false;
        if (name.port == 0) {
            chosen = whole;
            return true;
        }
        if (chosen.path.empty())
            chosen = {.path = whole.path, .functions = 0, .ports = decltype(whole.ports)(whole.ports.size())};
        chosen.ports[name.port - 1] = whole.ports[name.port - 1];
        return true;
    }

    Recorded take() {
        std::erase_if(chosen_, [](const record::Subject& subject) { return subject.path.empty(); });
        return {std::move(chosen_), has_events_};
    }

    std::string names() const {
        std::vector<std::string> names{std::string(all), std::string(events)};
        for (const auto& subject : whole_) {
            names.push_back(subject.path);
            for (std::size_t port = 1; port <= subject.ports.size(); ++port)
                names.push_back(fmt::format("{}{}{}", subject.path, port_word, port));
        }
        return fmt::format("{}", fmt::join(names, " "));
    }

private:
    const Description& description_;
    std::vector<record::Subject> whole_, chosen_; ///< by card; without a path: not chosen
    bool has_events_ = false;
};

} // namespace

std::expected<Recorded, std::string> choose_recorded(const Description& description,
                                                     std::span<const std::string> wanted) {
    Choice choice(description);
    if (wanted.empty())
        choice.add(all);
    for (const auto& wish : wanted)
        if (!choice.add(wish))
            return std::unexpected(
                fmt::format("there is nothing called '{}' to record, there are: {}", wish, choice.names()));
    return choice.take();
}

} // namespace platform::topology
