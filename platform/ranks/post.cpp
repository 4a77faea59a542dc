#include "platform/ranks/post.h"

#include <fmt/format.h>

#include <algorithm>

namespace platform::ranks {

std::expected<model::port::Time, std::string> Post::exchange(model::port::Time next) {
    auto round = exchange_.exchange(std::min(next, std::exchange(earliest_, model::port::never)),
                                    std::exchange(out_, std::vector<Bytes>(ranks())));
    for (unsigned from = 0; from < round.from.size(); ++from)
        for (Reader reader(round.from[from]); !reader.is_at_end();) {
            const auto topic = static_cast<std::size_t>(reader.get<std::uint8_t>());
            Reader message(reader.get_bytes());
            if (!reader.is_good() || topic >= topics || !takers_[topic] || !takers_[topic](from, message) ||
                !message.is_complete())
                return std::unexpected(fmt::format(
                    "process {} of {} has sent a message (topic {}) that is none: do all of them run the same program?",
                    from, ranks(), topic));
        }
    return round.next;
}

} // namespace platform::ranks
