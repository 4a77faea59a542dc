#include "sw/transport/vfio/address_space.h"

#include "sw/transport/vfio/iommufd.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <map>

namespace sw::transport::vfio {

namespace {

constexpr auto container_path = "/dev/vfio/vfio", iommufd_path = "/dev/iommu";

std::string group_path(const FunctionFiles& function) { return "/dev/vfio/" + function.group; }
std::string device_path(const FunctionFiles& function) { return "/dev/vfio/devices/" + function.device; }

Result<File> open_file(const std::string& path) {
    File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (file)
        return file;
    switch (errno) {
    case EBUSY: return failure(EBUSY, path + ": another program has it; end that program");
    case EACCES: return failure(EACCES, path + ": you may not open it; run as root, or let its owner be you");
    case ENOENT: return failure(ENOENT, path + ": is not there; modprobe vfio-pci");
    default: return system_failure(path);
    }
}

/// Why the kernel does not map memory, in words for each of its reasons.
std::unexpected<Error> map_failure(std::uint64_t iova, std::size_t size) {
    const int code = errno;
    const auto* advice = code == ENOMEM   ? "; too little memory may be locked: raise `ulimit -l`"
                         : code == EINVAL ? "; the IOMMU may translate fewer address bits than that"
                         : code == EFAULT ? "; it does not map this kind of memory (BARs of peers: only VFIO groups do)"
                                          : "";
    return failure(
        code, fmt::format("map {:#x} bytes for the device at {:#x}: {}{}", size, iova, std::strerror(code), advice));
}

// --- groups in a container ---

class Container final : public AddressSpace {
public:
    explicit Container(File file) : file_(std::move(file)) {}

    Result<File> open(const FunctionFiles& function) override {
        auto& group = groups_[function.group];
        if (!group)
            if (auto joined = join(function, group); !joined)
                return std::unexpected(joined.error());
        File device(::ioctl(group.number(), VFIO_GROUP_GET_DEVICE_FD, function.address.c_str()));
        if (!device)
            return system_failure(fmt::format("{}: get the function from {}", function.address, group_path(function)));
        return device;
    }

    Result<void> map(std::uint64_t iova, std::span<std::byte> memory) override {
        vfio_iommu_type1_dma_map request{};
        request.argsz = sizeof request;
        request.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
        request.vaddr = reinterpret_cast<std::uintptr_t>(memory.data());
        request.iova = iova;
        request.size = memory.size();
        if (::ioctl(file_.number(), VFIO_IOMMU_MAP_DMA, &request) != 0)
            return map_failure(iova, memory.size());
        return {};
    }

    void unmap(std::uint64_t iova, std::size_t size) override {
        vfio_iommu_type1_dma_unmap request{};
        request.argsz = sizeof request;
        request.iova = iova;
        request.size = size;
        (void)::ioctl(file_.number(), VFIO_IOMMU_UNMAP_DMA, &request);
    }

private:
    Result<void> join(const FunctionFiles& function, File& group) {
        auto opened = open_file(group_path(function));
        if (!opened)
            return std::unexpected(opened.error());
        vfio_group_status status{};
        status.argsz = sizeof status;
        if (::ioctl(opened->number(), VFIO_GROUP_GET_STATUS, &status) != 0)
            return system_failure(group_path(function) + ": ask for its state");
        if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0)
            return failure(
                EBUSY, fmt::format("{}: its IOMMU group {} has other functions, with drivers of the kernel; bind all "
                                   "of /sys/kernel/iommu_groups/{}/devices to vfio-pci",
                                   function.address, function.group, function.group));
        const int container = file_.number();
        if (::ioctl(opened->number(), VFIO_GROUP_SET_CONTAINER, &container) != 0)
            return system_failure(group_path(function) + ": join the address space");
        if (!has_iommu_ && ::ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) != 0)
            return system_failure(
                fmt::format("{}: choose the type 1 IOMMU (modprobe vfio_iommu_type1)", container_path));
        has_iommu_ = true;
        group = std::move(*opened);
        return {};
    }

    File file_;
    bool has_iommu_ = false;
    std::map<std::string, File> groups_;
};

// --- iommufd ---

class IommuFile final : public AddressSpace {
public:
    IommuFile(File file, std::uint32_t id) : file_(std::move(file)), id_(id) {}

    Result<File> open(const FunctionFiles& function) override {
        auto device = open_file(device_path(function));
        if (!device)
            return std::unexpected(device.error());
        uapi::BindIommufd bind;
        bind.iommufd = file_.number();
        if (::ioctl(device->number(), uapi::bind_iommufd, &bind) != 0)
            return system_failure(
                fmt::format("{}: bind {} to {}", function.address, device_path(function), iommufd_path));
        uapi::AttachIommufd attach;
        attach.id = id_;
        if (::ioctl(device->number(), uapi::attach_iommufd, &attach) != 0)
            return system_failure(fmt::format("{}: join the address space of {}", function.address, iommufd_path));
        return std::move(*device);
    }

    Result<void> map(std::uint64_t iova, std::span<std::byte> memory) override {
        uapi::IoasMap request;
        request.flags = uapi::IoasMap::fixed_iova | uapi::IoasMap::writable | uapi::IoasMap::readable;
        request.id = id_;
        request.memory = reinterpret_cast<std::uintptr_t>(memory.data());
        request.length = memory.size();
        request.iova = iova;
        if (::ioctl(file_.number(), uapi::ioas_map, &request) != 0)
            return map_failure(iova, memory.size());
        return {};
    }

    void unmap(std::uint64_t iova, std::size_t size) override {
        uapi::IoasUnmap request;
        request.id = id_;
        request.iova = iova;
        request.length = size;
        (void)::ioctl(file_.number(), uapi::ioas_unmap, &request);
    }

private:
    File file_;
    std::uint32_t id_;
};

Result<std::unique_ptr<AddressSpace>> create_container() {
    auto file = open_file(container_path);
    if (!file)
        return std::unexpected(file.error());
    if (::ioctl(file->number(), VFIO_GET_API_VERSION) != VFIO_API_VERSION)
        return failure(EPROTONOSUPPORT,
                       fmt::format("{}: another version of VFIO than {}", container_path, VFIO_API_VERSION));
    if (::ioctl(file->number(), VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) != 1)
        return failure(ENODEV, fmt::format("{}: no IOMMU of type 1; modprobe vfio_iommu_type1", container_path));
    return std::make_unique<Container>(std::move(*file));
}

Result<std::unique_ptr<AddressSpace>> create_iommu_file() {
    auto file = open_file(iommufd_path);
    if (!file)
        return std::unexpected(file.error());
    uapi::IoasAlloc request;
    if (::ioctl(file->number(), uapi::ioas_alloc, &request) != 0)
        return system_failure(fmt::format("{}: make an address space", iommufd_path));
    return std::make_unique<IommuFile>(std::move(*file), request.id);
}

} // namespace

Result<std::unique_ptr<AddressSpace>> AddressSpace::create(const FunctionFiles& function, Interface wanted) {
    const bool has_group = ::access(container_path, F_OK) == 0 && !function.group.empty() &&
                           ::access(group_path(function).c_str(), F_OK) == 0;
    const bool has_device = ::access(iommufd_path, F_OK) == 0 && !function.device.empty();
    switch (wanted) {
    case Interface::group: return create_container();
    case Interface::iommufd: return create_iommu_file();
    case Interface::any: break;
    }
    return has_group || !has_device ? create_container() : create_iommu_file();
}

} // namespace sw::transport::vfio
