// Which layouts a command has. Their names are those of the opcode with "_in" and "_out".
#include "traces/tool/commands.h"

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

#include <string>
#include <unordered_map>

namespace traces::tool {

using namespace abi::prm;

namespace {

template <class... L> std::unordered_map<std::string_view, const abi::LayoutInfo*> by_name() {
    return {{abi::layout_info<L>.name, &abi::layout_info<L>}...};
}

const auto& command_layouts() {
    static const auto all = by_name<
        AccessRegIn, AccessRegOut, QueryAdapterIn, QueryAdapterOut, QuerySpecialContextsIn, QuerySpecialContextsOut,
        QueryHcaCapIn, QueryHcaCapOut, SetHcaCapIn, SetHcaCapOut, CreateCqIn, CreateCqOut, DestroyCqIn, DestroyCqOut,
        QueryCqIn, QueryCqOut, ModifyCqIn, ModifyCqOut, CreateEqIn, CreateEqOut, DestroyEqIn, DestroyEqOut, QueryEqIn,
        QueryEqOut, EnableHcaIn, EnableHcaOut, DisableHcaIn, DisableHcaOut, InitHcaIn, InitHcaOut, TeardownHcaIn,
        TeardownHcaOut, QueryIssiIn, QueryIssiOut, SetIssiIn, SetIssiOut, SetDriverVersionIn, SetDriverVersionOut,
        QueryLagIn, QueryLagOut, CreateMkeyIn, CreateMkeyOut, QueryMkeyIn, QueryMkeyOut, DestroyMkeyIn, DestroyMkeyOut,
        AttachToMcgIn, AttachToMcgOut, DetachFromMcgIn, DetachFromMcgOut, QueryPagesIn, QueryPagesOut, ManagePagesIn,
        ManagePagesOut, PageFaultResumeIn, PageFaultResumeOut, AllocQCounterIn, AllocQCounterOut, DeallocQCounterIn,
        DeallocQCounterOut, QueryQCounterIn, QueryQCounterOut, CreateQpIn, CreateQpOut, DestroyQpIn, DestroyQpOut,
        Rst2initQpIn, Rst2initQpOut, Init2initQpIn, Init2initQpOut, Init2rtrQpIn, Init2rtrQpOut, Rtr2rtsQpIn,
        Rtr2rtsQpOut, Rts2rtsQpIn, Rts2rtsQpOut, Sqerr2rtsQpIn, Sqerr2rtsQpOut, Sqd2rtsQpIn, Sqd2rtsQpOut, Qp2errIn,
        Qp2errOut, Qp2rstIn, Qp2rstOut, QueryQpIn, QueryQpOut, CreateRmpIn, CreateRmpOut, DestroyRmpIn, DestroyRmpOut,
        QueryRmpIn, QueryRmpOut, ModifyRmpIn, ModifyRmpOut, AllocUarIn, AllocUarOut, DeallocUarIn, DeallocUarOut,
        AllocPdIn, AllocPdOut, DeallocPdIn, DeallocPdOut, AllocTransportDomainIn, AllocTransportDomainOut,
        DeallocTransportDomainIn, DeallocTransportDomainOut, AllocXrcdIn, AllocXrcdOut, DeallocXrcdIn, DeallocXrcdOut,
        CreateUctxIn, CreateUctxOut, DestroyUctxIn, DestroyUctxOut, CreateUmemIn, CreateUmemOut, DestroyUmemIn,
        DestroyUmemOut, QueryHcaVportContextIn, QueryHcaVportContextOut, ModifyHcaVportContextIn,
        ModifyHcaVportContextOut, QueryHcaVportGidIn, QueryHcaVportGidOut, QueryHcaVportPkeyIn, QueryHcaVportPkeyOut,
        QueryNicVportContextIn, QueryNicVportContextOut, ModifyNicVportContextIn, ModifyNicVportContextOut,
        QueryVportStateIn, QueryVportStateOut, QueryVportCounterIn, QueryVportCounterOut, SetRoceAddressIn,
        SetRoceAddressOut, QueryRoceAddressIn, QueryRoceAddressOut, MadIfcIn, MadIfcOut, CreateXrcSrqIn,
        CreateXrcSrqOut, DestroyXrcSrqIn, DestroyXrcSrqOut, QueryXrcSrqIn, QueryXrcSrqOut, ArmXrcSrqIn, ArmXrcSrqOut>();
    return all;
}

} // namespace

CommandLayouts layouts_of(Opcode opcode) {
    static const auto by_opcode = [] {
        std::unordered_map<std::uint16_t, CommandLayouts> found;
        const auto find = [](const std::string& name) {
            const auto at = command_layouts().find(name);
            return at == command_layouts().end() ? nullptr : at->second;
        };
        for (const auto& row : named(std::type_identity<Opcode>{}))
            found[static_cast<std::uint16_t>(row.value)] = {find(std::string(row.id) + "_in"),
                                                            find(std::string(row.id) + "_out")};
        return found;
    }();
    const auto at = by_opcode.find(static_cast<std::uint16_t>(opcode));
    return at == by_opcode.end() ? CommandLayouts{} : at->second;
}

} // namespace traces::tool
