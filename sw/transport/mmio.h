// Registers of a device read and written by the names of their layout. Takes a BAR and a base, gives typed access of
// one dword at a time; caches nothing and orders nothing.
#pragma once

#include "abi/layout.h"
#include "sw/transport/transport.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sw::transport {

/// A dword of a BAR.
template <abi::Endian E> std::uint32_t read32(Transport& transport, unsigned bar, std::uint64_t offset) {
    std::array<std::byte, 4> bytes{};
    transport.mmio_read(bar, offset, bytes);
    return abi::load<std::uint32_t, E>(bytes.data());
}
template <abi::Endian E> void write32(Transport& transport, unsigned bar, std::uint64_t offset, std::uint32_t value) {
    std::array<std::byte, 4> bytes;
    abi::store<std::uint32_t, E>(bytes.data(), value);
    transport.mmio_write(bar, offset, bytes);
}
inline void write_be32(Transport& transport, unsigned bar, std::uint64_t offset, std::uint32_t value) {
    write32<abi::Endian::big>(transport, bar, offset, value);
}

/// Dword registers laid out as `L`, at `base` of BAR `bar`.
template <class L> class Registers {
    template <abi::Name F> struct Find {
        using type = typename L::template field<F>;
        static_assert(type::bytes == 4 && type::offset % 4 == 0);
    };
    template <abi::Name F> using Dword = typename Find<F>::type;
    template <abi::Name F> struct FindQword {
        using type = typename L::template field<F>;
        static_assert(L::endian == abi::Endian::little && type::bytes == 8 && type::offset % 8 == 0);
    };
    template <abi::Name F> using Qword = typename FindQword<F>::type;

public:
    Registers(Transport& transport, unsigned bar, std::uint64_t base)
        : transport_(&transport), bar_(bar), base_(base) {}

    /// Reads the register that holds field `F` and takes the field out of it.
    template <abi::Name F> auto get() const {
        using Field = Dword<F>;
        return static_cast<typename Field::type>(
            read32<L::endian>(*transport_, bar_, base_ + Field::offset) >> Field::low & mask<F>);
    }
    /// Writes the register that holds field `F`; its other fields are written as zero.
    template <abi::Name F> void set(typename Dword<F>::type value) const {
        using Field = Dword<F>;
        write32<L::endian>(*transport_, bar_, base_ + Field::offset,
                           (static_cast<std::uint32_t>(value) & mask<F>) << Field::low);
    }
    /// Writes the register that holds field `F` as a whole.
    template <abi::Name F> void set_dword(std::uint32_t value) const {
        write32<L::endian>(*transport_, bar_, base_ + Dword<F>::offset, value);
    }
    /// A register of 64 bits as two dwords, the lower first.
    template <abi::Name F> void set_qword(std::uint64_t value) const {
        write32<L::endian>(*transport_, bar_, base_ + Qword<F>::offset, static_cast<std::uint32_t>(value));
        write32<L::endian>(*transport_, bar_, base_ + Qword<F>::offset + 4, static_cast<std::uint32_t>(value >> 32));
    }

private:
    template <abi::Name F> static constexpr std::uint32_t mask = ~0u >> (32 - Dword<F>::width);

    Transport* transport_;
    unsigned bar_;
    std::uint64_t base_;
};

} // namespace sw::transport
