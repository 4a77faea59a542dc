#include "sw/mlx/verbs_face.h"

#include "sw/mlx/verbs.h"

#include <bit>
#include <utility>

namespace sw::mlx {
namespace {

class Region final : public verbs::MemoryRegion {
public:
    explicit Region(mlx::MemoryRegion&& region)
        : verbs::MemoryRegion(region.lkey(), region.rkey(), region.iova()), region_(std::move(region)) {}

private:
    mlx::MemoryRegion region_;
};

Result<std::unique_ptr<verbs::MemoryRegion>> behind_face(Result<mlx::MemoryRegion> region) {
    if (!region)
        return std::unexpected(std::move(region.error()));
    return std::make_unique<Region>(std::move(*region));
}

RegionOptions options_of(const verbs::RegionOptions& options) {
    return {.access = options.access, .log_page_size = options.log_page_size};
}

ConnectOptions options_of(const verbs::ConnectOptions& options) {
    return {.path_mtu = static_cast<abi::prm::Mtu>(std::countr_zero(options.mtu_bytes) - 7),
            .access = options.access,
            .reads = options.reads,
            .min_rnr_timer = options.min_rnr_timer,
            .ack_timeout = options.ack_timeout,
            .retry_count = options.retry_count,
            .rnr_retry = options.rnr_retry};
}

class Face final : public verbs::Context {
public:
    explicit Face(std::unique_ptr<mlx::Context> context) : context_(std::move(context)) {
        const auto& capabilities = context_->device().capabilities();
        capabilities_ = {.model = "connectx",
                         .has_atomics = capabilities.has_atomics(),
                         .has_inline = true,
                         .has_blue_flame = capabilities.get<"bf">() != 0,
                         .has_dmabuf = true,
                         .max_message = std::uint64_t{1} << capabilities.get<"log_max_msg">()};
    }

    const verbs::Capabilities& capabilities() const override { return capabilities_; }
    transport::Transport& transport() override { return context_->transport(); }
    Result<AddressPath> open_port(const Gid& gid) override { return context_->open_port(gid); }
    Result<abi::Pd> alloc_pd() override { return context_->alloc_pd(); }
    Result<std::unique_ptr<verbs::MemoryRegion>> reg_mr(abi::Pd pd, const transport::DmaMemory& memory,
                                                        std::uint64_t offset, std::uint64_t length,
                                                        const verbs::RegionOptions& options) override {
        return behind_face(context_->reg_mr(pd, memory, offset, length, options_of(options)));
    }
    Result<std::unique_ptr<verbs::MemoryRegion>> reg_dmabuf_mr(abi::Pd pd, memory::DmaBufHandle handle,
                                                               std::uint64_t offset, std::uint64_t length,
                                                               const verbs::RegionOptions& options) override {
        return behind_face(context_->reg_vram_mr(pd, std::move(handle), offset, length, options_of(options)));
    }
    Result<verbs::DoorbellPage*> alloc_doorbell_page() override { return context_->alloc_uar(); }
    Result<std::unique_ptr<verbs::CompletionQueue>> create_cq(std::uint32_t entries) override {
        return context_->create_cq({.entries = entries});
    }
    Result<std::unique_ptr<verbs::QueuePair>> create_qp(const verbs::QpOptions& options) override {
        return context_->create_qp(
            {.pd = options.pd,
             .send_cq = static_cast<CompletionQueue*>(options.send_cq),
             .receive_cq = static_cast<CompletionQueue*>(options.receive_cq),
             .max_send = options.max_send,
             .max_receive = options.max_receive,
             .max_inline = options.max_inline,
             .doorbell = options.doorbell_page != nullptr ? DoorbellStyle::blueflame : DoorbellStyle::one_store,
             .uar = static_cast<Uar*>(options.doorbell_page)});
    }
    std::uint8_t reads_answered(const verbs::ConnectOptions& options) const override {
        return context_->reads_answered(options_of(options));
    }
    Result<void> connect(verbs::QueuePair& qp, const Peer& peer, abi::Psn own_psn,
                         const verbs::ConnectOptions& options) override {
        return context_->connect(static_cast<QueuePair&>(qp), peer, own_psn, options_of(options));
    }

private:
    std::unique_ptr<mlx::Context> context_;
    verbs::Capabilities capabilities_;
};

} // namespace

Result<std::unique_ptr<verbs::Context>> open_verbs(transport::Transport& transport, DeviceOptions options) {
    auto context = mlx::Context::open(transport, options);
    if (!context)
        return std::unexpected(std::move(context.error()));
    return std::make_unique<Face>(std::move(*context));
}

} // namespace sw::mlx
