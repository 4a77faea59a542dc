// The commands: each handler decodes its input, calls one core, encodes its output (PRM "Commands", one file a
// chapter). What comes before (lengths, phase, capability) and after (status, syndrome, event) is
// firmware/command_table.
#pragma once

#include "abi/prm/access_register.h"
#include "abi/prm/adapter.h"
#include "abi/prm/capability.h"
#include "abi/prm/cq.h"
#include "abi/prm/eq.h"
#include "abi/prm/init_segment.h"
#include "abi/prm/lag.h"
#include "abi/prm/mkey.h"
#include "abi/prm/multicast.h"
#include "abi/prm/pages.h"
#include "abi/prm/paging.h"
#include "abi/prm/q_counter.h"
#include "abi/prm/qp.h"
#include "abi/prm/rmp.h"
#include "abi/prm/uar_pd.h"
#include "abi/prm/user_context.h"
#include "abi/prm/vport.h"
#include "abi/prm/xrc_srq.h"
#include "firmware/call.h"

namespace firmware::handlers {

template <class L> using In = abi::ConstView<L>;
template <class L> using Out = abi::View<L>;
namespace prm = abi::prm;

// lifecycle.cpp
Reply enable_hca(State&, const Call&, In<prm::EnableHcaIn>, Out<prm::EnableHcaOut>);
Reply disable_hca(State&, const Call&, In<prm::DisableHcaIn>, Out<prm::DisableHcaOut>);
Reply init_hca(State&, const Call&, In<prm::InitHcaIn>, Out<prm::InitHcaOut>);
Reply teardown_hca(State&, const Call&, In<prm::TeardownHcaIn>, Out<prm::TeardownHcaOut>);
Reply query_issi(State&, const Call&, In<prm::QueryIssiIn>, Out<prm::QueryIssiOut>);
Reply set_issi(State&, const Call&, In<prm::SetIssiIn>, Out<prm::SetIssiOut>);
// pages.cpp
Reply query_pages(State&, const Call&, In<prm::QueryPagesIn>, Out<prm::QueryPagesOut>);
Reply manage_pages(State&, const Call&, In<prm::ManagePagesIn>, Out<prm::ManagePagesOut>);
// capability.cpp
Reply query_hca_cap(State&, const Call&, In<prm::QueryHcaCapIn>, Out<prm::QueryHcaCapOut>);
Reply set_hca_cap(State&, const Call&, In<prm::SetHcaCapIn>, Out<prm::SetHcaCapOut>);
Reply query_adapter(State&, const Call&, In<prm::QueryAdapterIn>, Out<prm::QueryAdapterOut>);
Reply query_special_contexts(State&, const Call&, In<prm::QuerySpecialContextsIn>, Out<prm::QuerySpecialContextsOut>);
Reply query_lag(State&, const Call&, In<prm::QueryLagIn>, Out<prm::QueryLagOut>);
// access_register.cpp
Reply access_register(State&, const Call&, In<prm::AccessRegIn>, Out<prm::AccessRegOut>);
// uar_pd.cpp
Reply alloc_uar(State&, const Call&, In<prm::AllocUarIn>, Out<prm::AllocUarOut>);
Reply dealloc_uar(State&, const Call&, In<prm::DeallocUarIn>, Out<prm::DeallocUarOut>);
Reply alloc_pd(State&, const Call&, In<prm::AllocPdIn>, Out<prm::AllocPdOut>);
Reply dealloc_pd(State&, const Call&, In<prm::DeallocPdIn>, Out<prm::DeallocPdOut>);
Reply alloc_transport_domain(State&, const Call&, In<prm::AllocTransportDomainIn>, Out<prm::AllocTransportDomainOut>);
Reply dealloc_transport_domain(State&, const Call&, In<prm::DeallocTransportDomainIn>,
                               Out<prm::DeallocTransportDomainOut>);
Reply alloc_xrcd(State&, const Call&, In<prm::AllocXrcdIn>, Out<prm::AllocXrcdOut>);
Reply dealloc_xrcd(State&, const Call&, In<prm::DeallocXrcdIn>, Out<prm::DeallocXrcdOut>);
// paging.cpp
Reply page_fault_resume(State&, const Call&, In<prm::PageFaultResumeIn>, Out<prm::PageFaultResumeOut>);
// user_context.cpp
Reply create_uctx(State&, const Call&, In<prm::CreateUctxIn>, Out<prm::CreateUctxOut>);
Reply destroy_uctx(State&, const Call&, In<prm::DestroyUctxIn>, Out<prm::DestroyUctxOut>);
Reply create_umem(State&, const Call&, In<prm::CreateUmemIn>, Out<prm::CreateUmemOut>);
Reply destroy_umem(State&, const Call&, In<prm::DestroyUmemIn>, Out<prm::DestroyUmemOut>);
// multicast.cpp
Reply attach_to_mcg(State&, const Call&, In<prm::AttachToMcgIn>, Out<prm::AttachToMcgOut>);
Reply detach_from_mcg(State&, const Call&, In<prm::DetachFromMcgIn>, Out<prm::DetachFromMcgOut>);
// srq.cpp
Reply create_rmp(State&, const Call&, In<prm::CreateRmpIn>, Out<prm::CreateRmpOut>);
Reply destroy_rmp(State&, const Call&, In<prm::DestroyRmpIn>, Out<prm::DestroyRmpOut>);
Reply query_rmp(State&, const Call&, In<prm::QueryRmpIn>, Out<prm::QueryRmpOut>);
Reply modify_rmp(State&, const Call&, In<prm::ModifyRmpIn>, Out<prm::ModifyRmpOut>);
Reply create_xrc_srq(State&, const Call&, In<prm::CreateXrcSrqIn>, Out<prm::CreateXrcSrqOut>);
Reply destroy_xrc_srq(State&, const Call&, In<prm::DestroyXrcSrqIn>, Out<prm::DestroyXrcSrqOut>);
Reply query_xrc_srq(State&, const Call&, In<prm::QueryXrcSrqIn>, Out<prm::QueryXrcSrqOut>);
Reply arm_xrc_srq(State&, const Call&, In<prm::ArmXrcSrqIn>, Out<prm::ArmXrcSrqOut>);
// eq.cpp
Reply create_eq(State&, const Call&, In<prm::CreateEqIn>, Out<prm::CreateEqOut>);
Reply destroy_eq(State&, const Call&, In<prm::DestroyEqIn>, Out<prm::DestroyEqOut>);
Reply query_eq(State&, const Call&, In<prm::QueryEqIn>, Out<prm::QueryEqOut>);
// cq.cpp
Reply create_cq(State&, const Call&, In<prm::CreateCqIn>, Out<prm::CreateCqOut>);
Reply destroy_cq(State&, const Call&, In<prm::DestroyCqIn>, Out<prm::DestroyCqOut>);
Reply query_cq(State&, const Call&, In<prm::QueryCqIn>, Out<prm::QueryCqOut>);
Reply modify_cq(State&, const Call&, In<prm::ModifyCqIn>, Out<prm::ModifyCqOut>);
// mkey.cpp
Reply create_mkey(State&, const Call&, In<prm::CreateMkeyIn>, Out<prm::CreateMkeyOut>);
Reply destroy_mkey(State&, const Call&, In<prm::DestroyMkeyIn>, Out<prm::DestroyMkeyOut>);
Reply query_mkey(State&, const Call&, In<prm::QueryMkeyIn>, Out<prm::QueryMkeyOut>);
// qp.cpp
Reply create_qp(State&, const Call&, In<prm::CreateQpIn>, Out<prm::CreateQpOut>);
Reply destroy_qp(State&, const Call&, In<prm::DestroyQpIn>, Out<prm::DestroyQpOut>);
Reply query_qp(State&, const Call&, In<prm::QueryQpIn>, Out<prm::QueryQpOut>);
// qp_transition.cpp: all transitions that carry a context have one input layout, and all that do not another
Reply modify_qp(State&, const Call&, In<prm::Rst2initQpIn>, Out<prm::Rst2initQpOut>);
Reply leave_qp(State&, const Call&, In<prm::Qp2rstIn>, Out<prm::Qp2rstOut>);
// q_counter.cpp
Reply alloc_q_counter(State&, const Call&, In<prm::AllocQCounterIn>, Out<prm::AllocQCounterOut>);
Reply dealloc_q_counter(State&, const Call&, In<prm::DeallocQCounterIn>, Out<prm::DeallocQCounterOut>);
Reply query_q_counter(State&, const Call&, In<prm::QueryQCounterIn>, Out<prm::QueryQCounterOut>);
// vport.cpp
Reply query_hca_vport_context(State&, const Call&, In<prm::QueryHcaVportContextIn>, Out<prm::QueryHcaVportContextOut>);
Reply modify_hca_vport_context(State&, const Call&, In<prm::ModifyHcaVportContextIn>,
                               Out<prm::ModifyHcaVportContextOut>);
Reply query_hca_vport_gid(State&, const Call&, In<prm::QueryHcaVportGidIn>, Out<prm::QueryHcaVportGidOut>);
Reply query_hca_vport_pkey(State&, const Call&, In<prm::QueryHcaVportPkeyIn>, Out<prm::QueryHcaVportPkeyOut>);
Reply query_nic_vport_context(State&, const Call&, In<prm::QueryNicVportContextIn>, Out<prm::QueryNicVportContextOut>);
Reply modify_nic_vport_context(State&, const Call&, In<prm::ModifyNicVportContextIn>,
                               Out<prm::ModifyNicVportContextOut>);
Reply query_vport_counter(State&, const Call&, In<prm::QueryVportCounterIn>, Out<prm::QueryVportCounterOut>);
Reply query_vport_state(State&, const Call&, In<prm::QueryVportStateIn>, Out<prm::QueryVportStateOut>);
// mad_ifc.cpp
Reply mad_ifc(State&, const Call&, In<prm::MadIfcIn>, Out<prm::MadIfcOut>);
// roce_address.cpp
Reply set_roce_address(State&, const Call&, In<prm::SetRoceAddressIn>, Out<prm::SetRoceAddressOut>);
Reply query_roce_address(State&, const Call&, In<prm::QueryRoceAddressIn>, Out<prm::QueryRoceAddressOut>);

} // namespace firmware::handlers
