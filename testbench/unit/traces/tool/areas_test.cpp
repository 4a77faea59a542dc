// Which object lies where, and what it costs to know: traces have many objects that come and go.
#include "traces/tool/areas.h"

#include <catch2/catch_test_macros.hpp>

using namespace traces::tool;

namespace {

constexpr std::uint64_t page = 4096;

Pages pages_of(std::uint64_t first, std::uint64_t count, std::uint64_t stride = page) {
    Pages pages;
    for (std::uint64_t i = 0; i < count; ++i)
        pages.addresses.push_back(first + i * stride);
    return pages;
}

} // namespace

TEST_CASE("an object that goes takes its own areas along and no others", "[unit][trace-tool]") {
    Areas areas;
    areas.add(AreaKind::send_queue, 1, 64, pages_of(0x10000, 3, 2 * page), 0, 3 * page);
    areas.add(AreaKind::send_queue, 2, 64, pages_of(0x11000, 1), 0, page);
    areas.add(AreaKind::receive_queue, 1, 64, pages_of(0x20000, 1), 0, page);

    areas.remove(AreaKind::send_queue, 1);

    for (const std::uint64_t at : {0x10000, 0x12000, 0x14000})
        CHECK(!areas.at(at));
    CHECK(areas.at(0x11000)->number == 2);
    CHECK(areas.at(0x20000)->kind == AreaKind::receive_queue);
}

TEST_CASE("memory that has got another purpose stays what it is now when its former object goes",
          "[unit][trace-tool]") {
    Areas areas;
    areas.add(AreaKind::completion_queue, 1, 64, pages_of(0x10000, 2), 0, 2 * page);
    areas.add(AreaKind::completion_queue, 2, 64, pages_of(0x10000, 1), 0, page);

    areas.remove(AreaKind::completion_queue, 1);

    CHECK(areas.at(0x10000)->number == 2);
    CHECK(!areas.at(0x11000));
    areas.remove(AreaKind::completion_queue, 2);
    CHECK(!areas.at(0x10000));
}

TEST_CASE("an object costs by its own pieces, not by those of all others", "[unit][trace-tool]") {
    constexpr std::uint32_t objects = 4000, pieces = 3;
    Areas areas;

    for (std::uint32_t i = 0; i < objects; ++i)
        areas.add(AreaKind::send_queue, i, 64, pages_of(i * 16 * page, pieces, 2 * page), 0, pieces * page);
    for (std::uint32_t i = 0; i < objects; ++i)
        areas.remove(AreaKind::send_queue, i);

    CHECK(areas.looked_at() == 2 * objects * pieces); // each once when it comes and once when it goes
}
