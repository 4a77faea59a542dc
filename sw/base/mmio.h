// Registers of a device read and written by the names of their layout. Takes a BAR and a base, gives typed access of
// one dword at a time; caches nothing and orders nothing.
#pragma once

#include "abi/layout.h"
#include "sw/transport/transport.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sw::base {

/// A big-endian dword of a BAR.
inline std::uint32_t read_be32(transport::Transport& transport, unsigned bar, std::uint64_t offset) {
    std::array<std::byte, 4> bytes{};
    transport.mmio_read(bar, offset, bytes);
    return abi::load<std::uint32_t, abi::Endian::big>(bytes.data());
}
inline void write_be32(transport::Transport& transport, unsigned bar, std::uint64_t offset, std::uint32_t value) {
    std::array<std::byte, 4> bytes;
    abi::store<std::uint32_t, abi::Endian::big>(bytes.data(), value);
    transport.mmio_write(bar, offset, bytes);
}

/// Big-endian dword registers laid out as `L`, at `base` of BAR `bar`.
template <class L> class Registers {
    template <abi::Name F> struct Find {
        using type = typename L::template field<F>;
        static_assert(L::endian == abi::Endian::big && type::bytes == 4 && type::offset % 4 == 0);
    };
    template <abi::Name F> using Dword = typename Find<F>::type;

public:
    Registers(transport::Transport& transport, unsigned bar, std::uint64_t base)
        : transport_(&transport), bar_(bar), base_(base) {}

    /// Reads the register that holds field `F` and takes the field out of it.
    template <abi::Name F> auto get() const {
        using Field = Dword<F>;
        return static_cast<typename Field::type>(read_be32(*transport_, bar_, base_ + Field::offset) >> Field::low &
                                                 mask<F>);
    }
    /// Writes the register that holds field `F`; its other fields are written as zero.
    template <abi::Name F> void set(typename Dword<F>::type value) const {
        using Field = Dword<F>;
        write_be32(*transport_, bar_, base_ + Field::offset,
                   (static_cast<std::uint32_t>(value) & mask<F>) << Field::low);
    }

private:
    template <abi::Name F> static constexpr std::uint32_t mask = ~0u >> (32 - Dword<F>::width);

    transport::Transport* transport_;
    unsigned bar_;
    std::uint64_t base_;
};

} // namespace sw::base
