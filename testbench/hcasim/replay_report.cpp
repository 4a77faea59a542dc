#include "testbench/hcasim/replay_report.h"

#include "traces/codec/event_record.h"
#include "traces/tool/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

namespace hcasim {

namespace codec = traces::codec;
namespace tool = traces::tool;
using platform::record::Divergence;
using platform::record::Step;

namespace {

constexpr std::size_t most_before = 12, most_links = 64;

/// One of two passes over the recording.
class Pass {
public:
    explicit Pass(const tool::OpenTrace& open) : source_(open()) {
        if (source_)
            reader_.emplace(**source_);
        if (reader_ && !reader_->open())
            reader_.reset();
    }
    /// nullptr: there is no more, or no more that can be read. What was played can be.
    const codec::Record* next() {
        if (!reader_)
            return nullptr;
        const auto record = reader_->next();
        return record ? *record : nullptr;
    }
    bool is_open() const { return reader_.has_value(); }
    const codec::Head& head() const { return reader_->head(); }

private:
    std::expected<std::unique_ptr<codec::Source>, std::string> source_;
    std::optional<codec::Reader> reader_;
};

/// Walks to the place of a divergence.
class Inspection {
public:
    Inspection(const RecordedPart& part, const Divergence& divergence, const codec::Head& head)
        : part_(part), divergence_(divergence), head_(head), decoder_(head), causes_(head) {
        const auto words = part.path.find('.'), last = part.path.rfind('.');
        sources_ = part.path.substr(0, words) + part.path.substr(last);
        if (divergence.expected_step && divergence.actual_step)
            pieces_left_ = first_differing_piece(*divergence.expected_step, *divergence.actual_step);
        report_ = {.kind = divergence.kind,
                   .next = divergence.next,
                   .call = divergence.call,
                   .other = divergence.other,
                   .expected = divergence.expected,
                   .actual = divergence.actual};
        piece_ = pieces_left_;
    }
    /// False: the place is reached.
    bool take(const codec::Record& record) {
        const auto wanted = divergence_.record != 0 ? divergence_.record : divergence_.next;
        if (wanted != 0 && record.number == wanted)
            link_ = record.interface;
        if (link_ && record.interface == *link_ && pieces_left_-- == 0) {
            look(record);
            return false;
        }
        causes_.take(record, decoder_.take(record), decoder_);
        if (is_ours(record)) {
            before_.push_back(record.number);
            if (before_.size() > most_before)
                before_.pop_front();
        }
        return true;
    }
    /// The recording has ended, and the device goes on.
    void end(std::uint64_t records) {
        if (divergence_.record == 0)
            look_at_actual(decoder_, records + 1);
    }

    DivergenceReport& report() { return report_; }
    const std::deque<std::uint64_t>& before() const { return before_; }
    const tool::Causes& causes() const { return causes_; }
    std::uint64_t chain_begin() const { return chain_begin_; }

private:
    bool is_ours(const codec::Record& record) const {
        if (head_.interfaces[record.interface].kind == codec::InterfaceKind::events) {
            const auto event = codec::read_event(record.head, record.time_ps);
            return event && event->stamp.source < head_.names.size() &&
                   head_.names[event->stamp.source].starts_with(sources_);
        }
        return std::ranges::find(part_.interfaces.functions, record.interface) != part_.interfaces.functions.end() ||
               std::ranges::find(part_.interfaces.ports, record.interface,
                                 &platform::record::DeviceInterfaces::Port::interface) != part_.interfaces.ports.end();
    }
    std::uint32_t interface_of(const Step& step) const {
        return step.what == Step::What::frame ? part_.interfaces.ports.at(step.place).interface
                                              : part_.interfaces.functions.at(step.place);
    }

    void look(const codec::Record& record) {
        const auto before = decoder_; // what is known to it when either side comes
        Fields expected;
        if (divergence_.record != 0) {
            const auto& seen = decoder_.take(record);
            expected = fields_of(record, seen, head_.interfaces[record.interface].kind);
            report_.record = record.number;
            report_.interface = head_.interfaces[record.interface].name;
            report_.time_ps = record.time_ps;
            report_.expected = tool::what_text(record, seen, head_);
            causes_.take(record, seen, decoder_);
            chain_begin_ = record.number;
        }
        // It may be one of the TLPs that its record stands for.
        if (part_.sizes.has_changed() && divergence_.expected_step)
            expected = look_at_step(before, *divergence_.expected_step, record.number, report_.expected);
        look_at_actual(before, record.number, std::move(expected));
    }
    /// As if it were a record.
    Fields look_at_step(tool::Decoder decoder, const Step& step, std::uint64_t number, std::string& text) {
        const auto address = divergence_.expected_step ? divergence_.expected_step->address : 0;
        const auto made = record_of(step, piece_, address);
        const codec::Record record{.number = number,
                                   .interface = interface_of(step),
                                   .time_ps = step.at.count(),
                                   .mark = {.kind = made.kind,
                                            .direction = codec::Direction::outbound,
                                            .gate = step.gate,
                                            .cause = static_cast<std::uint32_t>(divergence_.call)},
                                   .head = made.head,
                                   .payload = made.payload};
        const auto& seen = decoder.take(record);
        text = tool::what_text(record, seen, head_);
        if (divergence_.record == 0) {
            report_.interface = head_.interfaces[record.interface].name;
            report_.time_ps = record.time_ps;
            causes_.take(record, seen, decoder);
            chain_begin_ = number;
        }
        return fields_of(record, seen, head_.interfaces[record.interface].kind);
    }
    void look_at_actual(const tool::Decoder& decoder, std::uint64_t number, Fields expected = {}) {
        Fields actual;
        if (divergence_.actual_step)
            actual = look_at_step(decoder, *divergence_.actual_step, number, report_.actual);
        if (divergence_.kind == Divergence::Kind::missing)
            actual.clear(); // what comes instead is no other side of it
        report_.rows = side_by_side(expected, actual);
        const bool has_both = !expected.empty() && !actual.empty();
        if (!has_both || (divergence_.kind != Divergence::Kind::field && divergence_.kind != Divergence::Kind::time))
            return;
        const bool is_time = divergence_.kind == Divergence::Kind::time;
        const auto first = std::ranges::find_if(
            report_.rows, [&](const FieldRow& row) { return row.differs() && (is_time || row.name != "time"); });
        if (first != report_.rows.end())
            report_.field = first->name;
    }

    const RecordedPart& part_;
    const Divergence& divergence_;
    const codec::Head& head_;
    std::string sources_; ///< names of its events begin with it
    tool::Decoder decoder_;
    tool::Causes causes_;
    std::size_t piece_ = 0, pieces_left_ = 0; ///< of an access of several TLPs, the one that differs
    std::optional<std::uint32_t> link_;       ///< of the access, once it has begun
    std::deque<std::uint64_t> before_;
    std::uint64_t chain_begin_ = 0;
    DivergenceReport report_;
};

} // namespace

DivergenceReport make_report(const tool::OpenTrace& open, const RecordedPart& part, const Divergence& divergence) {
    Pass first(open);
    if (!first.is_open())
        return {.kind = divergence.kind,
                .record = divergence.record,
                .expected = divergence.expected,
                .actual = divergence.actual};
    Inspection inspection(part, divergence, first.head());
    std::uint64_t records = 0;
    bool is_found = false;
    while (!is_found) {
        const auto* record = first.next();
        if (record == nullptr)
            break;
        records = record->number;
        is_found = !inspection.take(*record);
    }
    if (!is_found)
        inspection.end(records);
    auto& report = inspection.report();

    // The chain, and the lines of its records.
    std::map<std::uint64_t, std::string> lines;
    std::map<std::uint64_t, std::uint32_t> marks;
    for (const auto number : inspection.before())
        lines[number];
    auto at = inspection.chain_begin();
    for (std::size_t i = 0; at != 0 && i < most_links; ++i) {
        const auto step = inspection.causes().of(at);
        const bool is_now = at == inspection.chain_begin() && report.record == 0;
        report.chain.push_back({is_now ? 0 : at, {}, {}});
        if (!is_now)
            lines[at];
        at = step.record;
    }
    Pass second(open);
    std::optional<tool::Decoder> decoder;
    if (second.is_open())
        decoder.emplace(second.head());
    for (const auto* record = second.next(); record != nullptr && !lines.empty(); record = second.next()) {
        if (record->number > lines.rbegin()->first)
            break;
        const auto& seen = decoder->take(*record);
        if (const auto wanted = lines.find(record->number); wanted != lines.end()) {
            wanted->second = tool::line_of(*record, seen, second.head());
            marks[record->number] = record->mark.cause;
        }
    }
    for (const auto number : inspection.before())
        report.before.push_back(lines[number]);
    for (auto& link : report.chain) {
        const auto number = link.record != 0 ? link.record : inspection.chain_begin();
        link.line = link.record != 0 ? lines[number] : report.actual;
        link.why = tool::sentence(inspection.causes().of(number),
                                  link.record != 0 ? marks[number] : static_cast<std::uint32_t>(report.call));
    }
    return report;
}

} // namespace hcasim
