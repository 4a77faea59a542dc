#include "sw/transport/vfio/function_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace sw::transport::vfio {

namespace fs = std::filesystem;

namespace {

/// The last part of where a link leads; empty when there is no link.
std::string target_of(const fs::path& link) {
    std::error_code error;
    return fs::read_symlink(link, error).filename().string();
}

} // namespace

Result<FunctionFiles> find_function(const std::string& address, const std::string& root) {
    const auto path = fs::path(root) / "bus/pci/devices" / address;
    std::error_code error;
    if (!fs::is_directory(path, error))
        return failure(ENODEV, fmt::format("{}: there is no such PCI function; `lspci -D` lists them", address));
    FunctionFiles found;
    found.address = address;
    found.driver = target_of(path / "driver");
    found.group = target_of(path / "iommu_group");
    for (fs::directory_iterator at(path / "vfio-dev", error), end; !error && at != end; at.increment(error))
        found.device = at->path().filename().string();
    if (found.driver.find("vfio") == std::string::npos)
        return failure(EBUSY,
                       fmt::format("{}: the function has {}; give it to vfio-pci: modprobe vfio-pci; echo vfio-pci > "
                                   "{}/driver_override; echo {} > {}/driver/unbind; echo {} > {}/bus/pci/drivers_probe",
                                   address, found.driver.empty() ? "no driver" : "the driver " + found.driver,
                                   path.string(), address, path.string(), address, root));
    if (found.group.empty() && found.device.empty())
        return failure(
            ENODEV,
            fmt::format("{}: the function is behind no IOMMU; boot with one switched on (intel_iommu=on)", address));
    // Lines of begin, end, flags; the upper half of a 64-bit BAR has a line of zeroes.
    std::ifstream resource(path / "resource");
    for (auto& bar : found.bars) {
        std::uint64_t begin = 0, end = 0, flags = 0;
        if (!(resource >> std::hex >> begin >> end >> flags))
            break;
        bar = {begin, end > begin ? end - begin + 1 : 0};
    }
    return found;
}

} // namespace sw::transport::vfio
