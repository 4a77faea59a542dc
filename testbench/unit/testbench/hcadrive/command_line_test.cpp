#include "testbench/hcadrive/command_line.h"
#include "testbench/hcadrive/functions.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <system_error>
#include <vector>

using namespace hcadrive;

namespace {

auto parse(std::vector<const char*> words) {
    words.insert(words.begin(), "hcadrive");
    return parse_command_line(static_cast<int>(words.size()), words.data());
}
std::string mistake(std::vector<const char*> words) {
    const auto parsed = parse(std::move(words));
    const auto* leave = std::get_if<Leave>(&parsed);
    return leave != nullptr && leave->code == 2 ? leave->text : "no mistake";
}

} // namespace

TEST_CASE("options of a drive go where they belong", "[unit][hcadrive]") {
    const auto parsed = parse({"a",      "--mtu",      "1024", "b",           "--qps",   "7",      "--message",
                               "65536",  "--depth",    "5",    "--payload",   "p",       "--json", "j",
                               "--ipv6", "--patience", "3",    "--interface", "iommufd", "c",      "d"});
    const auto* options = std::get_if<DriveOptions>(&parsed);
    REQUIRE(options != nullptr);
    CHECK(options->places == std::vector<std::string>{"a", "b", "c", "d"});
    CHECK(options->mtu_bytes == 1024);
    CHECK(options->queue_pairs == 7);
    CHECK(options->message_bytes == 65536);
    CHECK(options->queue_depth == 5);
    CHECK(options->payload == "p");
    CHECK(options->json == "j");
    CHECK(options->is_ipv6);
    CHECK(options->patience_seconds == 3);
    CHECK(options->interface == sw::transport::vfio::Interface::iommufd);
}

TEST_CASE("a mistake is one line that says what is possible", "[unit][hcadrive]") {
    CHECK(mistake({"x", "--mtu", "1000"}) ==
          "hcadrive: --mtu 1000: a power of two from 256 to 4096 is possible (see hcadrive --help)\n");
    CHECK(mistake({"x", "--qps", "1048577"}) ==
          "hcadrive: --qps 1048577: 1 to 1048576 is possible (see hcadrive --help)\n");
    CHECK(mistake({"x", "--qps", "-1"}).find("1 to 1048576") != std::string::npos);
    CHECK(mistake({"x", "--depth"}) == "hcadrive: --depth needs a value (see hcadrive --help)\n");
    CHECK(mistake({"x", "--interface", "ioctl"}) ==
          "hcadrive: --interface ioctl: group or iommufd is possible (see hcadrive --help)\n");
    CHECK(mistake({"x", "--frob"}) == "hcadrive: unknown option --frob (see hcadrive --help)\n");
    CHECK(mistake({}) == "hcadrive: no place of the cards is named (see hcadrive --help)\n");
}

TEST_CASE("a place is a socket or the address of a PCI function", "[unit][hcadrive]") {
    CHECK(is_pci_address("0000:3b:00.0"));
    CHECK(is_pci_address("10de:ff:1f.7"));
    for (const auto* other : {"3b:00.0", "0000:3b:00.8", "0000:3B:00.0", "0000:3b:00.0 ", "a.sock", ""})
        CHECK_FALSE(is_pci_address(other));
}

namespace {

/// A directory with these files, which goes with it.
class Directory {
public:
    explicit Directory(std::initializer_list<const char*> files) {
        auto form = (std::filesystem::temp_directory_path() / "hcadrive.XXXXXX").string();
        REQUIRE(mkdtemp(form.data()) != nullptr);
        path_ = form;
        for (const auto* file : files)
            std::ofstream(path_ / file).put('x');
    }
    ~Directory() {
        std::error_code error;
        std::filesystem::remove_all(path_, error);
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    std::string name() const { return path_.string(); }
    std::string of(const char* file) const { return (path_ / file).string(); }

private:
    std::filesystem::path path_;
};

} // namespace

TEST_CASE("the sockets of a directory are those of the cards of two machines", "[unit][hcadrive]") {
    const Directory empty({});
    const auto places = places_of({empty.name()});
    REQUIRE(places);
    CHECK((*places)[0] == empty.of("hostA.hca.sock"));
    CHECK((*places)[3] == empty.of("hostB.gpu.sock"));
    CHECK(places_of({"a", "b", "c", "d"}).value() == Places{"a", "b", "c", "d"});
    CHECK_FALSE(places_of({"a", "b", "c"}));
    CHECK_FALSE(places_of({"/nonexistent"}));
}

TEST_CASE("hosts that somebody has written have sockets by the names of their parts", "[unit][hcadrive]") {
    const Directory served({"A.hca0.sock", "A.gpu0.sock", "B.hca.sock", "B.gpu.sock"});
    CHECK(places_of({served.name()}).value() ==
          Places{served.of("A.hca0.sock"), served.of("A.gpu0.sock"), served.of("B.hca.sock"), served.of("B.gpu.sock")});
}

TEST_CASE("a server of another platform is told with the sockets that it has", "[unit][hcadrive]") {
    const Directory served({"A.hca.sock", "B.hca.sock"});
    const auto places = places_of({served.name()});
    REQUIRE_FALSE(places);
    CHECK(places.error().what.find("has no hostA.gpu.sock; its sockets are A.hca.sock B.hca.sock") !=
          std::string::npos);
}
