// Files of a drive that are damaged, cut, or those of another one: refused in one line, and left as they are.
#include "model/nvme/keep/state.h"
#include "testbench/unit/model/nvme/keep/drive_in_files.h"

#include <sys/stat.h>

using namespace nvme_test;

namespace {

struct Kept : DriveInFiles {
    std::string second;
    Kept() {
        create(128);
        REQUIRE(write(2, 1, 1) == Status::success);
        REQUIRE(admin(AdminOpcode::set_features, 0, 1 | 1u << 31, 5) == Status::success);
        bench.reset();
        second = medium() + ".ns2-2";
        REQUIRE(std::filesystem::exists(second));
    }
    /// A drive does not begin on these files, names one of them, and touches none.
    void check_refused(const std::string& file, const std::string& why) {
        const auto before = folder.content();
        const auto said = refusal();
        INFO(said);
        CHECK(said.starts_with(file));
        CHECK(said.find(why) != std::string::npos);
        CHECK(said.find('\n') == std::string::npos);
        CHECK(folder.content() == before);
    }
    template <class Change> void change_state(Change&& change) {
        const auto bytes = Folder::read(state());
        auto kept = decode(std::as_bytes(std::span(bytes)), config.space);
        REQUIRE(kept);
        change(*kept);
        const auto changed = encode(*kept);
        Folder::write(state(), std::string(reinterpret_cast<const char*>(changed.data()), changed.size()));
    }
};

} // namespace

TEST_CASE("a state of a drive with any byte changed, or cut anywhere, is refused", "[unit][nvme][keep]") {
    Kept kept;
    const auto whole = Folder::read(kept.state());
    for (std::size_t at = 0; at < whole.size(); ++at) {
        auto bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        Folder::write(kept.state(), bytes);
        kept.check_refused(kept.state(), at < 8    ? "is not the state"
                                         : at < 12 ? "is of version"
                                         : at < 16 ? "more than it says"
                                                   : "");
        Folder::write(kept.state(), whole.substr(0, at));
        kept.check_refused(kept.state(), "is cut");
    }
    Folder::write(kept.state(), whole + "more");
    kept.check_refused(kept.state(), "has more than it says");
    Folder::write(kept.state(), std::string(2 << 20, 'x'));
    kept.check_refused(kept.state(), "too long");
    Folder::write(kept.state(), whole);
    CHECK(kept.refusal().empty());
}

TEST_CASE("a state that is whole and says what cannot be is refused", "[unit][nvme][keep]") {
    Kept kept;
    const auto whole = Folder::read(kept.state());
    const auto refuse = [&](auto change, const std::string& why) {
        kept.change_state(change);
        kept.check_refused(kept.state(), why);
        Folder::write(kept.state(), whole);
    };
    refuse([](KeptState& s) { s.namespaces[1].nsid = 1; }, "where there is none");
    refuse([](KeptState& s) { s.namespaces[1].nsid = 17; }, "where there is none");
    refuse([](KeptState& s) { s.namespaces[1].generation = 9; }, "has not been");
    refuse([](KeptState& s) { s.namespaces[1].bytes = 100; }, "has a size that no namespace has");
    refuse([](KeptState& s) { s.namespaces[1].bytes = 1ull << 60; }, "has a size that no namespace has");
    refuse([](KeptState& s) { s.namespaces[1].shape.format_index = 5; }, "does not have");
    refuse([](KeptState& s) { s.namespaces[1].shape.format_index = 1; }, "is another one by now");
    refuse([](KeptState& s) { s.namespaces[1].shape.protection = Protection::type1; }, "no room");
    refuse([](KeptState& s) { s.namespaces[1].shape.protection = static_cast<Protection>(4); }, "nothing means");
    refuse([](KeptState& s) { s.namespaces[1].origin = static_cast<Origin>(3); }, "nothing means");
    refuse([](KeptState& s) { s.namespaces[1].origin = Origin::configured; }, "does not name");
    refuse([](KeptState& s) { s.namespaces[1].generation = 0; }, "has not been");
    refuse([](KeptState& s) { s.namespaces[1].shape.format.metadata_bytes = 8; }, "is another one by now");
    refuse([](KeptState& s) { s.namespaces[1].shape.format.guard = Guard::crc64; }, "is another one by now");
    refuse([](KeptState& s) { s.namespaces[1].write_protection = static_cast<WriteProtection>(4); }, "nothing means");
    refuse([](KeptState& s) { s.sanitize.state = 5; }, "that there is not");
    refuse([](KeptState& s) { s.test.code = 3; }, "that there is not");
    refuse([](KeptState& s) { s.self_tests.resize(21); }, "more self-tests than are kept");
    kept.config.space.namespaces[0].bytes = 2 << 20;
    kept.check_refused(kept.state(), "has namespace 1 of 1048576 bytes, the configuration 2097152");
}

TEST_CASE("media and marks that do not fit the state are refused", "[unit][nvme][keep]") {
    Kept kept;
    const auto marks = Folder::read(kept.second + ".marks"), medium = Folder::read(kept.second);

    for (std::size_t at = 0; at < 48; ++at) {
        auto bytes = marks;
        bytes[at] = static_cast<char>(bytes[at] ^ 1);
        Folder::write(kept.second + ".marks", bytes);
        kept.check_refused(kept.second + ".marks", at < 8    ? "has no marks"
                                                   : at < 12 ? "is of version"
                                                             : "its header is another one");
    }
    Folder::write(kept.second + ".marks", marks.substr(0, 47));
    kept.check_refused(kept.second + ".marks", "is cut");
    Folder::write(kept.second + ".marks", marks.substr(0, marks.size() - 1));
    kept.check_refused(kept.second + ".marks", "is cut");
    Folder::write(kept.second + ".marks", "");
    kept.check_refused(kept.second + ".marks", "is empty");
    Folder::write(kept.second + ".marks", Folder::read(kept.marks()));
    kept.check_refused(kept.second + ".marks", "has the marks of 2048 blocks");
    std::filesystem::remove(kept.second + ".marks");
    kept.check_refused(kept.second + ".marks", "is not there");
    Folder::write(kept.second + ".marks", marks);
    Folder::write(kept.second, medium.substr(1));
    kept.check_refused(kept.second, "has 65535 bytes");
    std::filesystem::remove(kept.second);
    kept.check_refused(kept.second, "is not there");
    Folder::write(kept.second, medium);
    CHECK(kept.refusal().empty());
}

TEST_CASE("marks of another number of blocks are refused", "[unit][nvme][keep]") {
    Kept kept;
    kept.change_state([&](KeptState& state) {
        auto& shape = state.namespaces[1].shape;
        shape.format = kept.config.space.formats[1], shape.format_index = 1;
    });
    kept.check_refused(kept.second + ".marks", "has the marks of 128 blocks, the namespace has 16");
}

TEST_CASE("marks of an older namespace of the same number and size are refused", "[unit][nvme][keep]") {
    Kept kept;
    const auto old = Folder::read(kept.second + ".marks");
    kept.again();
    REQUIRE(kept.admin(AdminOpcode::namespace_management, 2, 1) == Status::success);
    REQUIRE(kept.create(128) == 2);
    kept.bench.reset();
    Folder::write(kept.medium() + ".ns2-3.marks", old);
    kept.check_refused(kept.medium() + ".ns2-3.marks", "or they are of an older one of this number");
}

TEST_CASE("a state or marks that are no plain file are refused, and nothing behind a link is touched",
          "[unit][nvme][keep]") {
    Kept kept;
    for (const auto& [file, why] :
         {std::pair{kept.state(), "is not a plain file"}, {kept.second + ".marks", "is not a plain file"}}) {
        const auto bytes = Folder::read(file);
        std::filesystem::remove(file);
        REQUIRE(mkfifo(file.c_str(), 0600) == 0);
        CHECK(kept.refusal() == file + " " + why);
        std::filesystem::remove(file);
        Folder::write(file + ".elsewhere", bytes);
        std::filesystem::create_symlink(file + ".elsewhere", file);
        CHECK(kept.refusal().find(file) != std::string::npos);
        CHECK(Folder::read(file + ".elsewhere") == bytes);
        std::filesystem::remove(file);
        Folder::write(file, bytes);
    }
    CHECK(kept.refusal().empty());
}

TEST_CASE("marks with any bits at all are marks of blocks that there are", "[unit][nvme][keep]") {
    Kept kept;
    auto marks = Folder::read(kept.second + ".marks");
    std::fill(marks.begin() + 4096, marks.end(), '\xff');
    Folder::write(kept.second + ".marks", marks);
    kept.again();
    CHECK(kept.space(2).allocated().count() == 128);
    CHECK(kept.read(2, 0) == Status::unrecovered_read_error);
    CHECK(kept.read(2, 127) == Status::unrecovered_read_error);
}

TEST_CASE("what a killed process has left behind of a new state is passed over", "[unit][nvme][keep]") {
    Kept kept;
    Folder::write(kept.state() + ".new", "half a st");
    Folder::write(kept.medium() + ".ns3-3", "of one that was about to be made");
    kept.again();
    CHECK(kept.first_byte(2, 1) == 1);
    CHECK(kept.create(64) == 3);
    CHECK(Folder::read(kept.medium() + ".ns3-3") == "of one that was about to be made");
    CHECK(std::filesystem::exists(kept.medium() + ".ns3-4"));
}

TEST_CASE("a state that cannot be written is an internal error, and nothing has changed", "[unit][nvme][keep]") {
    Kept kept;
    kept.again();
    std::filesystem::create_directory(kept.state() + ".new"); // in the way of the new file
    std::array<std::byte, 4> list{std::byte{1}};
    kept.bench->memory.poke(Bench::buffer, list);
    CHECK(kept.admin(AdminOpcode::namespace_attachment, 2, 1) == Status::internal_error);
    CHECK(kept.admin(AdminOpcode::namespace_management, 2, 1) == Status::internal_error);
    CHECK(kept.admin(AdminOpcode::format_nvm, 2, 1) == Status::internal_error);
    CHECK(kept.admin(AdminOpcode::sanitize, 0, 2) == Status::internal_error);
    CHECK(kept.admin(AdminOpcode::set_features, 2, 0x84, 1) == Status::internal_error);
    CHECK(kept.first_byte(2, 1) == 1);
    CHECK(kept.write(2, 1, 2) == Status::success);
    std::filesystem::remove(kept.state() + ".new");
    CHECK(kept.admin(AdminOpcode::format_nvm, 2, 1) == Status::success);
}
