#include "sw/simple/verbs_face.h"

#include "abi/wire/infiniband.h"
#include "sw/memory/umem.h"
#include "sw/simple/device.h"
#include "sw/simple/queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sw::simple {

using namespace abi::simple;

namespace {

constexpr memory::PageSizes page_sizes{.log_min = 12, .log_max = 30};

class Region final : public verbs::MemoryRegion {
public:
    Region(Device& device, std::uint32_t key, abi::Iova iova) : verbs::MemoryRegion(key, key, iova), device_(device) {}
    ~Region() override {
        abi::Block<OneNumber> arguments;
        arguments.view().set<"number">(lkey());
        (void)device_.run(Command::destroy_region, arguments);
    }

private:
    Device& device_;
};

class Face final : public verbs::Context {
public:
    explicit Face(std::unique_ptr<Device> device) : device_(std::move(device)) {
        capabilities_.max_message = std::uint64_t{1} << device_->registers().view().get<"log_message">();
    }

    const verbs::Capabilities& capabilities() const override { return capabilities_; }
    transport::Transport& transport() override { return device_->transport(); }
    Result<verbs::AddressPath> open_port(const verbs::Gid& gid) override;
    Result<abi::Pd> alloc_pd() override { return abi::Pd{next_pd_++}; }
    Result<std::unique_ptr<verbs::MemoryRegion>> reg_mr(abi::Pd pd, const transport::DmaMemory& memory,
                                                        std::uint64_t offset, std::uint64_t length,
                                                        const verbs::RegionOptions& options) override;
    Result<std::unique_ptr<verbs::MemoryRegion>> reg_dmabuf_mr(abi::Pd, memory::DmaBufHandle, std::uint64_t,
                                                               std::uint64_t, const verbs::RegionOptions&) override {
        return failure(EOPNOTSUPP, "register region: this device reaches memory of its host only");
    }
    Result<verbs::DoorbellPage*> alloc_doorbell_page() override {
        return failure(EOPNOTSUPP, "allocate doorbell page: this device has no doorbells with work requests");
    }
    Result<std::unique_ptr<verbs::CompletionQueue>> create_cq(std::uint32_t entries) override {
        return CompletionQueue::create(*device_, entries);
    }
    Result<std::unique_ptr<verbs::QueuePair>> create_qp(const verbs::QpOptions& options) override {
        return QueuePair::create(*device_, options);
    }
    std::uint8_t reads_answered(const verbs::ConnectOptions& options) const override {
        return std::min(options.reads, device_->registers().view().get<"reads">());
    }
    Result<void> connect(verbs::QueuePair& qp, const verbs::Peer& peer, abi::Psn own_psn,
                         const verbs::ConnectOptions& options) override;

private:
    std::unique_ptr<Device> device_;
    verbs::Capabilities capabilities_ = architecture;
    std::uint32_t next_pd_ = 1; ///< protection domains are numbers of the driver's
};

Result<verbs::AddressPath> Face::open_port(const verbs::Gid& gid) {
    const auto registers = device_->registers().view();
    verbs::AddressPath path{.is_ethernet = !registers.get<"is_infiniband">()};
    if (!path.is_ethernet) {
        path.remote_lid = registers.get<"lid">();
        return path;
    }
    device_->set_gid(gid);
    path.remote_gid = gid;
    path.remote_mac = registers.get<"mac">();
    return path;
}

Result<std::unique_ptr<verbs::MemoryRegion>> Face::reg_mr(abi::Pd pd, const transport::DmaMemory& memory,
                                                          std::uint64_t offset, std::uint64_t length,
                                                          const verbs::RegionOptions& options) {
    const auto umem = memory::Umem::from_host(memory, offset, length);
    if (!umem)
        return std::unexpected(umem.error());
    const abi::Iova iova{memory.bus + offset};
    const auto best = umem->best_page_size(iova, page_sizes);
    if (!best)
        return failure(EINVAL, "register region: no page size of the device describes this memory");
    const auto log_page_size = std::min(*best, std::max(options.log_page_size, page_sizes.log_min));
    const auto pages = umem->pages(log_page_size);
    const auto list = memory::Buffer::allocate(device_->transport(), pages.size() * sizeof(std::uint64_t));
    if (!list)
        return std::unexpected(list.error());
    for (std::size_t i = 0; i < pages.size(); ++i)
        abi::store<std::uint64_t, abi::Endian::little>(list->data() + i * sizeof(std::uint64_t), pages[i]);
    abi::Block<CreateRegion> arguments;
    arguments.view()
        .set<"iova">(iova.value)
        .set<"length">(length)
        .set<"page_list">(list->bus())
        .set<"pd">(pd.value)
        .set<"local_write">(has(options.access, verbs::Access::local_write))
        .set<"remote_write">(has(options.access, verbs::Access::remote_write))
        .set<"remote_read">(has(options.access, verbs::Access::remote_read))
        .set<"log_page_size">(log_page_size);
    const auto key = device_->run(Command::create_region, arguments);
    if (!key)
        return failure(key.error().code, "register region: " + key.error().what);
    return std::make_unique<Region>(*device_, *key, iova);
}

Result<void> Face::connect(verbs::QueuePair& qp, const verbs::Peer& peer, abi::Psn own_psn,
                           const verbs::ConnectOptions& options) {
    const auto reads = reads_answered(options);
    abi::Block<ConnectQp> arguments;
    arguments.view()
        .set<"qpn">(qp.number().value)
        .set<"remote_qpn">(peer.qpn.value)
        .set<"send_psn">(own_psn.value)
        .set<"receive_psn">(peer.psn.value)
        .set<"mtu">(abi::wire::mtu_code(options.mtu_bytes))
        .set<"service_level">(peer.path.service_level)
        .set<"hop_limit">(peer.path.hop_limit)
        .set<"traffic_class">(peer.path.traffic_class)
        .set<"remote_write">(has(options.access, verbs::Access::remote_write))
        .set<"remote_read">(has(options.access, verbs::Access::remote_read))
        .set<"reads_sent">(std::max<std::uint8_t>(1, std::min(peer.reads, reads)))
        .set<"reads_taken">(reads)
        .set<"ack_timeout">(options.ack_timeout)
        .set<"retry_count">(options.retry_count)
        .set<"rnr_retry">(options.rnr_retry)
        .set<"rnr_timer">(options.min_rnr_timer)
        .set<"remote_lid">(peer.path.remote_lid)
        .set<"udp_source_port">(peer.path.udp_source_port)
        .set<"remote_mac">(peer.path.remote_mac)
        .set<"remote_gid">(peer.path.remote_gid);
    if (const auto done = device_->run(Command::connect_qp, arguments); !done)
        return std::unexpected(done.error());
    return {};
}

} // namespace

Result<std::unique_ptr<verbs::Context>> open_verbs(transport::Transport& transport) {
    auto device = Device::open(transport);
    if (!device)
        return std::unexpected(std::move(device.error()));
    return std::make_unique<Face>(std::move(*device));
}

} // namespace sw::simple
