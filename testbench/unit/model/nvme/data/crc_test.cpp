#include "model/nvme/data/crc.h"

#include <catch2/catch_test_macros.hpp>

#include <string_view>

namespace {

std::span<const std::byte> text(std::string_view characters) { return std::as_bytes(std::span(characters)); }

} // namespace

TEST_CASE("the guards have the check values of their polynomials", "[unit][nvme]") {
    // The catalogue of parametrised CRC algorithms: CRC-16/T10-DIF, CRC-32/ISCSI, CRC-64/NVME over "123456789".
    CHECK(model::nvme::crc16_t10(text("123456789")) == 0xd0db);
    CHECK(model::nvme::crc32c(text("123456789")) == 0xe3069283);
    CHECK(model::nvme::crc64_nvme(text("123456789")) == 0xae8b14860a799888);
    // Also in parts.
    CHECK(model::nvme::crc16_t10(text("456789"), model::nvme::crc16_t10(text("123"))) == 0xd0db);
    CHECK(model::nvme::crc32c(text("456789"), model::nvme::crc32c(text("123"))) == 0xe3069283);
    CHECK(model::nvme::crc64_nvme(text("456789"), model::nvme::crc64_nvme(text("123"))) == 0xae8b14860a799888);
}
