#include "testbench/workload/words.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace workload {

using platform::ranks::Bytes;
using platform::ranks::Reader;
using platform::ranks::Writer;

namespace {

enum class Kind : std::uint8_t { rank, failure };

template <class Path, class Visit> void each_value(Path& path, Visit&& visit) {
    visit(path.is_ethernet), visit(path.port), visit(path.source_gid_index), visit(path.hop_limit);
    visit(path.traffic_class), visit(path.flow_label), visit(path.udp_source_port), visit(path.has_grh);
    visit(path.remote_lid), visit(path.source_path_bits), visit(path.service_level);
}

template <class Far, class Visit> void each_memory(Far& far, Visit&& visit) {
    for (auto* memory : {&far.data, &far.result, &far.places})
        visit(memory->address), visit(memory->stride), visit(memory->key);
}

} // namespace

void put_words(Writer& writer, const RankWords& words) {
    writer.put(Kind::rank);
    writer.put(words.rank);
    const auto put = [&](const auto& value) { writer.put(value); };
    each_value(words.far.peer.path, put);
    writer.append(std::as_bytes(std::span(words.far.peer.path.remote_gid)));
    writer.append(std::as_bytes(std::span(words.far.peer.path.remote_mac)));
    writer.put(words.far.peer.psn.value);
    writer.put(words.far.peer.reads);
    each_memory(words.far, put);
}

std::optional<RankWords> get_words(Reader& reader) {
    if (reader.get<Kind>() != Kind::rank)
        return std::nullopt;
    RankWords words{.rank = reader.get<Rank>()};
    const auto get = [&]<class T>(T& value) { value = reader.get<T>(); };
    const auto get_bytes = [&](auto& bytes) {
        const auto from = reader.take(bytes.size());
        std::ranges::copy(from, bytes.begin());
    };
    auto& peer = words.far.peer;
    each_value(peer.path, get);
    get_bytes(peer.path.remote_gid);
    get_bytes(peer.path.remote_mac);
    peer.psn = abi::Psn{reader.get<std::uint32_t>()};
    peer.reads = reader.get<std::uint8_t>();
    each_memory(words.far, get);
    return reader.is_good() ? std::optional(words) : std::nullopt;
}

Bytes words_of_failure(std::string_view failure) {
    Bytes bytes;
    Writer writer(bytes);
    writer.put(Kind::failure);
    writer.put(failure);
    return bytes;
}

std::optional<std::string> get_failure(Reader& reader) {
    auto ahead = reader;
    if (ahead.get<Kind>() != Kind::failure)
        return std::nullopt;
    auto text = ahead.get_text();
    if (!ahead.is_good())
        return std::nullopt;
    reader = ahead;
    return text;
}

} // namespace workload
