#include "platform/observe/count/digests.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <variant>

namespace platform::observe::count {

namespace {

/// Of a cable: which of its ends has sent what the event is about. Others have one end.
std::size_t end_of(const traces::Event& event) {
    const auto* fault = std::get_if<traces::LinkFault>(&event);
    return fault != nullptr ? fault->direction & 1 : 0;
}

/// Values one after the other, as 64 bits each, little endian.
class Hash {
public:
    void add(std::uint64_t value) {
        if constexpr (std::endian::native == std::endian::big)
            value = std::byteswap(value);
        values_.push_back(value);
    }
    std::uint64_t value() const {
        return XXH64(values_.data(), values_.size() * sizeof(std::uint64_t), traces::events_version);
    }

private:
    std::vector<std::uint64_t> values_;
};

} // namespace

std::string DigestValue::text() const { return fmt::format("{:016x}", value); }

void Digests::on(const traces::Stamp& stamp, const traces::Event& event) {
    const auto number = std::size_t{stamp.source} * ends + end_of(event);
    if (number >= parts_.size())
        parts_.resize(number + 1);
    auto& part = parts_[number];
    if (!part)
        part = std::make_unique<Digest>();
    part->add(stamp, event);
    if (++events_ % distance_ != 0 || !has_marks_)
        return;
    marks_.push_back({.events = events_, .number = stamp.number, .time_ps = stamp.time_ps, .digest = all().text()});
    if (marks_.size() < most_marks)
        return;
    distance_ *= 2;
    std::erase_if(marks_, [&](const Mark& mark) { return mark.events % distance_ != 0; });
}

std::optional<DigestValue> Digests::value_of(std::size_t number) const {
    if (number < others_.size() && others_[number])
        return others_[number];
    if (number < parts_.size() && parts_[number])
        return DigestValue{parts_[number]->events(), parts_[number]->value()};
    return std::nullopt;
}

DigestValue Digests::all() const {
    DigestValue sum;
    Hash hash;
    for (std::size_t number = 0; number < std::max(parts_.size(), others_.size()); ++number)
        if (const auto part = value_of(number)) {
            hash.add(number);
            hash.add(part->events);
            hash.add(part->value);
            sum.events += part->events;
        }
    sum.value = hash.value();
    return sum;
}

std::optional<DigestValue> Digests::of(std::uint16_t source) const {
    std::optional<DigestValue> first = value_of(std::size_t{source} * ends),
                               second = value_of(std::size_t{source} * ends + 1);
    if (!second)
        return first;
    Hash hash;
    for (const auto& end : {first.value_or(DigestValue{}), *second})
        hash.add(end.events), hash.add(end.value);
    return DigestValue{first.value_or(DigestValue{}).events + second->events, hash.value()};
}

std::vector<Digests::Part> Digests::parts() const {
    std::vector<Part> parts;
    for (std::size_t number = 0; number < parts_.size(); ++number)
        if (parts_[number])
            parts.push_back({static_cast<std::uint16_t>(number / ends),
                             static_cast<std::uint8_t>(number % ends),
                             {parts_[number]->events(), parts_[number]->value()}});
    return parts;
}

bool Digests::add(const Part& part) {
    const auto number = std::size_t{part.source} * ends + part.end;
    if (part.end >= ends || value_of(number))
        return false;
    others_.resize(std::max(others_.size(), number + 1));
    others_[number] = part.digest;
    parts_.resize(std::max(parts_.size(), number + 1)); // so that sources() has it, too
    return true;
}

} // namespace platform::observe::count
