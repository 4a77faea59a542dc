// Writes every layout and every named enumeration of abi/prm as JSON to standard output: what prm_layouts.py holds
// against headers that we did not write. Bit numbers count from the structure's first bit, as its document counts.
#include "abi/print.h"
#include "abi/prm/access_register.h"
#include "abi/prm/adapter.h"
#include "abi/prm/capability.h"
#include "abi/prm/capability_general.h"
#include "abi/prm/command.h"
#include "abi/prm/cq.h"
#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/eq.h"
#include "abi/prm/eqe.h"
#include "abi/prm/init_segment.h"
#include "abi/prm/lag.h"
#include "abi/prm/mkey.h"
#include "abi/prm/multicast.h"
#include "abi/prm/opcodes.h"
#include "abi/prm/pages.h"
#include "abi/prm/paging.h"
#include "abi/prm/q_counter.h"
#include "abi/prm/qp.h"
#include "abi/prm/rmp.h"
#include "abi/prm/uar_pd.h"
#include "abi/prm/user_context.h"
#include "abi/prm/vport.h"
#include "abi/prm/wqe.h"
#include "abi/prm/xrc_srq.h"
#include "abi/wire/mad.h"

#include <cstdio>
#include <string>
#include <type_traits>

using namespace abi::prm;

namespace {

void layout(std::string& out, const abi::LayoutInfo& info) {
    out += out.back() == '[' ? "\n" : ",\n";
    out += R"({"name":")" + std::string(info.name) + R"(","size":)" + std::to_string(info.size) + R"(,"rows":[)";
    for (const auto& row : info.rows) {
        if (out.back() != '[')
            out += ',';
        out += R"({"name":")" + std::string(row.field.name) + R"(","bit":)" + std::to_string(first_bit(row.field)) +
               R"(,"width":)" + std::to_string(width_in_bits(row.field)) + R"(,"nested":)" +
               (row.nested ? '"' + std::string(row.nested->name) + '"' : "null") + "}";
    }
    out += "]}";
}
template <class... L> void layouts(std::string& out) { (layout(out, abi::layout_info<L>), ...); }

template <class E> void enumeration(std::string& out, const char* type) {
    out += out.back() == '{' ? "\n" : ",\n";
    out += '"' + std::string(type) + R"(":{)";
    for (const auto& row : named(std::type_identity<E>{})) {
        if (out.back() != '{')
            out += ',';
        out += '"' + std::string(row.id) + R"(":)" + std::to_string(static_cast<std::uint64_t>(row.value));
    }
    out += '}';
}

} // namespace

int main() {
    std::string out = R"({"layouts":[)";
    // clang-format off
    layouts<CommandIn, CommandOut, CommandQueueEntry, CommandMailbox>(out);
    layouts<HealthBuffer, InitialSegment, EnableHcaIn, EnableHcaOut, DisableHcaIn, DisableHcaOut, InitHcaIn,
            InitHcaOut, TeardownHcaIn, TeardownHcaOut, QueryIssiIn, QueryIssiOut, SetIssiIn, SetIssiOut,
            SetDriverVersionIn, SetDriverVersionOut>(out);
    layouts<QueryAdapterParamBlock, QueryAdapterIn, QueryAdapterOut, QuerySpecialContextsIn,
            QuerySpecialContextsOut, Lagc, QueryLagIn, QueryLagOut>(out);
    layouts<CmdHcaCap>(out);
    layouts<HcaCapUnion, QueryHcaCapIn, QueryHcaCapOut, SetHcaCapIn, SetHcaCapOut, CmdHcaCap2,
            PerProtocolNetworkingOffloadCaps, AtomicCaps, RoceCap, OdpPerTransportServiceCap, OdpSchemeCap,
            OdpCap>(out);
    layouts<QueryPagesIn, QueryPagesOut, ManagePagesIn, ManagePagesOut>(out);
    layouts<AllocUarIn, AllocUarOut, DeallocUarIn, DeallocUarOut, AllocPdIn, AllocPdOut, DeallocPdIn, DeallocPdOut,
            AllocTransportDomainIn, AllocTransportDomainOut, DeallocTransportDomainIn, DeallocTransportDomainOut,
            AllocXrcdIn, AllocXrcdOut, DeallocXrcdIn, DeallocXrcdOut>(out);
    layouts<Uctx, CreateUctxIn, CreateUctxOut, DestroyUctxIn, DestroyUctxOut, Umem, CreateUmemIn, CreateUmemOut,
            DestroyUmemIn,
            DestroyUmemOut>(out);
    layouts<Mkc, Mtt, Klm, RepeatBlock, RepeatEntry, CreateMkeyIn, CreateMkeyOut, QueryMkeyIn, QueryMkeyOut,
            DestroyMkeyIn,
            DestroyMkeyOut>(out);
    layouts<Eqc, CreateEqIn, CreateEqOut, DestroyEqIn, DestroyEqOut, QueryEqIn, QueryEqOut>(out);
    layouts<Wq, Rmpc, CreateRmpIn, CreateRmpOut, DestroyRmpIn, DestroyRmpOut, QueryRmpIn, QueryRmpOut, RmpBitmask,
            ModifyRmpIn, ModifyRmpOut>(out);
    layouts<XrcSrqc, CreateXrcSrqIn, CreateXrcSrqOut, DestroyXrcSrqIn, DestroyXrcSrqOut, QueryXrcSrqIn,
            QueryXrcSrqOut, ArmXrcSrqIn, ArmXrcSrqOut>(out);

    layouts<abi::wire::MadHeader, abi::wire::Smp, abi::wire::NodeInfo, abi::wire::PortInfo, abi::wire::ClassPortInfo,
            abi::wire::PortCounters,
            abi::wire::PortCountersExtended, abi::wire::Notice, abi::wire::BadManagementKeyNotice,
            abi::wire::BadKeyNotice>(out);
    layouts<Cqc, CreateCqIn, CreateCqOut, DestroyCqIn, DestroyCqOut, QueryCqIn, QueryCqOut, ModifyCqIn,
            ModifyCqOut>(out);
    layouts<Ads, Qpc, CreateQpIn, CreateQpOut, DestroyQpIn, DestroyQpOut, Rst2initQpIn, Rst2initQpOut, Init2initQpIn,
            Init2initQpOut, Init2rtrQpIn, Init2rtrQpOut, Rtr2rtsQpIn, Rtr2rtsQpOut, Rts2rtsQpIn, Rts2rtsQpOut,
            Sqerr2rtsQpIn, Sqerr2rtsQpOut, Sqd2rtsQpIn, Sqd2rtsQpOut, Qp2errIn, Qp2errOut, Qp2rstIn, Qp2rstOut,
            QueryQpIn, QueryQpOut>(out);
    layouts<HcaVportContext, MacAddress, NicVportContext, RoceAddrLayout, TrafficCounter, QueryHcaVportContextIn,
            QueryHcaVportContextOut, ModifyHcaVportContextIn, ModifyHcaVportContextOut, QueryHcaVportGidIn,
            QueryHcaVportGidOut, QueryHcaVportPkeyIn, QueryHcaVportPkeyOut, QueryNicVportContextIn,
            QueryNicVportContextOut, ModifyNicVportFieldSelect, ModifyNicVportContextIn, ModifyNicVportContextOut,
            QueryVportStateIn, QueryVportStateOut, QueryVportCounterIn, QueryVportCounterOut, SetRoceAddressIn,
            SetRoceAddressOut, QueryRoceAddressIn, QueryRoceAddressOut, MadIfcIn, MadIfcOut>(out);
    layouts<AttachToMcgIn, AttachToMcgOut, DetachFromMcgIn, DetachFromMcgOut>(out);
    layouts<AllocQCounterIn, AllocQCounterOut, DeallocQCounterIn, DeallocQCounterOut, QueryQCounterIn,
            QueryQCounterOut>(out);
    layouts<AccessRegIn, AccessRegOut, PtysReg, PmtuReg, PvlcReg, PaosReg, PpcntReg, IbPortCounters,
            IbExtendedPortCounters, PcapReg, RegisterHostEndianness>(out);
    layouts<CqDoorbell, EqDoorbell, SendDoorbell, QpDoorbellRecord, CqDoorbellRecord>(out);
    layouts<WqeCtrl, WqeRaddr, WqeAtomic, WqeData, WqeInline, WqeEth, WqeAv, WqeUmrCtrl, WqeXrc, WqeSrqNext>(out);
    layouts<Cqe64, ErrCqe>(out);
    layouts<Eqe, CompletionEventData, QueueEventData, CqErrorEventData, PortChangeEventData, CommandEventData,
            PageRequestEventData, WqePageFaultEventData, RdmaPageFaultEventData>(out);
    layouts<TransPageFaultInfo, PageFaultInfo, PageFaultResumeIn, PageFaultResumeOut>(out);
    // clang-format on
    out += "],\n\"enumerations\":{";
    enumeration<Opcode>(out, "Opcode");
    enumeration<Status>(out, "Status");
    enumeration<DeliveryStatus>(out, "DeliveryStatus");
    enumeration<NicInterface>(out, "NicInterface");
    enumeration<CapabilityType>(out, "CapabilityType");
    enumeration<AccessMode>(out, "AccessMode");
    enumeration<MkeyMask>(out, "MkeyMask");
    enumeration<QpState>(out, "QpState");
    enumeration<QpType>(out, "QpType");
    enumeration<Mtu>(out, "Mtu");
    enumeration<PortState>(out, "PortState");
    enumeration<PortPhysicalState>(out, "PortPhysicalState");
    enumeration<RegisterId>(out, "RegisterId");
    enumeration<Lanes>(out, "Lanes");
    enumeration<LaneSpeed>(out, "LaneSpeed");
    enumeration<EthernetMode>(out, "EthernetMode");
    enumeration<ExtendedEthernetMode>(out, "ExtendedEthernetMode");
    enumeration<WqeOpcode>(out, "WqeOpcode");
    enumeration<CqeOpcode>(out, "CqeOpcode");
    enumeration<CqeSyndrome>(out, "CqeSyndrome");
    enumeration<EventType>(out, "EventType");
    enumeration<PageFaultSubtype>(out, "PageFaultSubtype");
    enumeration<PageFaultType>(out, "PageFaultType");
    enumeration<PortChange>(out, "PortChange");
    out += "}}\n";
    std::fputs(out.c_str(), stdout);
}
