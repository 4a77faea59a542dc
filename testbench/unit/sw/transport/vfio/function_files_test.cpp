#include "sw/transport/vfio/function_files.h"

#include <catch2/catch_test_macros.hpp>

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using sw::transport::vfio::find_function;

namespace {

/// A sysfs with one function, as vfio-pci has it.
struct Sysfs {
    fs::path root = fs::temp_directory_path() / ("hcasim-sysfs-" + std::to_string(::getpid()));
    fs::path function = root / "bus/pci/devices/0000:3b:00.0";

    Sysfs() {
        fs::remove_all(root);
        fs::create_directories(function / "vfio-dev/vfio3");
        link("driver", "../../../../bus/pci/drivers/vfio-pci");
        link("iommu_group", "../../../../kernel/iommu_groups/17");
        std::ofstream(function / "resource") << "0x000000383ffc000000 0x000000383ffdffffff 0x000000000014220c\n"
                                                "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
                                                "0x00000000fe000000 0x00000000fe000fff 0x0000000000040200\n"
                                                "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
                                                "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
                                                "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
                                                "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
    }
    ~Sysfs() { fs::remove_all(root); }
    void link(const char* name, const char* target) const {
        fs::remove(function / name);
        fs::create_symlink(target, function / name);
    }
    auto find() const { return find_function("0000:3b:00.0", root.string()); }
};

} // namespace

TEST_CASE("a function that vfio-pci has is found with its group, its device and its BARs", "[unit][transport]") {
    const Sysfs sysfs;
    const auto found = sysfs.find();
    REQUIRE(found);
    CHECK(found->driver == "vfio-pci");
    CHECK(found->group == "17");
    CHECK(found->device == "vfio3");
    CHECK(found->bars[0].begin == 0x383ffc000000);
    CHECK(found->bars[0].size == 0x200'0000);
    CHECK(found->bars[1].size == 0);
    CHECK(found->bars[2].begin == 0xfe00'0000);
    CHECK(found->bars[2].size == 0x1000);
}

TEST_CASE("an older kernel has no device for each function, and a group alone is enough", "[unit][transport]") {
    const Sysfs sysfs;
    fs::remove_all(sysfs.function / "vfio-dev");
    const auto found = sysfs.find();
    REQUIRE(found);
    CHECK(found->device.empty());
}

TEST_CASE("a function that cannot be opened is refused with the reason and what to do", "[unit][transport]") {
    const Sysfs sysfs;
    const auto missing = find_function("0000:00:00.0", sysfs.root.string());
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == ENODEV);
    CHECK(missing.error().what.starts_with("0000:00:00.0: there is no such PCI function"));

    sysfs.link("driver", "../../../../bus/pci/drivers/mlx5_core");
    const auto taken = sysfs.find();
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == EBUSY);
    CHECK(taken.error().what.find("the function has the driver mlx5_core; give it to vfio-pci") != std::string::npos);
    fs::remove(sysfs.function / "driver");
    CHECK(sysfs.find().error().what.find("the function has no driver") != std::string::npos);

    sysfs.link("driver", "../../../../bus/pci/drivers/vfio-pci");
    fs::remove(sysfs.function / "iommu_group");
    fs::remove_all(sysfs.function / "vfio-dev");
    const auto bare = sysfs.find();
    REQUIRE_FALSE(bare);
    CHECK(bare.error().what.find("behind no IOMMU") != std::string::npos);
}
