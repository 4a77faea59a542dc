// Receive WQEs as bytes: which of their segments count.
#include "model/hca/queue/receive_wqe.h"

#include "abi/prm/wqe.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using model::hca::queue::ReceiveRequest;

namespace {

void add(std::vector<std::byte>& wqe, std::uint32_t bytes, std::uint32_t key) {
    abi::Block<abi::prm::WqeData> data;
    data.view().set<"byte_count">(bytes).set<"lkey">(key).set<"addr">(0x1000);
    wqe.insert(wqe.end(), data.bytes.begin(), data.bytes.end());
}

} // namespace

TEST_CASE("a receive WQE ends at an empty segment of the invalid key, and at nothing else", "[unit][wqe]") {
    constexpr std::uint32_t invalid_key = 0x100;
    std::vector<std::byte> wqe;
    add(wqe, 64, invalid_key); // a key of software's may have this number
    add(wqe, 32, 0x8000);
    add(wqe, 0, invalid_key);
    add(wqe, 16, 0x8001);
    ReceiveRequest request;

    request.decode(wqe);

    REQUIRE(request.count == 2);
    CHECK(request.segments[0].key == abi::Key{invalid_key});
    CHECK(request.room() == 96);
}
