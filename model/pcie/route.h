// The way from a requester to a target: the links crossed and what went over them. An access adds to a few counters
// here; links add up their routes when asked. With timed links, an access is charged on each. Addresses and data are
// elsewhere.
#pragma once

#include "model/pcie/link.h"
#include "model/pcie/tlp_cost.h"
#include "model/port/dma.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace model::pcie {

struct Hop {
    Link* link;
    Direction direction;
    bool has_requests = true, has_answers = true; ///< which cross the link: with ACS, completions may not
};

/// Collects hops while a request for a direct path travels.
struct HopList {
    static constexpr std::size_t capacity = 8;
    std::array<Hop, capacity> hops{};
    std::size_t count = 0;
    std::size_t before_remapper = 0; ///< links before the remapping unit, where there is one
    std::size_t redirect = 0;        ///< links before the switch that sent a peer request up
    bool is_complete = true;         ///< false when the path is longer than the list
    void add(Hop hop) {
        if (count < capacity)
            hops[count++] = hop;
        else
            is_complete = false;
    }
};

/// Bytes read and written, by purpose (indexed by port::Purpose).
struct Volume {
    std::array<std::uint64_t, 2> read{}, written{};
    Volume& operator+=(const Volume& other) {
        for (std::size_t i = 0; i < 2; ++i)
            read[i] += other.read[i], written[i] += other.written[i];
        return *this;
    }
    std::uint64_t payload() const {
        constexpr auto payload = static_cast<std::size_t>(port::Purpose::payload);
        return read[payload] + written[payload];
    }
    std::uint64_t total() const { return read[0] + read[1] + written[0] + written[1]; }
    bool operator==(const Volume&) const = default;
};

class Route {
public:
    /// `header` is the size of a request's header (3 or 4 dwords), `read_latency` what the target takes for a read.
    Route(const HopList& hops, std::uint64_t header, TlpSizes sizes, port::Time read_latency);
    ~Route(); ///< adds its counts to the links
    Route(const Route&) = delete;
    Route& operator=(const Route&) = delete;

    bool is_timed() const { return is_timed_; }
    TlpSizes sizes() const { return sizes_; }
    std::span<const Hop> hops() const { return {hops_.hops.data(), hops_.count}; }

    /// A posted write on its way: when its last byte has left the requester, and when it is there.
    struct Crossing {
        port::Time sent, there;
    };
    /// Counts a write. It is on its way until land() is called.
    Crossing write(std::uint64_t address, std::uint64_t length, port::Time at, port::Purpose purpose) {
        const auto packets = write_packets(address, length, sizes_);
        const auto dwords = dword_bytes(address, length);
        write_packets_ += packets;
        write_dword_bytes_ += dwords;
        volume_.written[static_cast<std::size_t>(purpose)] += length;
        return is_timed_
                   ? charge_posted({packets * (header_ + framing_bytes) + dwords, packets}, posted_credits(dwords), at)
                   : Crossing{at, at};
    }
    /// The last write has left the end of this route at `at`, for memory or for what is behind: there is room again.
    void land(port::Time at) {
        if (landing_.link != nullptr)
            give_back(landing_, at);
        landing_ = {};
    }
    /// Counts a read; returns when its last byte is back.
    port::Time read(std::uint64_t address, std::uint64_t length, port::Time at, port::Purpose purpose) {
        const auto requests = read_requests(address, length, sizes_);
        const auto answers = completions(address, length, sizes_);
        const auto dwords = dword_bytes(address, length);
        read_requests_ += requests;
        completions_ += answers;
        read_dword_bytes_ += dwords;
        volume_.read[static_cast<std::size_t>(purpose)] += length;
        const Link::Cargo answer{answers * (completion_header + framing_bytes) + dwords, answers};
        if (!is_timed_)
            return at;
        if (has_few_credits_) [[unlikely]]
            return charge_answer(answer, dwords, charge_requests(requests, at, 0) + read_latency_);
        return charge_backward(answer,
                               charge_forward({requests * (header_ + framing_bytes), requests}, at) + read_latency_);
    }
    /// A read in two halves, for a target that says itself when it is ready: the request there, the completions back.
    port::Time request(std::uint64_t address, std::uint64_t length, port::Time at) {
        return request_from(0, address, length, at);
    }
    port::Time complete(std::uint64_t address, std::uint64_t length, port::Time at, port::Purpose purpose);

    /// As write(), read() and request(), for a request that has already crossed the first `hops` links: these are
    /// counted, but take no time again.
    Crossing write_from(std::size_t hops, std::uint64_t address, std::uint64_t length, port::Time at,
                        port::Purpose purpose);
    port::Time read_from(std::size_t hops, std::uint64_t address, std::uint64_t length, port::Time at,
                         port::Purpose purpose);
    port::Time request_from(std::size_t hops, std::uint64_t address, std::uint64_t length, port::Time at);
    /// Brings a request to the end of this route, from where it goes on or is refused; a write is on its way until
    /// land() is called. Counts nothing.
    Crossing approach(std::uint64_t address, std::uint64_t length, bool is_write, port::Time at);
    /// The last read that was brought there has left the end of this route at `at`.
    void leave_end(port::Time at);
    /// Counts a request that was refused at the end of this route; returns when its completion is back. A posted write
    /// has none.
    port::Time refuse(std::uint64_t address, std::uint64_t length, bool is_write, port::Time at, port::Purpose purpose);

    Traffic forward() const;  ///< requester to target
    Traffic backward() const; ///< target to requester
    const Volume& volume() const { return volume_; }

private:
    friend class Link;
    /// The link is going to be destroyed: the route goes on without it.
    void leave(const Link& link);
    port::Time charge_forward(const Link::Cargo& cargo, port::Time at, std::size_t first = 0) const;
    port::Time charge_backward(const Link::Cargo& cargo, port::Time at) const;
    Crossing charge_posted(const Link::Cargo& cargo, std::uint64_t credits, port::Time at, std::size_t first = 0);
    // Where credits for requests or completions are limited on the way:
    port::Time charge_requests(std::uint64_t requests, port::Time at, std::size_t first);
    port::Time charge_lot(std::uint64_t requests, port::Time at, std::size_t first);
    port::Time charge_answer(const Link::Cargo& cargo, std::uint64_t data, port::Time at);

    TlpSizes sizes_;
    bool is_timed_ = false;
    bool has_few_credits_ = false; ///< of requests or completions, on a link of the way
    std::uint64_t header_;
    std::uint64_t write_packets_ = 0, write_dword_bytes_ = 0;
    std::uint64_t read_requests_ = 0, completions_ = 0, read_dword_bytes_ = 0;
    Volume volume_;
    port::Time read_latency_;
    HopList hops_;
    /// The receiving end of a link that a write has entered and not left yet.
    struct Room {
        Link* link = nullptr;
        Direction direction{};
        std::uint64_t credits = 0;
        port::Time came{}, began{};
    };
    static void give_back(const Room& room, port::Time at);
    static void give_request_back(const Room& room, port::Time at);
    static void give_completion_back(const Room& room, port::Time at);
    Room landing_;        ///< of the last write, at the end of this route
    Room asked_;          ///< of the last requests, at the end of this route
    port::Time spread_{}; ///< from when the first of these were there to the last
};

} // namespace model::pcie
