// abi/pcie/tlp.h against what others have written down: the worked example of a memory write in "Down to the TLP: How
// PCI express devices talk" (xillybus.com), and the headers that Linux builds and takes apart for root ports without
// ECAM (drivers/pci/controller/pcie-altera.c).
#include "abi/pcie/tlp.h"

#include <catch2/catch_test_macros.hpp>

using namespace abi::pcie;

namespace {
template <std::size_t N> std::array<std::byte, 4 * N> dwords(const std::uint32_t (&values)[N]) {
    std::array<std::byte, 4 * N> bytes;
    for (std::size_t i = 0; i < N; ++i)
        abi::store<std::uint32_t, std::endian::big>(bytes.data() + 4 * i, values[i]);
    return bytes;
}
} // namespace

TEST_CASE("the published memory write is 1 dword to 0xfdaff040, all bytes enabled", "[witness][tlp]") {
    const auto bytes = dwords({0x40000001, 0x0000000f, 0xfdaff040});
    const abi::ConstView<MemoryRequest32> request(bytes);

    CHECK(request.sub<"header">().get<"fmt">() == TlpFormat::data_3dw);
    CHECK(request.sub<"header">().get<"type">() == TlpType::memory);
    CHECK(request.sub<"header">().get<"length">() == 1);
    CHECK(request.get<"requester">() == 0);
    CHECK(request.get<"last_enables">() == 0);
    CHECK(request.get<"first_enables">() == 0xf);
    CHECK(request.get<"address">() << 2 == 0xfdaff040);
}

TEST_CASE("configuration requests are the headers that Linux builds", "[witness][tlp]") {
    // DW0 = fmt and type << 24 | length 1; DW1 = requester << 16 | tag << 8 | byte enables; DW2 = bus << 24 | devfn <<
    // 16 | register offset.
    const auto build = [](TlpFormat format, TlpType type) {
        abi::Block<ConfigRequest> request;
        request.view().sub<"header">().set<"fmt">(format).set<"type">(type).set<"length">(1);
        request.view().set<"requester">(0x0100).set<"tag">(0x1d).set<"first_enables">(0xf);
        request.view().set<"target">(0x0508).set<"register">(0x2c >> 2);
        return request.bytes;
    };

    CHECK(build(TlpFormat::no_data_3dw, TlpType::config0) == dwords({0x04000001, 0x01001d0f, 0x0508002c}));
    CHECK(build(TlpFormat::data_3dw, TlpType::config0) == dwords({0x44000001, 0x01001d0f, 0x0508002c}));
    CHECK(build(TlpFormat::no_data_3dw, TlpType::config1) == dwords({0x05000001, 0x01001d0f, 0x0508002c}));
    CHECK(build(TlpFormat::data_3dw, TlpType::config1) == dwords({0x45000001, 0x01001d0f, 0x0508002c}));
}

TEST_CASE("the status of a completion stands where Linux reads it", "[witness][tlp]") {
    // DW1 >> 13 & 7 is the status, DW1 & 0xfff the byte count.
    abi::Block<Completion> completion;
    completion.view()
        .set<"completer">(0x0500)
        .set<"status">(CompletionStatus::completer_abort)
        .set<"byte_count">(0x123);

    const auto dword = abi::load<std::uint32_t, std::endian::big>(completion.bytes.data() + 4);

    CHECK((dword >> 13 & 7) == 4);
    CHECK((dword & 0xfff) == 0x123);
    CHECK(dword >> 16 == 0x0500);
}
