#include "model/pcie/gateway.h"

#include "abi/write_masks.h"

namespace model::pcie {

using abi::pcie::VendorGateway;

namespace {
constexpr auto control = VendorGateway::field<"space">::offset, counter = VendorGateway::field<"counter">::offset,
               semaphore = VendorGateway::field<"semaphore">::offset, address = VendorGateway::field<"address">::offset,
               data = VendorGateway::field<"data">::offset;

constexpr std::uint32_t bytes_mask(unsigned bytes) { return bytes >= 4 ? ~0u : (1u << 8 * bytes) - 1; }
} // namespace

std::uint32_t Gateway::read(std::uint16_t offset, unsigned bytes) {
    const auto view = registers_.view();
    if (offset == counter) {
        if (++last_number_ == 0) // 0 is nobody
            ++last_number_;
        view.set<"counter">(last_number_);
    }
    const auto word = abi::load<std::uint32_t, VendorGateway::endian>(registers_.bytes.data() + offset / 4 * 4);
    return word >> 8 * (offset % 4) & bytes_mask(bytes);
}

void Gateway::write(std::uint16_t offset, unsigned bytes, std::uint32_t value, port::RegisterSpaces* spaces,
                    port::Time at) {
    const auto shift = 8 * (offset % 4);
    const auto mask = bytes_mask(bytes) << shift;
    const std::size_t dword = offset / 4 * 4;
    const auto stored = abi::load<std::uint32_t, VendorGateway::endian>(registers_.bytes.data() + dword);
    const auto word = (stored & ~mask) | (value << shift & mask);
    const bool is_complete = offset % 4 + bytes == 4; // narrow writes act with the last byte of the register
    switch (dword) {
    case control: abi::write_dword(registers_.view(), dword, word); return choose(spaces);
    case semaphore: return take(word);
    case address: abi::write_dword(registers_.view(), dword, word); return is_complete ? access(spaces, at) : void();
    case data: return abi::write_dword(registers_.view(), dword, word);
    default: return; // the header and the counter
    }
}

/// One number at a time holds the gateway; 0 gives it back.
void Gateway::take(std::uint32_t number) {
    const auto view = registers_.view();
    if (view.get<"semaphore">() == 0 || number == 0)
        view.set<"semaphore">(number);
}

void Gateway::choose(port::RegisterSpaces* spaces) {
    const auto view = registers_.view();
    const auto size = spaces != nullptr ? spaces->size(view.get<"space">()) : 0;
    view.set<"status">(size != 0 ? abi::pcie::gateway_space_supported : 0)
        .set<"size_valid">(size != 0)
        .set<"syndrome_code">(0);
    view.set<"address">(size).set<"syndrome">(false).set<"flag">(false);
}

void Gateway::access(port::RegisterSpaces* spaces, port::Time at) {
    const auto view = registers_.view();
    const auto space = view.get<"space">();
    const auto where = view.get<"address">();
    const bool is_write = view.get<"flag">();
    bool is_done = false;
    if (spaces != nullptr && where < spaces->size(space)) {
        if (is_write) {
            is_done = spaces->write(space, where, view.get<"data">());
        } else if (const auto value = spaces->read(space, where, at)) {
            view.set<"data">(*value);
            is_done = true;
        }
    }
    // A failed access sets the flag as well; otherwise software would wait for it without end.
    view.set<"flag">(!is_write).set<"syndrome">(!is_done).set<"syndrome_code">(
        is_done ? 0 : abi::pcie::gateway_out_of_range);
    view.set<"size_valid">(false); // the address register holds addresses again
    if (!is_done || is_write)
        return;
    if (const auto next = spaces->next(space, where))
        view.set<"address">(*next);
}

} // namespace model::pcie
