// What a process has for the others, until the next round, and who takes what they had for it: messages with a topic.
// Each process takes the messages of a round in the order of the ranks, its own included, so that all of them see what
// concerns all in one order.
#pragma once

#include "platform/ranks/bytes.h"
#include "platform/ranks/exchange.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace platform::ranks {

enum class Topic : std::uint8_t { packet, credit, pause, meeting, operation, end };
inline constexpr std::size_t topics = 6;

class Post {
public:
    /// Takes a message whole; false: it is none of its topic.
    using Take = std::function<bool(unsigned from, Reader& message)>;

    explicit Post(Exchange& exchange) : exchange_(exchange), out_(exchange.ranks()) {}

    unsigned rank() const { return exchange_.rank(); }
    unsigned ranks() const { return exchange_.ranks(); }
    void on(Topic topic, Take take) { takers_[static_cast<std::size_t>(topic)] = std::move(take); }

    /// Appends a message to `to`, which `write` fills, and which has an effect there at `effect` or later.
    template <class Write> void send(unsigned to, Topic topic, model::port::Time effect, Write&& write) {
        auto& bytes = out_[to];
        Writer writer(bytes);
        writer.put(topic);
        const auto at = bytes.size();
        writer.put(std::uint32_t{0});
        write(writer);
        const auto length = static_cast<std::uint32_t>(bytes.size() - at - sizeof(std::uint32_t));
        for (std::size_t i = 0; i < sizeof length; ++i)
            bytes[at + i] = static_cast<std::byte>(length >> 8 * i);
        earliest_ = std::min(earliest_, effect);
    }
    template <class Write> void send_to_all(Topic topic, model::port::Time effect, Write&& write) {
        for (unsigned to = 0; to < ranks(); ++to)
            send(to, topic, effect, write);
    }

    /// One round. `next`: when this process has something to do by itself. Returns when somebody has. The error names
    /// the process that has sent what nobody can read.
    std::expected<model::port::Time, std::string> exchange(model::port::Time next);

private:
    Exchange& exchange_;
    std::vector<Bytes> out_; ///< by rank
    model::port::Time earliest_ = model::port::never;
    std::array<Take, topics> takers_{};
};

} // namespace platform::ranks
