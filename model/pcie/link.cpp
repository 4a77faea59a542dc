#include "model/pcie/link.h"

#include "model/pcie/route.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace model::pcie {

namespace {
constexpr double giga_transfers[] = {2.5, 5.0, 8.0, 16.0, 32.0};

/// Symbol times between two ACKs, and between two flow-control updates, that the specification recommends as the limit:
/// (MPS + overhead) * AckFactor / width + internal delay (PCIe 5.0 tables 3-7 to 3-9 and 2-46 to 2-48).
double dllp_interval(const LinkConfig& config) {
    const bool is_small = config.max_payload <= 256;
    const double factor = config.width >= 16  ? (is_small ? 3.0 : 2.0)
                          : config.width >= 8 ? (is_small ? 2.5 : 1.0)
                                              : (is_small ? 1.4 : 1.0);
    const double delay = config.generation == 1 ? 19 : config.generation == 2 ? 70 : 115;
    return std::floor((config.max_payload + 28) * factor / config.width + delay);
}
} // namespace

const char* find_fault(const LinkConfig& config) {
    const auto is_size = [](unsigned n) { return std::has_single_bit(n) && n >= 128 && n <= 4096; };
    if (config.generation < 1 || config.generation > 5)
        return "generation is 1 to 5";
    if (!std::has_single_bit(config.width) || config.width > 32)
        return "width is 1, 2, 4, 8, 16 or 32 lanes";
    if (!is_size(config.max_payload))
        return "max_payload is a power of two, 128 to 4096";
    if (!is_size(config.max_read_request))
        return "max_read_request is a power of two, 128 to 4096";
    if (config.tags < 1 || config.tags > most_tags)
        return "tags is 1 to 768";
    if (config.posted_credits != 0 && (config.posted_credits > most_posted_credits ||
                                       config.posted_credits < pcie::posted_credits(config.max_payload)))
        return "posted_credits is 0, or at least one maximum payload and at most 32752";
    if (config.nonposted_credits > most_nonposted_credits)
        return "nonposted_credits is 0 to 2032";
    if (config.completion_credits != 0 && (config.completion_credits > most_posted_credits ||
                                           config.completion_credits < pcie::posted_credits(config.max_payload)))
        return "completion_credits is 0, or at least one maximum payload and at most 32752";
    if (config.latency < port::Time{})
        return "latency is not negative";
    return nullptr;
}

Link::Link(std::string name, const LinkConfig& config)
    : name_(std::move(name)), config_(config),
      picoseconds_per_kib_(static_cast<std::uint64_t>(std::lround(8.0 * 1024 * 1000 / usable_gbps()))),
      credits_{PostedCredits{config.posted_credits}, PostedCredits{config.posted_credits}},
      request_credits_{RequestCredits{config.nonposted_credits}, RequestCredits{config.nonposted_credits}},
      completion_credits_(config.completion_credits) {}

Link::~Link() {
    for (const auto& user : users_)
        user.route->leave(*this);
}

double Link::raw_gbps() const {
    const double coding = config_.generation <= 2 ? 8.0 / 10 : 128.0 / 130;
    return giga_transfers[config_.generation - 1] * coding * config_.width;
}

double Link::usable_gbps() const {
    constexpr double dllp_symbols = 8, skip_symbols = 4, skip_interval = 1538;
    return raw_gbps() * (1 - 2 * dllp_symbols / dllp_interval(config_) - skip_symbols / skip_interval);
}

Link::User::User(Route* r, const Hop& hop)
    : route(r), direction(hop.direction), has_requests(hop.has_requests), has_answers(hop.has_answers) {}

time::Account Link::account(Direction direction) const {
    return {.name = direction == Direction::upstream ? "PCIe upstream" : "PCIe downstream",
            .kind = time::Kind::line,
            .usage = usages_[static_cast<std::size_t>(direction)],
            .bytes = traffic(direction).wire_bytes};
}

time::Account Link::credit_account(Direction direction) const {
    return {.name = direction == Direction::upstream ? "PCIe credits upstream" : "PCIe credits downstream",
            .kind = time::Kind::window,
            .units = std::max(1u, config_.posted_credits),
            .usage = credits_[static_cast<std::size_t>(direction)].usage()};
}

time::Account Link::request_credit_account(Direction direction) const {
    return {.name =
                direction == Direction::upstream ? "PCIe request credits upstream" : "PCIe request credits downstream",
            .kind = time::Kind::window,
            .units = std::max(1u, config_.nonposted_credits),
            .usage = request_credits_[static_cast<std::size_t>(direction)].usage()};
}

time::Account Link::completion_credit_account() const {
    return {.name = "PCIe completion credits downstream",
            .kind = time::Kind::window,
            .units = std::max(1u, config_.completion_credits),
            .usage = completion_credits_.usage()};
}

Traffic Link::traffic(Direction direction) const {
    auto sum = own_[static_cast<std::size_t>(direction)];
    for (const auto& user : users_) {
        const bool is_forward = user.direction == direction;
        if (is_forward && user.has_requests)
            sum += user.route->forward();
        if (!is_forward && user.has_answers)
            sum += user.route->backward();
    }
    return sum;
}

} // namespace model::pcie
