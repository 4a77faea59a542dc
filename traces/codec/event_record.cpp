#include "traces/codec/event_record.h"

#include "traces/codec/layouts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <string_view>
#include <utility>

namespace traces::codec {
namespace {

template <class T> inline constexpr bool is_reason = false;
template <const auto& texts> inline constexpr bool is_reason<OneOf<texts>> = true;
template <const auto& texts> consteval std::size_t count_of(std::type_identity<OneOf<texts>>) { return texts.size(); }

/// Of one member, so that each event fits into a record.
constexpr std::size_t most_text_bytes = 4096;

class Packer {
public:
    explicit Packer(std::vector<std::byte>& out) : out_(out) {}
    template <class T> void put(const T& value) {
        if constexpr (std::same_as<T, std::string_view>) {
            const auto text = value.substr(0, most_text_bytes);
            put(static_cast<std::uint16_t>(text.size()));
            const auto bytes = std::as_bytes(std::span(text));
            out_.insert(out_.end(), bytes.begin(), bytes.end());
        } else if constexpr (std::same_as<T, bool>) {
            out_.push_back(std::byte{value});
        } else if constexpr (is_reason<T>) {
            put(static_cast<std::uint16_t>(value.number()));
        } else {
            static_assert(std::unsigned_integral<T>);
            const auto at = out_.size();
            out_.resize(at + sizeof(T));
            abi::store<T, abi::Endian::little>(out_.data() + at, value);
        }
    }

private:
    std::vector<std::byte>& out_;
};

class Unpacker {
public:
    explicit Unpacker(std::span<const std::byte> bytes) : left_(bytes) {}
    bool is_good() const { return is_good_; }
    bool is_done() const { return is_good_ && left_.empty(); }
    template <class T> T take() {
        if constexpr (std::same_as<T, std::string_view>) {
            const auto bytes = take_bytes(take<std::uint16_t>());
            return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
        } else if constexpr (std::same_as<T, bool>) {
            const auto value = take<std::uint8_t>();
            is_good_ &= value <= 1;
            return value == 1;
        } else if constexpr (is_reason<T>) {
            const auto number = take<std::uint16_t>();
            is_good_ &= number < count_of(std::type_identity<T>{});
            return T::numbered(is_good_ ? number : 0);
        } else {
            const auto bytes = take_bytes(sizeof(T));
            return bytes.empty() ? T{0} : abi::load<T, abi::Endian::little>(bytes.data());
        }
    }

private:
    std::span<const std::byte> take_bytes(std::size_t count) {
        is_good_ &= left_.size() >= count;
        if (!is_good_)
            return {};
        const auto bytes = left_.first(count);
        left_ = left_.subspan(count);
        return bytes;
    }

    std::span<const std::byte> left_;
    bool is_good_ = true;
};

/// Calls visit(pointer) for each member that is stored; what a function says follows from them.
template <class E, class Visit> void for_each_stored(Visit&& visit) {
    std::apply(
        [&](const auto&... member) {
            const auto one = [&](auto pointer) {
                if constexpr (std::is_member_object_pointer_v<decltype(pointer)>)
                    visit(pointer);
            };
            (one(member.pointer), ...);
        },
        E::members);
}

template <class E> std::optional<Event> unpack(std::span<const std::byte> bytes) {
    static_assert(std::is_trivially_copyable_v<E>);
    auto event = std::bit_cast<E>(std::array<std::byte, sizeof(E)>{});
    Unpacker unpacker(bytes);
    for_each_stored<E>(
        [&](auto pointer) { event.*pointer = unpacker.take<std::remove_cvref_t<decltype(event.*pointer)>>(); });
    return unpacker.is_done() ? std::optional<Event>(event) : std::nullopt;
}

} // namespace

void put_event(std::vector<std::byte>& into, const Stamp& stamp, const Event& event) {
    abi::Block<EventHead> head;
    head.view()
        .set<"type">(static_cast<std::uint16_t>(event.index()))
        .set<"source">(stamp.source)
        .set<"access">(static_cast<std::uint8_t>(stamp.access))
        .set<"number">(stamp.number)
        .set<"cause">(stamp.cause)
        .set<"access_number">(stamp.access_number);
    into.insert(into.end(), head.bytes.begin(), head.bytes.end());
    Packer packer(into);
    std::visit([&]<class E>(const E& e) { for_each_stored<E>([&](auto pointer) { packer.put(e.*pointer); }); }, event);
}

std::optional<EventRecord> read_event(std::span<const std::byte> bytes, std::int64_t time_ps) {
    if (bytes.size() < EventHead::size)
        return std::nullopt;
    const abi::ConstView<EventHead> head(bytes);
    const auto type = head.get<"type">();
    if (type >= std::variant_size_v<Event> || head.get<"access">() > static_cast<std::uint8_t>(Access::timer))
        return std::nullopt;
    constexpr auto readers = []<std::size_t... i>(std::index_sequence<i...>) {
        return std::array{&unpack<std::variant_alternative_t<i, Event>>...};
    }(std::make_index_sequence<std::variant_size_v<Event>>{});
    const auto event = readers[type](bytes.subspan(EventHead::size));
    if (!event)
        return std::nullopt;
    return EventRecord{.stamp = {.time_ps = time_ps,
                                 .source = head.get<"source">(),
                                 .access = static_cast<Access>(head.get<"access">()),
                                 .number = head.get<"number">(),
                                 .cause = head.get<"cause">(),
                                 .access_number = head.get<"access_number">()},
                       .event = *event};
}

} // namespace traces::codec
