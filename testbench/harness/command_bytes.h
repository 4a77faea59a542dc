// A command as a driver writes it, and what comes back: the bytes of its input and output structures with what follows
// them.
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"
#include "abi/prm/init_segment.h"
#include "firmware/refusal.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace harness {

namespace prm = abi::prm;

/// Input of a command: its structure, and what follows it.
template <class L> struct Input {
    explicit Input(prm::Opcode opcode, std::uint16_t op_mod = 0) : bytes(L::size) {
        const abi::View<prm::CommandIn> common(std::span<std::byte>{bytes});
        common.set<"opcode">(opcode).set<"op_mod">(op_mod);
    }
    abi::View<prm::CommandIn> header() { return abi::View<prm::CommandIn>(std::span(bytes)); }
    /// As of a program with this user context.
    Input& by(std::uint16_t uid) {
        header().template set<"uid">(uid);
        return *this;
    }
    abi::View<L> view() { return abi::View<L>(std::span(bytes)); }
    template <abi::Name F, class T> Input& set(T value) {
        view().template set<F>(value);
        return *this;
    }
    Input& add(std::uint64_t value) { ///< appends eight bytes to the list
        bytes.resize(bytes.size() + 8);
        abi::store<std::uint64_t, std::endian::big>(bytes.data() + bytes.size() - 8, value);
        return *this;
    }
    std::vector<std::byte> bytes;
};

/// What came back.
template <class L> struct Output {
    prm::DeliveryStatus delivery{};
    bool is_back = false; ///< software owns the slot
    std::vector<std::byte> bytes;

    abi::ConstView<L> view() const { return abi::ConstView<L>(std::span(bytes)); }
    prm::Status status() const { return abi::ConstView<prm::EnableHcaOut>(std::span(bytes)).get<"status">(); }
    std::uint32_t syndrome() const { return abi::ConstView<prm::EnableHcaOut>(std::span(bytes)).get<"syndrome">(); }
    /// The name of the refusal's row, "" when there is none.
    std::string_view refusal() const {
        const auto* row = firmware::find_refusal(syndrome());
        return row != nullptr ? row->name : std::string_view{};
    }
    bool is_ok() const { return is_back && delivery == prm::DeliveryStatus::ok && status() == prm::Status::ok; }
    template <abi::Name F> auto get() const { return view().template get<F>(); }
};

} // namespace harness
