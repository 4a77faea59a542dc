#include "traces/tool/perfetto_file.h"

#include <algorithm>

namespace traces::tool {

namespace {

/// Numbers of fields, as the published .proto files have them.
namespace field {
constexpr unsigned packet = 1;                                                             // Trace
constexpr unsigned timestamp = 8, sequence = 10, track_event = 11, track_descriptor = 60;  // TracePacket
constexpr unsigned uuid = 1, name = 2, process = 3, parent = 5, counter = 8;               // TrackDescriptor
constexpr unsigned pid = 1, process_name = 6;                                              // ProcessDescriptor
constexpr unsigned unit = 3;                                                               // CounterDescriptor
constexpr unsigned note = 4, type = 9, track = 11, event_name = 23, value = 30, flow = 47; // TrackEvent
constexpr unsigned note_number = 3, note_text = 6, note_name = 10;                         // DebugAnnotation
} // namespace field

enum class EventType : std::uint8_t { slice_begin = 1, slice_end, instant, counter };
constexpr std::uint64_t unit_count = 2;
/// Whoever writes a part of a trace has a sequence of its own; there is one.
constexpr std::uint64_t own_sequence = 1;

} // namespace

/// Protocol buffers: a field is its number and wire type, then its value.
class PerfettoFile::Message {
public:
    Message& number(unsigned field, std::uint64_t value) {
        put(std::uint64_t{field} << 3 | varint);
        put(value);
        return *this;
    }
    Message& text(unsigned field, std::string_view value) {
        put(std::uint64_t{field} << 3 | delimited);
        put(value.size());
        bytes_ += value;
        return *this;
    }
    Message& message(unsigned field, const Message& value) { return text(field, value.bytes_); }
    Message& fixed(unsigned field, std::uint64_t value) {
        put(std::uint64_t{field} << 3 | eight_bytes);
        for (unsigned i = 0; i < 8; ++i)
            bytes_ += static_cast<char>(value >> i * 8 & 0xff);
        return *this;
    }
    const std::string& bytes() const { return bytes_; }

private:
    static constexpr std::uint64_t varint = 0, eight_bytes = 1, delimited = 2;
    void put(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7)
            bytes_ += static_cast<char>((value & 0x7f) | 0x80);
        bytes_ += static_cast<char>(value);
    }
    std::string bytes_;
};

PerfettoFile::Track PerfettoFile::process(std::string_view name) {
    Message process;
    process.number(field::pid, ++processes_).text(field::process_name, name);
    Message descriptor;
    descriptor.number(field::uuid, ++last_).text(field::name, name).message(field::process, process);
    packet(Message{}.message(field::track_descriptor, descriptor));
    return last_;
}

PerfettoFile::Track PerfettoFile::track(Track parent, std::string_view name) { return describe(parent, name, false); }
PerfettoFile::Track PerfettoFile::counter(Track parent, std::string_view name) { return describe(parent, name, true); }

PerfettoFile::Track PerfettoFile::describe(Track parent, std::string_view name, bool is_counter) {
    Message descriptor;
    descriptor.number(field::uuid, ++last_).text(field::name, name).number(field::parent, parent);
    if (is_counter)
        descriptor.message(field::counter, Message{}.number(field::unit, unit_count));
    packet(Message{}.message(field::track_descriptor, descriptor));
    return last_;
}

void PerfettoFile::slice(Track track, std::int64_t begin_ns, std::int64_t end_ns, std::string_view name,
                         std::span<const Flow> flows) {
    if (end_ns <= begin_ns)
        return instant(track, begin_ns, name, flows);
    Message begin;
    begin.number(field::type, static_cast<std::uint64_t>(EventType::slice_begin)).text(field::event_name, name);
    for (const auto flow : flows)
        begin.fixed(field::flow, flow);
    event(track, begin_ns, begin);
    event(track, end_ns, Message{}.number(field::type, static_cast<std::uint64_t>(EventType::slice_end)));
}

void PerfettoFile::instant(Track track, std::int64_t at_ns, std::string_view name, std::span<const Flow> flows,
                           std::span<const Note> notes) {
    Message instant;
    instant.number(field::type, static_cast<std::uint64_t>(EventType::instant)).text(field::event_name, name);
    for (const auto flow : flows)
        instant.fixed(field::flow, flow);
    for (const auto& [label, number, text] : notes) {
        Message note;
        note.text(field::note_name, label);
        if (text.empty())
            note.number(field::note_number, number);
        else
            note.text(field::note_text, text);
        instant.message(field::note, note);
    }
    event(track, at_ns, instant);
}

void PerfettoFile::count(Track counter, std::int64_t at_ns, std::int64_t value) {
    event(counter, at_ns,
          Message{}
              .number(field::type, static_cast<std::uint64_t>(EventType::counter))
              .number(field::value, static_cast<std::uint64_t>(value)));
}

void PerfettoFile::event(Track track, std::int64_t at_ns, const Message& event) {
    Message whole = event;
    whole.number(field::track, track);
    waiting_.push({.at_ns = at_ns, .number = ++events_, .track = track, .bytes = whole.bytes()});
    if (waiting_.size() > most_waiting)
        put_earliest();
}

/// What comes still later than others have waited for it is drawn where its track is by then.
void PerfettoFile::put_earliest() {
    const auto& next = waiting_.top();
    times_.resize(std::max<std::size_t>(times_.size(), next.track + 1));
    auto& time = times_[next.track];
    time = std::max(time, next.at_ns);
    packet(Message{}.number(field::timestamp, static_cast<std::uint64_t>(time)).text(field::track_event, next.bytes));
    waiting_.pop();
}

void PerfettoFile::packet(const Message& packet) {
    Message whole = packet;
    whole.number(field::sequence, own_sequence);
    buffer_ += Message{}.message(field::packet, whole).bytes();
    if (buffer_.size() >= most_bytes)
        write();
}

void PerfettoFile::flush() {
    while (!waiting_.empty())
        put_earliest();
    write();
}

void PerfettoFile::write() {
    if (failure_.empty() && !buffer_.empty())
        if (const auto written = destination_.write(std::as_bytes(std::span(buffer_))); !written)
            failure_ = written.error();
    buffer_.clear();
}

} // namespace traces::tool
