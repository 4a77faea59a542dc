#include "traces/codec/reader.h"

#include "traces/codec/packet.h"

#include <fmt/format.h>

namespace traces::codec {

using namespace abi;

namespace {

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<InterfaceKind> kind_of(std::uint16_t link_type) {
    switch (link_type) {
    case link_type_pcie: return InterfaceKind::pcie;
    case link_type_ethernet: return InterfaceKind::ethernet;
    case link_type_erf: return InterfaceKind::infiniband;
    case link_type_events: return InterfaceKind::events;
    default: return std::nullopt;
    }
}

} // namespace

Read<void> Reader::open() {
    while (!has_head_) {
        const auto step_result = step();
        if (!step_result) {
            fault_ = step_result.error();
            return std::unexpected(*fault_);
        }
    }
    return {};
}

Read<const Record*> Reader::next() {
    while (!fault_ && !(has_end_ && block_.number == 0)) {
        const auto is_record = step();
        if (!is_record)
            fault_ = is_record.error();
        else if (*is_record)
            return &record_;
    }
    if (fault_)
        return std::unexpected(*fault_);
    return nullptr;
}

/// Reads one block. True: it was a record. At the end block_ has no number.
Reader::Step Reader::step() {
    auto block = blocks_.next();
    if (!block)
        return std::unexpected(block.error());
    if (!*block) {
        if (!has_end_) {
            const auto place = frames_.place();
            return std::unexpected(Fault{.kind = FaultKind::truncated,
                                         .file_offset = place.file_offset,
                                         .offset = place.offset,
                                         .block = blocks_.count(),
                                         .reason = fmt::format("the file ends behind block {}, without the end of a "
                                                               "trace: who wrote it was stopped",
                                                               blocks_.count())});
        }
        block_ = {};
        return false;
    }
    block_ = **block;
    if (has_end_)
        return corrupt("there is a block behind the end of the trace");
    if (block_.number == 1) {
        if (const auto done = section(block_); !done)
            return std::unexpected(done.error());
    } else if (block_.type == pcapng::custom_type || block_.type == pcapng::uncopied_custom_type) {
        return trace_block(block_); // which adds itself to the digest
    } else if (!has_identity_) {
        return refuse(FaultKind::foreign, "a pcapng file, but no trace of hcasim: its second block is no identity");
    } else if (block_.type == pcapng::section_header_type) {
        return corrupt("a second section; a trace has one");
    } else if (block_.type == pcapng::interface_type) {
        if (const auto done = interface(block_); !done)
            return std::unexpected(done.error());
    } else if (block_.type == pcapng::enhanced_packet_type) {
        if (!has_head_)
            return corrupt("a record before the head of the trace is complete");
        record_ = {};
        record_.number = records_ + 1;
        if (auto done = read_packet(block_.content(), head_.interfaces, dictionary_, record_, frame_); !done)
            return refuse(done.error().kind, std::move(done.error().reason));
        ++records_;
        ++counts_[record_.interface];
        digest_.add(block_.bytes);
        return true;
    }
    digest_.add(block_.bytes);
    return false;
}

Read<void> Reader::section(const RawBlock& block) {
    if (block.bytes.size() < pcapng::SectionHeader::size + pcapng::trailer_bytes)
        return corrupt("the section header is too short");
    const ConstView<pcapng::SectionHeader> view(block.bytes);
    if (view.get<"major">() != 1)
        return refuse(FaultKind::newer, fmt::format("pcapng of version {}; this program reads 1", view.get<"major">()));
    return {};
}

Reader::Step Reader::trace_block(const RawBlock& block) {
    const auto content = block.content();
    const auto enterprise =
        content.size() < pcapng::CustomBlock::size ? 0 : ConstView<pcapng::CustomBlock>(content).get<"enterprise">();
    const bool is_ours = enterprise == enterprise_number && content.size() >= TraceBlock::size &&
                         ConstView<TraceBlock>(content).get<"magic">() == magic;
    if (!is_ours) {
        if (!has_identity_)
            return refuse(FaultKind::foreign, "a pcapng file, but no trace of hcasim: its second block is no identity");
        if (enterprise == enterprise_number)
            return refuse(FaultKind::foreign, "a custom block of somebody else under the number for documentation");
        digest_.add(block.bytes);
        return false;
    }
    const ConstView<TraceBlock> view(content);
    if (view.get<"version">() != format_version)
        return refuse(view.get<"version">() > format_version ? FaultKind::newer : FaultKind::corrupt,
                      fmt::format("format {}; this program reads {}", view.get<"version">(), format_version));
    const std::size_t length = view.get<"length">();
    if (length > content.size() - TraceBlock::size || pcapng::padded(length) != content.size() - TraceBlock::size)
        return corrupt(fmt::format("a custom block of {} bytes cannot hold {}", content.size(), length));
    const auto data = content.subspan(TraceBlock::size, length);
    const auto flags = view.get<"flags">();
    const auto kind = static_cast<BlockKind>(view.get<"kind">());
    if ((flags & ~(continues | indispensable)) != 0)
        return refuse(FaultKind::newer, fmt::format("a custom block with unknown flags {:#x}", flags));
    if (has_identity_ == (kind == BlockKind::identity))
        return has_identity_ ? corrupt("a second identity")
                             : corrupt("a trace begins with its identity; this block has another kind");
    const bool is_end = kind == BlockKind::end, is_sync = is_end || kind == BlockKind::sync;
    if (kind <= BlockKind::end && (block.type == pcapng::uncopied_custom_type) != is_sync)
        return corrupt("a custom block that says the wrong thing about its being copied");
    if (is_sync) {
        if (flags != (is_end ? indispensable : 0))
            return corrupt(fmt::format("a sync block with flags {:#x}, which it cannot have", flags));
        // It says what came before it, so it is added afterwards.
        if (const auto done = sync(data); !done)
            return std::unexpected(done.error());
        has_end_ = is_end;
        digest_.add(block.bytes);
        return false;
    }
    if ((flags & continues) != 0 && (kind == BlockKind::name || kind == BlockKind::entry))
        return corrupt("a name or an entry of the dictionary in pieces, of which it has one");
    digest_.add(block.bytes);
    Read<void> done;
    switch (kind) {
    case BlockKind::identity: done = identity(data, flags); break;
    case BlockKind::configuration: done = configuration(data, flags); break;
    case BlockKind::name: done = source_name(data); break;
    case BlockKind::entry: done = entry(data); break;
    default:
        if ((flags & indispensable) != 0)
            return refuse(FaultKind::newer,
                          fmt::format("a block of kind {}, which cannot be left out", static_cast<unsigned>(kind)));
    }
    if (!done)
        return std::unexpected(done.error());
    return false;
}

Read<void> Reader::identity(std::span<const std::byte> data, std::uint8_t flags) {
    if (data.size() < IdentityBlock::size || (flags & continues) != 0)
        return corrupt("the identity is too short, or in pieces");
    const ConstView<IdentityBlock> view(data);
    if (view.get<"digest_algorithm">() != xxh3_128)
        return refuse(FaultKind::newer, fmt::format("digests by algorithm {}; this program has {}",
                                                    view.get<"digest_algorithm">(), xxh3_128));
    if (view.get<"dictionary_bytes">() > most_dictionary_bytes)
        return refuse(FaultKind::excessive, fmt::format("a dictionary of {} bytes, of at most {}",
                                                        view.get<"dictionary_bytes">(), most_dictionary_bytes));
    head_.identity = {.revision = text_of(data.subspan(IdentityBlock::size)),
                      .seed = view.get<"seed">(),
                      .events_version = view.get<"events_version">(),
                      .dictionary_bytes = view.get<"dictionary_bytes">()};
    dictionary_ = Dictionary(head_.identity.dictionary_bytes);
    has_identity_ = true;
    return {};
}

Read<void> Reader::configuration(std::span<const std::byte> data, std::uint8_t flags) {
    if (!expects_configuration_)
        return corrupt("a second configuration");
    if (data.size() > most_configuration_bytes - head_.configuration.size())
        return refuse(FaultKind::excessive,
                      fmt::format("a configuration of more than {} bytes", most_configuration_bytes));
    head_.configuration += text_of(data);
    expects_configuration_ = (flags & continues) != 0;
    return {};
}

Read<void> Reader::source_name(std::span<const std::byte> data) {
    if (data.size() < NameBlock::size || has_head_ || head_.names.size() == most_names)
        return corrupt("a name of a source that is none, too many, or too late");
    if (const auto source = ConstView<NameBlock>(data).get<"source">(); source != head_.names.size())
        return corrupt(fmt::format("the name of source {} where that of {} is due", source, head_.names.size()));
    head_.names.push_back(text_of(data.subspan(NameBlock::size)));
    return {};
}

Read<void> Reader::interface(const RawBlock& block) {
    const auto content = block.content();
    if (has_head_ || head_.interfaces.size() == most_interfaces)
        return corrupt(has_head_ ? "an interface behind the head of the trace" : "too many interfaces");
    if (content.size() < pcapng::InterfaceDescription::size)
        return corrupt("the description of an interface is too short");
    const auto link = ConstView<pcapng::InterfaceDescription>(content).get<"link_type">();
    const auto kind = kind_of(link);
    if (!kind)
        return refuse(FaultKind::newer, fmt::format("an interface of link type {}, which no trace of format {} has",
                                                    link, format_version));
    Interface found{.kind = *kind, .name = {}};
    bool has_name = false, has_resolution = false;
    OptionReader options(content.subspan(pcapng::InterfaceDescription::size));
    while (const auto option = options.next()) {
        if (option->code == pcapng::option_if_name) {
            found.name = text_of(option->value);
            has_name = true;
        } else if (option->code == pcapng::option_if_tsresol) {
            has_resolution = option->value.size() == 1 && option->value[0] == std::byte{picoseconds};
        }
    }
    if (options.is_broken() || !has_name || !has_resolution)
        return corrupt("an interface without a name, or whose times are not picoseconds");
    head_.interfaces.push_back(std::move(found));
    counts_.push_back(0);
    return {};
}

Read<void> Reader::entry(std::span<const std::byte> data) {
    if (data.size() <= EntryBlock::size)
        return corrupt("an entry of the dictionary without bytes");
    const auto digest = ConstView<EntryBlock>(data).get<"digest">();
    const auto bytes = data.subspan(EntryBlock::size);
    if (bytes.size() > most_entry_bytes)
        return refuse(FaultKind::excessive, fmt::format("an entry of the dictionary has {} bytes, of at most {}",
                                                        bytes.size(), most_entry_bytes));
    if (digest_of(bytes) != digest)
        return corrupt("an entry of the dictionary has another digest than it says");
    if (dictionary_.find(digest))
        return corrupt("an entry of the dictionary that is there already");
    if (!dictionary_.add(digest, bytes))
        return corrupt("an entry that is larger than the dictionary");
    return {};
}

Read<void> Reader::sync(std::span<const std::byte> data) {
    if (data.size() < SyncBlock::size)
        return corrupt("a sync block is too short");
    const ConstView<SyncBlock> view(data);
    const auto counts = data.subspan(SyncBlock::size);
    if (expects_configuration_)
        return corrupt("a sync block before the configuration is complete");
    if (view.get<"reserved">() != 0 || view.get<"interfaces">() != counts_.size() ||
        counts.size() != counts_.size() * 8)
        return corrupt("a sync block of another number of interfaces");
    if (view.get<"digest">() != digest_.value())
        return corrupt(fmt::format("the bytes up to here have another digest than was written; records after {} may "
                                   "be wrong",
                                   confirmed_));
    bool is_equal = view.get<"records">() == records_ && view.get<"block">() == block_.number &&
                    view.get<"offset">() == block_.place.offset;
    for (std::size_t i = 0; i < counts_.size(); ++i)
        is_equal &= load<std::uint64_t, Endian::little>(counts.data() + 8 * i) == counts_[i];
    if (!is_equal)
        return corrupt(fmt::format("a sync block says it is block {} at byte {} behind {} records; it is behind {}",
                                   view.get<"block">(), view.get<"offset">(), view.get<"records">(), records_));
    confirmed_ = records_;
    has_head_ = true;
    return {};
}

std::unexpected<Fault> Reader::refuse(FaultKind kind, std::string reason) const {
    return std::unexpected(Fault{.kind = kind,
                                 .file_offset = block_.place.file_offset,
                                 .offset = block_.place.offset,
                                 .block = block_.number,
                                 .reason = std::move(reason)});
}

} // namespace traces::codec
