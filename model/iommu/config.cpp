#include "model/iommu/config.h"

namespace model::iommu {

using namespace abi::iommu;

Version version() { return Version{}.set<"max">(6).set<"min">(0); }

Capability capability(const IommuConfig& config) {
    Capability cap;
    cap.set<"nd">((config.domain_bits - 4) / 2);
    cap.set<"cm">(config.caching_mode);
    cap.set<"sagaw">(unsigned{config.three_levels} << 1 | unsigned{config.four_levels} << 2 |
                     unsigned{config.five_levels} << 3);
    cap.set<"mgaw">(config.guest_address_bits - 1);
    cap.set<"zlr">(config.zero_length_read);
    cap.set<"fro">(fault_record_offset / register_offset_unit);
    cap.set<"sslps">(unsigned{config.pages_2m} | unsigned{config.pages_1g} << 1);
    cap.set<"psi">(config.page_selective);
    cap.set<"nfr">(config.fault_records - 1);
    cap.set<"mamv">(config.page_selective ? config.max_address_mask : 0);
    // An invalidation takes effect between two requests; what requests before it have under way is drained
    // (invalidation_queue).
    cap.set<"dwd">(true).set<"drd">(true);
    cap.set<"fs1gp">(config.scalable_mode && config.first_stage && config.pages_1g);
    cap.set<"fs5lp">(config.scalable_mode && config.first_stage && config.five_levels);
    return cap;
}

ExtendedCapability extended_capability(const IommuConfig& config) {
    ExtendedCapability ecap;
    ecap.set<"c">(true).set<"qi">(true);
    ecap.set<"pt">(config.pass_through);
    ecap.set<"sc">(config.snoop_control);
    ecap.set<"iro">(iotlb_offset / register_offset_unit);
    ecap.set<"dt">(config.device_tlb).set<"nwfs">(config.device_tlb);
    if (!config.scalable_mode)
        return ecap;
    ecap.set<"smts">(true).set<"ssts">(true).set<"rps">(true);
    ecap.set<"pasid">(true).set<"pss">(pasid_bits - 1);
    ecap.set<"fsts">(config.first_stage).set<"srs">(config.first_stage);
    const bool has_page_requests = config.page_requests && config.device_tlb;
    ecap.set<"prs">(has_page_requests).set<"pds">(has_page_requests);
    return ecap;
}

bool has_levels(const IommuConfig& config, unsigned levels) {
    return (levels == 3 && config.three_levels) || (levels == 4 && config.four_levels) ||
           (levels == 5 && config.five_levels);
}

} // namespace model::iommu
