#include "traces/codec/writer.h"

#include "traces/codec/erf.h"
#include "traces/codec/packet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <functional>

namespace traces::codec {

using namespace abi;

namespace {

constexpr std::size_t text_piece_bytes = 128 << 10;

std::uint16_t link_type(InterfaceKind kind) {
    constexpr std::array types{link_type_pcie, link_type_ethernet, link_type_erf, link_type_events};
    return types[static_cast<std::size_t>(kind)];
}

bool is_port(InterfaceKind kind) { return kind == InterfaceKind::ethernet || kind == InterfaceKind::infiniband; }

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

void put_mark(View<RecordMark> view, const Mark& mark) {
    view.set<"version">(format_version)
        .set<"kind">(static_cast<std::uint8_t>(mark.kind))
        .set<"direction">(static_cast<std::uint8_t>(mark.direction))
        .set<"flags">(mark.flags)
        .set<"gate">(mark.gate)
        .set<"cause">(mark.cause);
}

/// Tells most contents apart, of which it sees little.
std::uint64_t sample(std::span<const std::byte> bytes) {
    std::array<std::uint64_t, 3> words{};
    const auto length = std::min(bytes.size(), sizeof words[0]);
    std::memcpy(&words[0], bytes.data(), length);
    std::memcpy(&words[1], bytes.data() + (bytes.size() - length) / 2, length);
    std::memcpy(&words[2], bytes.data() + (bytes.size() - length), length);
    const auto mixed = (words[0] ^ std::rotl(words[1], 21) ^ std::rotl(words[2], 42) ^ bytes.size());
    return mixed * 0x9e37'79b9'7f4a'7c15U;
}

} // namespace

Writer::Writer(Destination& destination, const Head& head, Options options)
    : batches_(destination, options.level, options.most_waiting), options_(options),
      dictionary_(head.identity.dictionary_bytes), counts_(head.interfaces.size()) {
    assert(head.interfaces.size() <= most_interfaces && head.names.size() <= most_names);
    assert(head.configuration.size() <= most_configuration_bytes);
    assert(head.identity.dictionary_bytes <= most_dictionary_bytes);
    for (const auto& interface : head.interfaces)
        kinds_.push_back(interface.kind);
    batch_.reserve(std::min(options.batch_bytes, std::size_t{1} << 20) + most_record_bytes + 4096);
    write_head(head);
    // A frame of its own: who cannot read what follows has the configuration. The outcome stays: the caller meets it at
    // the first record.
    sync(BlockKind::sync);
    put_batch(FrameWriter::Frame::ends);
    static_cast<void>(batches_.wait());
    look_at_outcome();
}

void Writer::write_head(const Head& head) {
    constexpr std::size_t most_option_bytes = 1024;
    const auto program = fmt::format("hcasim {}", head.identity.revision).substr(0, most_option_bytes);
    BlockBuilder section(batch_, pcapng::section_header_type, std::type_identity<pcapng::SectionHeader>{});
    section.fixed<pcapng::SectionHeader>()
        .set<"byte_order">(pcapng::byte_order_magic)
        .set<"major">(1)
        .set<"section_length">(pcapng::unknown_length);
    section.option(pcapng::option_user_application, bytes_of(program)).end_options().close();
    ++blocks_;

    trace_block(BlockKind::identity, indispensable, [&](BlockBuilder& block) {
        abi::Block<IdentityBlock> identity;
        identity.view()
            .set<"events_version">(head.identity.events_version)
            .set<"digest_algorithm">(xxh3_128)
            .set<"seed">(head.identity.seed)
            .set<"dictionary_bytes">(head.identity.dictionary_bytes);
        block.add(identity.bytes).add(bytes_of(head.identity.revision));
    });
    text_blocks(BlockKind::configuration, head.configuration);
    for (std::uint32_t source = 0; source < head.names.size(); ++source)
        trace_block(BlockKind::name, 0, [&](BlockBuilder& block) {
            abi::Block<NameBlock> name;
            name.view().set<"source">(source);
            block.add(name.bytes).add(bytes_of(head.names[source]));
        });
    for (const auto& interface : head.interfaces) {
        BlockBuilder block(batch_, pcapng::interface_type, std::type_identity<pcapng::InterfaceDescription>{});
        block.fixed<pcapng::InterfaceDescription>().set<"link_type">(link_type(interface.kind));
        const auto resolution = std::byte{picoseconds};
        block.option(pcapng::option_if_name, bytes_of(interface.name))
            .option(pcapng::option_if_description, bytes_of(name(interface.kind)))
            .option(pcapng::option_if_tsresol, std::span(&resolution, 1))
            .end_options()
            .close();
        ++blocks_;
    }
}

template <class Fill> void Writer::trace_block(BlockKind kind, std::uint8_t flags, Fill&& fill) {
    // Positions are said in sync blocks only; those must not be copied.
    const bool is_sync = kind == BlockKind::sync || kind == BlockKind::end;
    const auto begin = batch_.size();
    BlockBuilder block(batch_, is_sync ? pcapng::uncopied_custom_type : pcapng::custom_type,
                       std::type_identity<pcapng::CustomBlock>{});
    batch_.resize(begin + TraceBlock::size);
    fill(block);
    const View<TraceBlock> view{std::span(batch_).subspan(begin)};
    view.sub<"block">().set<"enterprise">(enterprise_number);
    view.set<"magic">(magic)
        .set<"version">(format_version)
        .set<"kind">(static_cast<std::uint8_t>(kind))
        .set<"flags">(flags)
        .set<"length">(static_cast<std::uint32_t>(batch_.size() - begin - TraceBlock::size));
    block.close();
    ++blocks_;
}

void Writer::text_blocks(BlockKind kind, std::string_view text) {
    do {
        const auto piece = text.substr(0, text_piece_bytes);
        text.remove_prefix(piece.size());
        const auto flags = static_cast<std::uint8_t>(indispensable | (text.empty() ? 0 : continues));
        trace_block(kind, flags, [&](BlockBuilder& block) { block.add(bytes_of(piece)); });
    } while (!text.empty());
}

std::uint64_t Writer::write(std::uint32_t interface, std::int64_t time_ps, const Mark& mark,
                            std::span<const std::byte> head, std::span<const std::byte> payload) {
    return packet(interface, time_ps, mark, head, payload, head.size() + payload.size());
}

std::uint64_t Writer::write(std::uint32_t interface, std::int64_t time_ps, const Mark& mark,
                            std::span<const std::byte> head, const Reference& payload) {
    assert(payload.length > PayloadReference::size && "shorter payload stands in the record");
    assert(dictionary_.find(payload.digest) && "the bytes have left the window since they were referred to");
    abi::Block<PayloadReference> reference;
    reference.view().set<"digest">(payload.digest).set<"offset">(payload.offset).set<"length">(payload.length);
    auto marked = mark;
    marked.flags |= by_reference;
    return packet(interface, time_ps, marked, head, reference.bytes, head.size() + payload.length);
}

namespace {
/// Whether `part` lies within `whole`: by std::less, since it may be in another array.
bool is_within(std::span<const std::byte> part, std::span<const std::byte> whole) {
    const std::less<const std::byte*> is_before;
    return !is_before(part.data(), whole.data()) && !is_before(whole.data() + whole.size(), part.data() + part.size());
}
} // namespace

std::uint64_t Writer::put(const Record& record) {
    const auto& [number, interface, time_ps, mark, head, payload] = record;
    if (shared_reference_ && payload.size() > PayloadReference::size && is_within(payload, shared_)) {
        const auto begin = static_cast<std::uint32_t>(payload.data() - shared_.data());
        return write(interface, time_ps, mark, head,
                     shared_reference_->part(begin, static_cast<std::uint32_t>(payload.size())));
    }
    if (shared_reference_ && shared_.size() > PayloadReference::size && mark.kind == RecordKind::frame &&
        is_within(shared_, head)) {
        const auto begin = static_cast<std::size_t>(shared_.data() - head.data());
        const Elsewhere elsewhere{.reference = *shared_reference_, .tail = head.subspan(begin + shared_.size())};
        auto marked = mark;
        marked.flags |= by_reference;
        if (begin != 0 && elsewhere.tail.size() <= most_frame_tail_bytes)
            return packet(interface, time_ps, marked, head.first(begin), {}, head.size(), &elsewhere);
    }
    return write(interface, time_ps, mark, head, payload);
}

void Writer::share(std::span<const std::byte> whole) {
    shared_ = whole;
    shared_reference_ = whole.empty() ? std::nullopt : refer(whole);
}

std::uint64_t Writer::packet(std::uint32_t interface, std::int64_t time_ps, Mark mark, std::span<const std::byte> head,
                             std::span<const std::byte> rest, std::size_t original, const Elsewhere* elsewhere) {
    assert(interface < kinds_.size() && fits(kinds_[interface], mark.kind));
    assert(time_ps >= 0);
    assert(mark.kind > RecordKind::continuation ||
           (tlp_head_bytes(head) == head.size() && tlp_payload_bytes(head) == original - head.size()));
    assert(!is_closed_);
    if (outcome_ && records_ == most_records)
        outcome_ = std::unexpected(fmt::format("a trace has at most {} records", most_records));
    if (!outcome_) {
        ++lost_;
        return 0;
    }
    assert(mark.cause <= records_ && "a cause comes before its effect");
    const auto kind = kinds_[interface];
    const auto time = static_cast<std::uint64_t>(time_ps);
    const auto wrapped = is_port(kind) ? 0 : RecordMark::size;
    const auto erf = kind == InterfaceKind::infiniband ? ErfHeader::size : 0;
    const auto captured = wrapped + erf + head.size() + rest.size();
    assert(captured <= most_record_bytes && (!is_port(kind) || erf + original <= most_record_bytes));
    BlockBuilder block(batch_, pcapng::enhanced_packet_type, std::type_identity<pcapng::EnhancedPacket>{});
    block.fixed<pcapng::EnhancedPacket>()
        .set<"interface">(interface)
        .set<"time_high">(static_cast<std::uint32_t>(time >> 32))
        .set<"time_low">(static_cast<std::uint32_t>(time))
        .set<"captured_length">(static_cast<std::uint32_t>(captured))
        .set<"original_length">(static_cast<std::uint32_t>(wrapped + erf + original));
    if (is_port(kind)) {
        static_assert(most_record_bytes <= most_erf_bytes);
        if (erf != 0)
            block.add(erf_header(time, original, head.size()).bytes);
        abi::Block<MarkOption> option;
        option.view().set<"enterprise">(enterprise_number);
        put_mark(option.view().sub<"mark">(), mark);
        std::array<std::byte, 4> flags{};
        store<std::uint32_t, Endian::little>(flags.data(), static_cast<std::uint32_t>(mark.direction));
        block.add(head).pad();
        block.option(pcapng::option_epb_flags, flags).option(pcapng::uncopied_custom_option, option.bytes);
        if (elsewhere != nullptr) {
            std::array<std::byte, FrameReferenceOption::size + most_frame_tail_bytes> bytes{};
            const View<FrameReferenceOption> view(bytes);
            view.set<"enterprise">(enterprise_number);
            view.sub<"reference">()
                .set<"digest">(elsewhere->reference.digest)
                .set<"offset">(elsewhere->reference.offset)
                .set<"length">(elsewhere->reference.length);
            std::ranges::copy(elsewhere->tail, bytes.begin() + FrameReferenceOption::size);
            block.option(pcapng::uncopied_custom_option,
                         std::span(bytes).first(FrameReferenceOption::size + elsewhere->tail.size()));
        }
        block.end_options().close();
    } else {
        abi::Block<RecordMark> front;
        put_mark(front.view(), mark);
        block.add(front.bytes).add(head).add(rest).close();
    }
    ++blocks_;
    ++counts_[interface];
    ++records_;
    const auto number = records_;
    if (batch_.size() >= options_.batch_bytes)
        pass_on();
    return number;
}

std::optional<Reference> Writer::refer(std::span<const std::byte> bytes) {
    assert(!bytes.empty() && bytes.size() <= most_entry_bytes);
    const auto is_there = [&](const Digest& digest) {
        const auto there = dictionary_.find(digest);
        return there && there->size() == bytes.size() && std::memcmp(there->data(), bytes.data(), bytes.size()) == 0;
    };
    const auto sampled = sample(bytes);
    auto& recent = recent_[sampled >> 40 & (recent_.size() - 1)];
    Reference reference{.digest = recent.digest, .offset = 0, .length = static_cast<std::uint32_t>(bytes.size())};
    if (recent.sample == sampled && is_there(recent.digest))
        return reference;
    recent = {.sample = sampled, .digest = digest_of(bytes)};
    reference.digest = recent.digest;
    if (dictionary_.find(reference.digest))
        return is_there(reference.digest) ? std::optional(reference) : std::nullopt;
    if (!outcome_ || !dictionary_.add(reference.digest, bytes))
        return std::nullopt;
    trace_block(BlockKind::entry, indispensable, [&](BlockBuilder& block) {
        abi::Block<EntryBlock> entry;
        entry.view().set<"digest">(reference.digest);
        block.add(entry.bytes).add(bytes);
    });
    if (batch_.size() >= options_.batch_bytes)
        pass_on();
    return reference;
}

/// Without the digest, which comes in while the batch is on its way.
void Writer::sync(BlockKind kind) {
    sync_ = batch_.size();
    const auto offset = base_ + sync_;
    trace_block(kind, kind == BlockKind::end ? indispensable : 0, [&](BlockBuilder& block) {
        abi::Block<SyncBlock> sync;
        sync.view()
            .set<"records">(records_)
            .set<"block">(blocks_ + 1)
            .set<"offset">(offset)
            .set<"interfaces">(static_cast<std::uint32_t>(counts_.size()));
        block.add(sync.bytes);
        std::array<std::byte, 8> count{};
        for (const auto n : counts_) {
            store<std::uint64_t, Endian::little>(count.data(), n);
            block.add(count);
        }
    });
}

/// What was recorded so far is on its way.
void Writer::pass_on() {
    if (is_closed_ || !outcome_ || batch_.empty())
        return;
    sync(BlockKind::sync);
    put_batch(FrameWriter::Frame::goes_on);
}

Destination::Outcome Writer::flush() {
    pass_on();
    static_cast<void>(batches_.wait());
    look_at_outcome();
    return outcome_;
}

Destination::Outcome Writer::close() {
    if (is_closed_ || !outcome_)
        return outcome_;
    sync(BlockKind::end);
    put_batch(FrameWriter::Frame::ends);
    is_closed_ = true;
    static_cast<void>(batches_.wait());
    look_at_outcome();
    return outcome_;
}

void Writer::put_batch(FrameWriter::Frame frame) {
    base_ += batch_.size();
    batches_.put(batch_, records_, frame, sync_);
    look_at_outcome();
}

void Writer::look_at_outcome() {
    if (!outcome_ || !batches_.has_failed())
        return;
    outcome_ = batches_.wait();
    lost_ += records_ - kept_records();
}

} // namespace traces::codec
