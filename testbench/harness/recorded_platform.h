// A platform recorded in memory, and each of its devices played again alone from that.
#pragma once

#include "platform/record/recording.h"
#include "platform/record/replay.h"
#include "platform/topology/device_config.h"
#include "platform/topology/what_to_record.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace harness {

class RecordedPlatform {
public:
    using Mode = platform::record::Replay::Mode;

    /// Of all devices and events.
    explicit RecordedPlatform(const platform::topology::Config& config)
        : config_(config), description_(platform::topology::describe(config).value()),
          subjects(platform::topology::choose_recorded(description_, {}).value().subjects),
          recording({.revision = "test", .configuration = {}, .subjects = subjects}, std::make_unique<ToMemory>(bytes_),
                    "memory") {}

    struct Played {
        std::string why; ///< it differs; empty: it does not
        std::uint64_t calls = 0;
        bool operator==(const Played&) const = default;
    };
    /// Plays one of `subjects`; the recording is closed.
    Played play(const platform::record::Subject& subject, Mode mode) const {
        FromMemory source(bytes_);
        traces::codec::Reader reader(source);
        if (const auto opened = reader.open(); !opened)
            return {opened.error().text()};
        platform::record::Replay replay(reader, interfaces_of(reader.head(), subject), mode);
        const auto& part = description_.part(*description_.find(subject.path));
        const auto device = platform::topology::device_config(config_, part).make(replay.ports(), {.name = "replayed"});
        const auto result = replay.run(*device);
        return {result.divergence ? result.divergence->text()
                : result.fault    ? result.fault->text()
                                  : std::string(),
                result.calls};
    }
    /// Every subject, strictly twice and untimed once: what differs, a line each. One that was never called has played
    /// nothing, which is said, too.
    std::string play_all() {
        std::string found;
        if (const auto closed = recording.close(); !closed)
            return closed.error();
        for (const auto& subject : subjects) {
            const auto strict = play(subject, Mode::strict), untimed = play(subject, Mode::untimed);
            if (strict.calls == 0)
                found += subject.path + " was never called\n";
            if (!strict.why.empty())
                found += subject.path + ", strict: " + strict.why + '\n';
            else if (strict != play(subject, Mode::strict))
                found += subject.path + " played otherwise the second time\n";
            if (!untimed.why.empty())
                found += subject.path + ", untimed: " + untimed.why + '\n';
        }
        return found;
    }

private:
    struct ToMemory final : traces::codec::Destination {
        explicit ToMemory(std::vector<std::byte>& whose) : to(whose) {}
        Outcome write(std::span<const std::byte> more) override {
            to.insert(to.end(), more.begin(), more.end());
            return {};
        }
        std::vector<std::byte>& to;
    };
    struct FromMemory final : traces::codec::Source {
        explicit FromMemory(std::span<const std::byte> all) : left(all) {}
        std::expected<std::size_t, std::string> read(std::span<std::byte> into) override {
            const auto count = std::min(into.size(), left.size());
            std::ranges::copy(left.first(count), into.begin());
            left = left.subspan(count);
            return count;
        }
        std::span<const std::byte> left;
    };
    static platform::record::DeviceInterfaces interfaces_of(const traces::codec::Head& head,
                                                            const platform::record::Subject& subject) {
        platform::record::DeviceInterfaces found;
        for (std::uint32_t number = 0; number < head.interfaces.size(); ++number) {
            const auto& name = head.interfaces[number].name;
            if (name == subject.path)
                found.functions.push_back(number);
            for (std::size_t port = 1; port <= subject.ports.size(); ++port)
                if (name == subject.path + ".port" + std::to_string(port))
                    found.ports.push_back({number, *subject.ports[port - 1]});
        }
        return found;
    }

    platform::topology::Config config_;
    platform::topology::Description description_;
    std::vector<std::byte> bytes_;

public:
    std::vector<platform::record::Subject> subjects;
    platform::record::Recording recording;
};

} // namespace harness
