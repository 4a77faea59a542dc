#include "abi/prm/command.h"
#include "abi/prm/cqe.h"
#include "abi/prm/mkey.h"
#include "abi/prm/wqe.h"
#include "abi/print.h"
#include "abi/types.h"
#include "testbench/harness/golden.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace abi;
using namespace abi::prm;
using testbench::golden_bytes;
using testbench::golden_values;

TEST_CASE("the published CQE XORs to 0xff and decodes to the documented fields", "[unit][cqe][golden]") {
    const auto bytes = golden_bytes("cqe_send.txt");
    REQUIRE(bytes.size() == Cqe64::size);

    const ConstView<Cqe64> cqe{bytes};

    CHECK(xor_of(bytes) == 0xff);
    CHECK(cqe_signature(bytes) == cqe.get<"signature">());
    CHECK(to_string(cqe, PrintForm::line, PrintZeros::no) ==
          "timestamp=0x48632a39b102 sop=0xa qpn=0x1150 signature=0x3f");
    CHECK(cqe.get<"opcode">() == CqeOpcode::req);
    CHECK(cqe.get<"owner">() == 0u);
}

TEST_CASE("the published CQE is reproduced from its fields", "[unit][cqe][golden]") {
    const auto published = golden_bytes("cqe_send.txt");
    Block<Cqe64> block;

    block.view().set<"timestamp">(0x00004863'2a39b102).set<"sop">(0x0a).set<"qpn">(0x1150).set<"wqe_counter">(0);
    block.view().set<"opcode">(CqeOpcode::req).set<"owner">(0);
    block.view().set<"signature">(cqe_signature(block.bytes));

    CHECK(std::ranges::equal(block.bytes, published));
}

TEST_CASE("a CQE signature does not depend on what stands in its place", "[unit][cqe]") {
    Block<Cqe64> block;
    block.view().set<"timestamp">(0x0123456789abcdef).set<"signature">(0x55);

    const auto signature = cqe_signature(block.bytes);
    block.view().set<"signature">(signature);

    CHECK(cqe_signature(block.bytes) == signature);
    CHECK(xor_of(block.bytes) == 0xff);
}

TEST_CASE("the published WQE is a ctrl, an Ethernet and a data segment", "[unit][wqe][golden]") {
    const auto bytes = golden_bytes("wqe_raw_send.txt");
    REQUIRE(bytes.size() == 48);
    const std::span<const std::byte> wqe(bytes);

    const ConstView<WqeCtrl> ctrl{wqe};
    const ConstView<WqeEth> eth{wqe.subspan(16)};
    const ConstView<WqeData> data{wqe.subspan(32)};

    CHECK(to_string(ctrl, PrintForm::line, PrintZeros::no) == "opcode=0xa (SEND) qpn=0x1150 ds=0x3 ce=0x2");
    CHECK(ctrl.get<"ds">() * wqe_ds_bytes == bytes.size());
    CHECK(to_string(eth, PrintForm::line, PrintZeros::no) == "l4_csum=0x1 l3_csum=0x1");
    CHECK(to_string(data, PrintForm::line, PrintZeros::no) == "byte_count=0x22a lkey=0x8a0b addr=0x7fc59a5b2000");
}

TEST_CASE("the published WQE is reproduced from its fields", "[unit][wqe][golden]") {
    const auto published = golden_bytes("wqe_raw_send.txt");
    std::array<std::byte, 48> bytes{};
    const std::span<std::byte> wqe(bytes);

    View<WqeCtrl>{wqe}
        .set<"opcode">(WqeOpcode::send)
        .set<"qpn">(0x1150)
        .set<"ds">(3)
        .set<"ce">(CompletionEvent::always);
    View<WqeEth>{wqe.subspan(16)}.set<"l3_csum">(1).set<"l4_csum">(1);
    View<WqeData>{wqe.subspan(32)}
        .set<"byte_count">(554)
        .set<"lkey">(Key{0x8a, 0x0b}.value)
        .set<"addr">(0x7fc59a5b2000);

    CHECK(std::ranges::equal(bytes, published));
}

TEST_CASE("the published registration gives a key of two present and writable pages", "[unit][mkey][golden]") {
    const auto mr = golden_values("registration.txt");
    const Key key{static_cast<std::uint32_t>(mr.at("mkey")[0])};

    CHECK(key.index() == 0xdd);
    CHECK(key.variant() == 0x5d);
    CHECK(mr.at("length")[0] == mr.at("pas").size() << mr.at("page_shift")[0]);
    for (const auto pas : mr.at("pas")) {
        Block<Mtt> entry;
        store<std::uint64_t, Endian::big>(entry.bytes.data(), pas);
        CHECK(entry.view().get<"rd_en">() == 1u);
        CHECK(entry.view().get<"wr_en">() == 1u);
        CHECK((std::uint64_t{entry.view().get<"ptag_63_32">()} << 32 | entry.view().get<"ptag_31_8">() << 8) ==
              (pas & ~std::uint64_t{0xfff}));
    }
}
