#include "platform/record/event_records.h"

#include "traces/codec/event_record.h"

namespace platform::record {

using namespace traces::codec;

void EventRecords::on(const traces::Stamp& stamp, const traces::Event& event) {
    bytes_.clear();
    put_event(bytes_, stamp, event);
    const auto& cause = (*known_)[stamp.cause % known_->size()];
    const bool is_known = stamp.cause != 0 && cause.event == stamp.cause && cause.record != 0;
    const Mark mark{.kind = RecordKind::event, .cause = is_known ? cause.record : journal_.cause()};
    const auto record = journal_.put(interface_, mark, model::port::Time(stamp.time_ps), bytes_);
    (*known_)[stamp.number % known_->size()] = {.event = stamp.number, .record = record};
}

} // namespace platform::record
