#include "platform/observe/files/output.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace platform::observe;
using namespace platform::observe::files;

namespace {

struct Folder {
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string operator/(std::string_view name) const { return (path / name).string(); }
    std::string read(std::string_view name) const {
        std::ostringstream text;
        text << std::ifstream(path / name, std::ios::binary).rdbuf();
        return text.str();
    }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
    }
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("hcasim_output_test.{}", getpid());
};

} // namespace

TEST_CASE("a file appears under its name when it is finished, and not before", "[unit][observe]") {
    const Folder folder;
    std::ofstream(folder / "r.json") << "old";
    auto output = Output::create(folder / "r.json").value();

    REQUIRE(output.write("new"));
    REQUIRE(output.flush());
    CHECK(folder.read("r.json") == "old");
    REQUIRE(output.finish());

    CHECK(folder.read("r.json") == "new");
    CHECK(folder.files() == 1);
}

TEST_CASE("a file that is not finished leaves what was there, and nothing beside it", "[unit][observe]") {
    const Folder folder;
    std::ofstream(folder / "r.json") << "old";

    {
        REQUIRE(Output::create(folder / "r.json").value().write("new"));
    }

    CHECK(folder.read("r.json") == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("a symbolic link stays one, also before its target is there", "[unit][observe]") {
    const Folder folder;
    std::filesystem::create_symlink("target", folder.path / "link");
    CHECK(place_of(folder / "link") == folder / "target");
    auto output = Output::create(folder / "link").value();
    REQUIRE((output.write("new") && output.finish()));

    CHECK(std::filesystem::is_symlink(folder.path / "link"));
    CHECK(folder.read("target") == "new");
}

TEST_CASE("a file keeps its rights", "[unit][observe]") {
    const Folder folder;
    std::ofstream(folder / "r.json") << "old";
    REQUIRE(chmod((folder / "r.json").c_str(), 0640) == 0);
    auto output = Output::create(folder / "r.json").value();
    REQUIRE(output.finish());

    struct stat status{};
    REQUIRE(stat((folder / "r.json").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("a file that may not be written is not replaced, though its folder would allow it", "[unit][observe]") {
    const Folder folder;
    std::ofstream(folder / "r.json") << "old";
    REQUIRE(chmod(folder.path.c_str(), 0777) == 0);
    REQUIRE(chmod((folder / "r.json").c_str(), 0444) == 0);
    const auto place = folder / "r.json";

    // In a process of its own: who may do everything first becomes somebody who may not.
    const auto child = fork();
    if (child == 0) {
        const bool is_nobody = geteuid() != 0 || setresuid(65534, 65534, 65534) == 0;
        _exit(!is_nobody ? 2 : Output::create(place).has_value() ? 1 : 0);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);

    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    CHECK(folder.read("r.json") == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("a device is written as it comes, and says at once when it is full", "[unit][observe]") {
    auto output = Output::create("/dev/full").value();
    unsigned heard = 0;
    output.on_failure([&](const std::string&) { ++heard; });

    output.write("x");
    CHECK_FALSE(output.flush());
    CHECK_FALSE(output.write("y"));

    CHECK(heard == 1);
    CHECK(output.finish().error() == "/dev/full: cannot be written: No space left on device");
    CHECK(Output::create("/nowhere/r.json").error() == "/nowhere/r.json: cannot be created: No such file or directory");
}

TEST_CASE("standard output is known by each of its names", "[unit][observe]") {
    const Folder folder;
    std::ofstream(folder / "out") << "";
    const int kept = dup(STDOUT_FILENO);
    REQUIRE(std::freopen((folder / "out").c_str(), "ab", stdout) != nullptr);
    const bool by_dash = is_standard_output("-"), by_device = is_standard_output("/dev/stdout"),
               by_file = is_standard_output(folder / "out"), by_other = is_standard_output("/dev/null");
    std::fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);

    CHECK((by_dash && by_device && by_file));
    CHECK_FALSE(by_other);
}
