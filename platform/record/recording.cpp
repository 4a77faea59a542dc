#include "platform/record/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace platform::record {

using namespace traces::codec;

namespace {

/// "A.hca0" for function 0, "A.hca0.f1" for the next.
std::string name_of_function(const Subject& subject, unsigned number) {
    return number == 0 ? subject.path : fmt::format("{}.f{}", subject.path, number);
}

} // namespace

Recording::Recording(Options options) : Recording(std::move(options), nullptr, "") {}

Recording::Recording(Options options, std::unique_ptr<Destination> destination, std::string name)
    : options_(std::move(options)), name_(std::move(name)), destination_(std::move(destination)), journal_(*this) {
    using model::port::Encapsulation;
    head_.identity = {.revision = options_.revision, .seed = options_.seed};
    head_.identity.dictionary_bytes = options_.dictionary_bytes;
    head_.configuration = std::move(options_.configuration);
    const auto add = [&](InterfaceKind kind, std::string called) {
        head_.interfaces.push_back({kind, std::move(called)});
        return static_cast<std::uint32_t>(head_.interfaces.size() - 1);
    };
    for (const auto& subject : options_.subjects) {
        DeviceInterfaces interfaces;
        for (unsigned number = 0; number < subject.functions; ++number)
            interfaces.functions.push_back(add(InterfaceKind::pcie, name_of_function(subject, number)));
        if (subject.functions == 0)
            interfaces.functions.push_back(not_recorded);
        for (unsigned number = 1; number <= subject.ports.size(); ++number) {
            const auto& carries = subject.ports[number - 1];
            const auto kind =
                carries == Encapsulation::infiniband ? InterfaceKind::infiniband : InterfaceKind::ethernet;
            const auto called = fmt::format("{}.port{}", subject.path, number);
            interfaces.ports.push_back(
                {carries ? add(kind, called) : not_recorded, carries.value_or(Encapsulation::roce_v2_ipv4)});
        }
        boundaries_.emplace_back(journal_, interfaces);
    }
    if (options_.has_events)
        events_.emplace(journal_, add(InterfaceKind::events, "events"));
}

/// A platform that was refused, or could not be built, has nothing to record.
Recording::~Recording() {
    if (destination_ && !has_begun_)
        destination_->give_up();
}

std::expected<std::unique_ptr<Recording>, std::string> Recording::create(const std::string& path, Options options) {
    auto file = FileDestination::create(path);
    if (!file)
        return std::unexpected(file.error());
    options.file.most_waiting = most_waiting;
    return std::make_unique<Recording>(std::move(options), std::make_unique<FileDestination>(std::move(*file)), path);
}

Boundary* Recording::boundary(std::string_view path) {
    const auto found = std::ranges::find(options_.subjects, path, &Subject::path);
    if (found == options_.subjects.end())
        return nullptr;
    return &boundaries_[static_cast<std::size_t>(found - options_.subjects.begin())];
}

void Recording::begin(std::vector<std::string> names) {
    assert(!has_begun_ && "a recording is of one platform");
    has_begun_ = true;
    head_.names = std::move(names);
    if (destination_)
        writer_.emplace(*destination_, head_, options_.file);
    for (auto* watcher : watchers_)
        watcher->begin(head_);
    for (auto& [record, head, payload] : early_) {
        record.head = head;
        record.payload = payload;
        hand_on(record);
    }
    early_ = {};
}

std::uint64_t Recording::put(const Record& record) {
    auto numbered = record;
    numbered.number = ++records_;
    if (has_begun_) [[likely]]
        hand_on(numbered);
    else
        early_.push_back(
            {numbered, {record.head.begin(), record.head.end()}, {record.payload.begin(), record.payload.end()}});
    return records_ <= most_records ? records_ : 0;
}

void Recording::hand_on(const Record& record) {
    if (writer_ && writer_->put(record) == 0) [[unlikely]]
        look_at_file();
    for (auto* watcher : watchers_)
        watcher->on(record);
}

void Recording::share(std::span<const std::byte> whole) {
    if (writer_)
        writer_->share(whole);
}

std::string Recording::missing() const {
    return fmt::format("records {} to {} are missing in it", writer_->kept_records() + 1, records_);
}

/// The disk may be full: that is told once, and at the end how much is missing.
void Recording::look_at_file() {
    if (has_failed_ || writer_->is_good())
        return;
    has_failed_ = true;
    if (tell_failure_)
        tell_failure_(fmt::format("{}; records from {} on are missing in it", writer_->flush().error(),
                                  writer_->kept_records() + 1));
}

void Recording::flush() {
    if (is_flushed())
        return;
    static_cast<void>(writer_->flush());
    look_at_file();
}

std::expected<void, std::string> Recording::close() {
    if (is_closed_)
        return {};
    is_closed_ = true;
    for (auto* watcher : watchers_)
        watcher->end();
    if (!writer_)
        return {};
    if (const auto outcome = writer_->close(); !outcome)
        return std::unexpected(fmt::format("{}; {}", outcome.error(), missing()));
    return {};
}

} // namespace platform::record
