// The recording of a run: who recorded what of which configuration, the file that it goes to, and the boundaries of the
// devices that are recorded. A platform gives each card its boundary while it is built, and then says which sources of
// events there are; from then on records go to the file, and to whoever watches. Whoever records waits until the file
// has taken a batch, so that memory is bounded and nothing is dropped.
#pragma once

#include "platform/record/event_records.h"
#include "platform/record/recorded_device.h"
#include "traces/codec/file.h"
#include "traces/codec/writer.h"

#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace platform::record {

/// A device of which something is recorded.
struct Subject {
    std::string path;       ///< "A.root0.sw0.hca0": names its interfaces
    unsigned functions = 1; ///< whose links are recorded; 0: none, ports alone
    /// What its network ports carry, by their numbers; nothing: not recorded.
    std::vector<std::optional<model::port::Encapsulation>> ports{};
    bool operator==(const Subject&) const = default;
};

/// Somebody beside the file, in this process: a monitor, a test.
class Watcher {
public:
    virtual ~Watcher() = default;
    virtual void begin(const traces::codec::Head& head) { static_cast<void>(head); }
    /// As a Reader gives it.
    virtual void on(const traces::codec::Record& record) = 0;
    virtual void end() {}
};

class Recording final : private traces::codec::RecordSink {
public:
    /// Of a file: batches that may be on their way to it while the next one is filled.
    static constexpr std::size_t most_waiting = 4;
    /// What a file does not have yet while it grows, and never when the program is killed: batches before compression,
    /// each of which may be longer by a record.
    static constexpr std::size_t most_missing_bytes = (most_waiting + 1) * traces::codec::Writer::Options{}.batch_bytes;
    struct Options {
        std::string revision; ///< of the program
        std::uint64_t seed = 0;
        std::string configuration; ///< effective
        std::vector<Subject> subjects{};
        bool has_events = true;
        traces::codec::Writer::Options file{};
        std::uint64_t dictionary_bytes = traces::codec::Identity{}.dictionary_bytes;
    };
    /// Without a file: for those who watch.
    explicit Recording(Options options);
    Recording(Options options, std::unique_ptr<traces::codec::Destination> destination, std::string name);
    /// Into a file, which is created now. The error is one line.
    static std::expected<std::unique_ptr<Recording>, std::string> create(const std::string& path, Options options);
    ~Recording() override;

    /// Outlives the recording; told of the head when it is complete, then of each record.
    void watch(Watcher& watcher) { watchers_.push_back(&watcher); }
    /// Told once, with the reason, when the file cannot be written any more.
    void on_failure(std::function<void(const std::string& why)> tell) { tell_failure_ = std::move(tell); }

    Journal& journal() { return journal_; }
    /// nullptr: nothing of this device is recorded. Valid as long as the recording.
    Boundary* boundary(std::string_view path);
    /// Where the model's events are recorded; nullptr: they are not.
    traces::Sink* events() { return events_ ? &*events_ : nullptr; }
    /// The platform is built: the names of the sources of events, by their numbers. What was recorded until now has
    /// waited for them.
    void begin(std::vector<std::string> names);

    /// What was recorded so far is in the file.
    void flush();
    bool is_flushed() const { return !writer_ || writer_->batched_bytes() == 0; }
    /// After the last record. The error is one line, and says which records the file does not have.
    std::expected<void, std::string> close();

    const traces::codec::Head& head() const { return head_; }
    std::uint64_t records() const { return records_; }

private:
    std::uint64_t put(const traces::codec::Record& record) override;
    void share(std::span<const std::byte> whole) override;
    void hand_on(const traces::codec::Record& record);
    void look_at_file();
    std::string missing() const;

    /// A record that has come before the head was complete.
    struct Early {
        traces::codec::Record record;
        std::vector<std::byte> head, payload;
    };

    Options options_;
    std::string name_; ///< of the file
    traces::codec::Head head_;
    std::unique_ptr<traces::codec::Destination> destination_;
    std::optional<traces::codec::Writer> writer_;
    std::vector<Watcher*> watchers_;
    std::function<void(const std::string& why)> tell_failure_;
    std::vector<Early> early_;
    std::uint64_t records_ = 0;
    bool has_begun_ = false, has_failed_ = false, is_closed_ = false;

    Journal journal_;
    std::optional<EventRecords> events_;
    std::deque<Boundary> boundaries_; ///< of the subjects, in their order
};

} // namespace platform::record
