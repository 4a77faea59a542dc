// PRM "Page fault": PAGE_FAULT_RESUME.
#include "firmware/handlers/handlers.h"

namespace firmware::handlers {

Reply page_fault_resume(State& state, const Call& call, In<prm::PageFaultResumeIn> in, Out<prm::PageFaultResumeOut>) {
    const auto info = in.sub<"page_fault_info">().sub<"trans_page_fault_info">();
    const auto type = info.get<"page_fault_type">();
    if (prm::name(type).empty())
        return refuse("page_fault_resume.type");
    auto* qp = call.scope.find<Kind::qp>(info.get<"fault_token">());
    if (qp == nullptr)
        return refuse("page_fault_resume.token");
    const auto queue = type == prm::PageFaultType::shared_receive ? qp->paging.shared_queue : qp->number.value;
    if (info.get<"wq_number">() != queue)
        return refuse("page_fault_resume.queue");
    state.hca.resume(*qp, type, info.get<"error">() != 0, call.at);
    return accepted;
}

} // namespace firmware::handlers
