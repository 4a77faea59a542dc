#include "platform/observe/count/digests.h"

namespace platform::observe::count {

void Digests::on(const traces::Stamp& stamp, const traces::Event& event) {
    encoded_.clear();
    encode(stamp, event, encoded_);
    all_.add(encoded_.view());
    if (stamp.source >= parts_.size())
        parts_.resize(std::size_t{stamp.source} + 1);
    auto& part = parts_[stamp.source];
    if (!part)
        part = std::make_unique<Digest>();
    // Without its number: the rest stands where it stood.
    part->add(encoded_.view().first(source_begin), encoded_.view().subspan(source_end));
    if (all_.events() % distance_ != 0)
        return;
    marks_.push_back(
        {.events = all_.events(), .number = stamp.number, .time_ps = stamp.time_ps, .digest = all_.text()});
    if (marks_.size() < most_marks)
        return;
    distance_ *= 2;
    std::erase_if(marks_, [&](const Mark& mark) { return mark.events % distance_ != 0; });
}

const Digest* Digests::of(std::uint16_t source) const {
    return source < parts_.size() ? parts_[source].get() : nullptr;
}

} // namespace platform::observe::count
