// Payload of a packet, and the book of loans. A memory port (port/dma.h) lends bytes instead of copying them, and the
// packet refers to them wherever it goes: on a cable, in a switch, on the next cable. Each such payload is in the book
// of the port that lent the bytes, from its first piece until it is delivered. Whoever gives memory back asks the book
// to have all of them copied, and need not know where packets are.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

namespace model::port {

class Payload;

/// Payloads that refer to memory. They enter and leave by themselves, at the cost of a few stores each.
class Loans {
public:
    Loans() = default;
    Loans(const Loans&) = delete;
    Loans& operator=(const Loans&) = delete;
    /// The lender is gone, and the memory may be gone, too: packets that still refer to it lose their payload.
    ~Loans();

    bool is_empty() const { return first_ == nullptr; }
    /// Copies the bytes into the payloads: from now on the memory may change, or get another owner.
    void drain() {
        if (!is_empty()) [[unlikely]]
            own_all();
    }
    /// The same for payloads that refer to some byte of `memory`; others stay as they are.
    void drain(std::span<const std::byte> memory);

private:
    friend class Payload;
    void own_all();

    Payload* first_ = nullptr;
};

/// By what memory is given back.
enum class Giver : std::uint8_t { anybody, work_request, command, reset };

/// All that a memory port has lent.
struct LoanBook {
    Loans requests; ///< to SENDs and WRITEs: software keeps the bytes as they are until the request is complete
    Loans
        answers; ///< to READ responses: software does not know that they are under way, and the device may write there
    Giver forgetful = Giver::anybody; ///< a mistake on purpose: this giver does not drain; anybody: no mistake

    void drain(Giver giver = Giver::anybody) {
        if (giver != Giver::anybody && giver == forgetful) [[unlikely]]
            return;
        requests.drain();
        answers.drain();
    }
    void drain(std::span<const std::byte> memory) {
        requests.drain(memory);
        answers.drain(memory);
    }
};

/// Up to `max_pieces` references, all lent by one port, or bytes of its own. Never both.
class Payload {
public:
    static constexpr std::size_t max_pieces = 4;

    Payload() = default;
    /// Lent bytes stay lent to the copy, which is in the book, too; own bytes are copied. The data path fills packets
    /// in place and copies none.
    Payload(const Payload& other) { *this = other; }
    Payload& operator=(const Payload& other) {
        if (this == &other)
            return *this;
        leave();
        pieces_ = other.pieces_;
        size_ = other.size_;
        count_ = other.count_;
        is_owned_ = other.is_owned_;
        if (is_owned_) {
            owned_.assign(other.owned_.begin(), other.owned_.begin() + other.size_);
            rebase();
        } else if (other.place_ != nullptr) {
            enter(other.next_);
        }
        return *this;
    }
    ~Payload() { leave(); }

    void clear() {
        leave();
        count_ = 0, size_ = 0, is_owned_ = false;
    }
    std::uint32_t size() const { return size_; }
    bool is_empty() const { return size_ == 0; }
    /// True when the bytes still lie in the sender's memory.
    bool is_lent() const { return !is_owned_ && size_ != 0; }
    std::span<const std::span<const std::byte>> pieces() const { return {pieces_.data(), count_}; }

    /// Adds bytes of the memory that `loans` keeps account of. Copies when the references are used up.
    void lend(std::span<const std::byte> bytes, Loans& loans) {
        if (is_owned_ || count_ == max_pieces)
            return append_copy(bytes);
        if (place_ == nullptr)
            enter(loans.first_);
        if (count_ != 0 && pieces_[count_ - 1].data() + pieces_[count_ - 1].size() == bytes.data())
            pieces_[count_ - 1] = {pieces_[count_ - 1].data(), pieces_[count_ - 1].size() + bytes.size()};
        else
            pieces_[count_++] = bytes;
        size_ += static_cast<std::uint32_t>(bytes.size());
    }
    /// Becomes `length` bytes of `whole` from `offset` on, lent by whom `whole` is lent, or copied.
    void become_part(const Payload& whole, std::size_t offset, std::size_t length) {
        clear();
        if (whole.is_owned_)
            return append_copy(std::span(whole.owned_).subspan(offset, length));
        for (const auto piece : whole.pieces()) {
            const auto skipped = std::min(offset, piece.size());
            const auto part = std::min(length, piece.size() - skipped);
            if (part != 0)
                pieces_[count_++] = piece.subspan(skipped, part);
            offset -= skipped, length -= part;
            size_ += static_cast<std::uint32_t>(part);
        }
        if (whole.place_ != nullptr)
            enter(whole.next_);
    }
    /// Adds a copy of `bytes`.
    void append_copy(std::span<const std::byte> bytes) {
        const auto at = extend(bytes.size());
        if (!bytes.empty())
            std::memcpy(at.data(), bytes.data(), bytes.size());
    }
    /// Adds `length` bytes of the packet's own, to be filled by the caller.
    std::span<std::byte> extend(std::size_t length) {
        own();
        owned_.resize(size_ + length);
        const auto at = std::span(owned_).subspan(size_);
        size_ += static_cast<std::uint32_t>(length);
        refresh();
        return at;
    }
    /// Copies lent bytes into the packet, so that later changes of the sender's memory no longer show. The pieces stay
    /// as they are: whoever writes them one by one must not notice when somebody has asked for copies.
    void own() {
        if (is_owned_)
            return;
        leave();
        owned_.resize(size_);
        copy_to(owned_);
        is_owned_ = true;
        rebase();
    }
    /// Becomes a copy of `bytes`, in pieces of these sizes; they are max_pieces at most, and none is 0.
    void become_copy(std::span<const std::byte> bytes, std::span<const std::uint32_t> sizes) {
        assert(sizes.size() <= max_pieces);
        clear();
        append_copy(bytes);
        count_ = 0;
        for (const auto size : sizes)
            pieces_[count_++] = {owned_.data(), size};
        rebase();
    }
    /// Has the processor bring the bytes near, for a copy that comes soon but not at once.
    void prefetch() const {
        constexpr std::size_t line = 64;
        for (const auto& piece : pieces())
            for (std::size_t at = 0; at < piece.size(); at += line)
                __builtin_prefetch(piece.data() + at, 0, 2);
    }
    /// Copies the payload into the first size() bytes of `out`.
    void copy_to(std::span<std::byte> out) const {
        assert(out.size() >= size_);
        auto at = out.data();
        for (const auto& piece : pieces()) {
            std::memcpy(at, piece.data(), piece.size());
            at += piece.size();
        }
    }

    /// Copies as many of the first bytes as `out` takes; returns those.
    std::span<std::byte> copy_front_to(std::span<std::byte> out) const {
        std::size_t length = 0;
        for (const auto& piece : pieces()) {
            const auto part = std::min(piece.size(), out.size() - length);
            std::memcpy(out.data() + length, piece.data(), part);
            length += part;
        }
        return out.first(length);
    }

private:
    friend class Loans;

    bool touches(std::span<const std::byte> memory) const {
        constexpr std::less<const std::byte*> is_before; // the addresses may be those of different objects
        for (const auto& piece : pieces())
            if (is_before(piece.data(), memory.data() + memory.size()) &&
                is_before(memory.data(), piece.data() + piece.size()))
                return true;
        return false;
    }
    /// Enters the book at `place`: at its front, or behind another payload.
    void enter(Payload*& place) {
        next_ = place;
        place_ = &place;
        if (next_ != nullptr)
            next_->place_ = &next_;
        place = this;
    }
    void leave() {
        if (place_ == nullptr)
            return;
        *place_ = next_;
        if (next_ != nullptr)
            next_->place_ = place_;
        place_ = nullptr;
    }
    /// The pieces, with the sizes that they have, are in the bytes of its own.
    void rebase() {
        const auto* at = owned_.data();
        for (std::size_t i = 0; i < count_; ++i) {
            pieces_[i] = {at, pieces_[i].size()};
            at += pieces_[i].size();
        }
    }
    void refresh() {
        pieces_[0] = {owned_.data(), size_};
        count_ = size_ != 0;
    }

    std::array<std::span<const std::byte>, max_pieces> pieces_{};
    std::vector<std::byte> owned_;    ///< keeps its capacity when the packet's slot is used again
    mutable Payload* next_ = nullptr; ///< in the book: a copy enters behind the original
    Payload** place_ = nullptr;       ///< where the book refers to this one; nullptr: it is in none
    std::uint32_t size_ = 0;
    std::uint8_t count_ = 0;
    bool is_owned_ = false;
};

inline Loans::~Loans() {
    while (first_ != nullptr)
        first_->clear();
}

inline void Loans::own_all() {
    while (first_ != nullptr)
        first_->own();
}

inline void Loans::drain(std::span<const std::byte> memory) {
    for (auto *at = first_, *next = first_; at != nullptr; at = next) {
        next = at->next_;
        if (at->touches(memory))
            at->own();
    }
}

} // namespace model::port
