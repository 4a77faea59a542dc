// "Nothing is advertised that is not built", walked in both directions: every advertised field names what builds it,
// every command that the capabilities promise is executed, and every other command is refused as unknown.
#include "testbench/conformance/capability_map.h"
#include "testbench/conformance/deviations.h"
#include "abi/prm/paging.h"
#include "testbench/harness/command_bench.h"
#include "testbench/harness/source_tree.h"

#include "abi/prm/access_register.h"
#include "abi/prm/adapter.h"
#include "abi/prm/lag.h"
#include "abi/prm/q_counter.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <filesystem>
#include <set>
#include <string>

using namespace harness;
using prm::Opcode;
using prm::Status;

namespace {

/// Names of the fields that are not zero.
template <class L> void collect(std::span<const std::byte> page, std::set<std::string>& names) {
    L::for_each([&]<class Row>(std::type_identity<Row>) {
        if constexpr (requires { Row::template get<L::endian>(page.data()); })
            if (Row::template get<L::endian>(page.data()) != typename Row::type{})
                names.emplace(Row::name.view());
    });
}

std::set<std::string> advertised() {
    std::set<std::string> names;
    for (const bool is_ethernet : {true, false}) {
        model::hca::HcaConfig config;
        config.is_ethernet = is_ethernet;
        config.blue_flame = true; // what a configuration may leave out is built, too
        const firmware::Capabilities capabilities(config);
        const auto page = [&](prm::CapabilityType type) {
            return capabilities.page(type, prm::CapabilityMode::maximum);
        };
        collect<prm::CmdHcaCap>(page(prm::CapabilityType::general), names);
        collect<prm::AtomicCaps>(page(prm::CapabilityType::atomic), names);
        collect<prm::OdpCap>(page(prm::CapabilityType::odp), names);
        if (is_ethernet)
            collect<prm::RoceCap>(page(prm::CapabilityType::roce), names);
    }
    return names;
}

model::hca::HcaConfig port(bool is_ethernet) {
    auto config = untimed();
    config.is_ethernet = is_ethernet;
    return config;
}

/// Executes every command once with success: bring-up, objects of each kind, the port, and the way back.
void tour(CommandBench& b, bool is_ethernet) {
    const auto ok = [](const auto& out) {
        INFO(out.refusal());
        CHECK(out.is_ok());
    };
    REQUIRE(b.enable());
    ok(b.run<prm::QueryIssiOut>(Input<prm::QueryIssiIn>(Opcode::query_issi)));
    ok(b.run<prm::SetIssiOut>(Input<prm::SetIssiIn>(Opcode::set_issi).set<"current_issi">(1u)));
    REQUIRE(b.give(0x40000000, b.missing(prm::PageQuery::boot)));
    Input<prm::AccessRegIn> endianness(Opcode::access_reg);
    endianness.set<"register_id">(0x7004u).add(0).add(0);
    ok(b.run<prm::AccessRegOut>(endianness, 32));
    const auto cap = b.run<prm::QueryHcaCapOut>(Input<prm::QueryHcaCapIn>(Opcode::query_hca_cap, 1));
    ok(cap);
    Input<prm::SetHcaCapIn> set(Opcode::set_hca_cap);
    std::ranges::copy(std::span(cap.bytes).subspan(16), set.bytes.begin() + 16);
    ok(b.run<prm::SetHcaCapOut>(set));
    REQUIRE(b.give(0x50000000, b.missing(prm::PageQuery::init)));
    ok(b.run<prm::InitHcaOut>(Input<prm::InitHcaIn>(Opcode::init_hca)));
    ok(b.run<prm::QueryAdapterOut>(Input<prm::QueryAdapterIn>(Opcode::query_adapter)));
    ok(b.run<prm::QuerySpecialContextsOut>(Input<prm::QuerySpecialContextsIn>(Opcode::query_special_contexts)));
    ok(b.run<prm::QueryLagOut>(Input<prm::QueryLagIn>(Opcode::query_lag)));

    if (is_ethernet) {
        REQUIRE(b.set_gid());
        ok(b.run<prm::QueryRoceAddressOut>(Input<prm::QueryRoceAddressIn>(Opcode::query_roce_address)));
        ok(b.run<prm::QueryNicVportContextOut>(Input<prm::QueryNicVportContextIn>(Opcode::query_nic_vport_context)));
        Input<prm::ModifyNicVportContextIn> roce(Opcode::modify_nic_vport_context);
        roce.view().sub<"field_select">().set<"roce_en">(1);
        roce.view().sub<"nic_vport_context">().set<"roce_en">(1);
        ok(b.run<prm::ModifyNicVportContextOut>(roce));
    } else {
        ok(b.run<prm::QueryHcaVportContextOut>(Input<prm::QueryHcaVportContextIn>(Opcode::query_hca_vport_context)));
        ok(b.run<prm::ModifyHcaVportContextOut>(Input<prm::ModifyHcaVportContextIn>(Opcode::modify_hca_vport_context)));
        ok(b.run<prm::QueryHcaVportGidOut>(Input<prm::QueryHcaVportGidIn>(Opcode::query_hca_vport_gid), 32));
        ok(b.run<prm::MadIfcOut>(
            CommandBench::mad_input(abi::wire::MadMethod::get, abi::wire::SmAttribute::node_info)));
        ok(b.run<prm::QueryHcaVportPkeyOut>(Input<prm::QueryHcaVportPkeyIn>(Opcode::query_hca_vport_pkey), 20));
    }
    ok(b.run<prm::QueryVportCounterOut>(Input<prm::QueryVportCounterIn>(Opcode::query_vport_counter)));
    ok(b.run<prm::QueryVportStateOut>(Input<prm::QueryVportStateIn>(Opcode::query_vport_state)));

    const auto o = b.make_objects();
    const auto domain =
        b.run<prm::AllocTransportDomainOut>(Input<prm::AllocTransportDomainIn>(Opcode::alloc_transport_domain));
    ok(domain);
    const auto counters = b.run<prm::AllocQCounterOut>(Input<prm::AllocQCounterIn>(Opcode::alloc_q_counter));
    ok(counters);
    const auto key = b.run<prm::CreateMkeyOut>(CommandBench::mkey_input(o.pd, 0x1000, 0x1000, 1));
    ok(key);
    auto resume = Input<prm::PageFaultResumeIn>(Opcode::page_fault_resume);
    const auto waiting = b.make_qp(o);
    resume.view()
        .sub<"page_fault_info">()
        .sub<"trans_page_fault_info">()
        .set<"page_fault_type">(prm::PageFaultType::receive)
        .set<"wq_number">(waiting)
        .set<"fault_token">(waiting);
    ok(b.run<prm::PageFaultResumeOut>(resume));
    ok(b.run<prm::DestroyQpOut>(Input<prm::DestroyQpIn>(Opcode::destroy_qp).set<"qpn">(waiting)));
    const auto uid = b.create_uctx();
    const auto umem = b.run<prm::CreateUmemOut>(CommandBench::umem_input(uid, 0x60000000));
    ok(umem);
    ok(b.run<prm::DestroyUmemOut>(
        Input<prm::DestroyUmemIn>(Opcode::destroy_umem).by(uid).set<"umem_id">(umem.get<"umem_id">())));
    ok(b.run<prm::DestroyUctxOut>(Input<prm::DestroyUctxIn>(Opcode::destroy_uctx).set<"uid">(uid)));
    const auto xrcd = b.alloc_xrcd();
    const auto rmpn = b.run<prm::CreateRmpOut>(CommandBench::rmp_input(o.pd)).get<"rmpn">();
    const auto srqn = b.run<prm::CreateXrcSrqOut>(CommandBench::xrc_srq_input(o.pd, o.cqn, xrcd)).get<"xrc_srqn">();
    ok(b.run<prm::QueryRmpOut>(Input<prm::QueryRmpIn>(Opcode::query_rmp).set<"rmpn">(rmpn)));
    ok(b.run<prm::ModifyRmpOut>(
        Input<prm::ModifyRmpIn>(Opcode::modify_rmp).set<"rmpn">(rmpn).set<"rmp_state">(prm::RmpState::ready)));
    ok(b.run<prm::QueryXrcSrqOut>(Input<prm::QueryXrcSrqIn>(Opcode::query_xrc_srq).set<"xrc_srqn">(srqn)));
    ok(b.run<prm::ArmXrcSrqOut>(Input<prm::ArmXrcSrqIn>(Opcode::arm_xrc_srq).set<"xrc_srqn">(srqn)));
    ok(b.run<prm::DestroyRmpOut>(Input<prm::DestroyRmpIn>(Opcode::destroy_rmp).set<"rmpn">(rmpn)));
    ok(b.run<prm::DestroyXrcSrqOut>(Input<prm::DestroyXrcSrqIn>(Opcode::destroy_xrc_srq).set<"xrc_srqn">(srqn)));
    ok(b.run<prm::DeallocXrcdOut>(Input<prm::DeallocXrcdIn>(Opcode::dealloc_xrcd).set<"xrcd">(xrcd)));
    auto datagrams = CommandBench::qp_input(o.pd, o.uar, o.cqn);
    datagrams.view().sub<"qpc">().set<"st">(prm::QpType::ud);
    constexpr std::array<std::byte, 16> group{std::byte{0xff}};
    const auto member = b.run<prm::CreateQpOut>(datagrams).get<"qpn">();
    ok(b.run<prm::AttachToMcgOut>(
        Input<prm::AttachToMcgIn>(Opcode::attach_to_mcg).set<"qpn">(member).set<"multicast_gid">(group)));
    ok(b.run<prm::DetachFromMcgOut>(
        Input<prm::DetachFromMcgIn>(Opcode::detach_from_mcg).set<"qpn">(member).set<"multicast_gid">(group)));
    ok(b.run<prm::DestroyQpOut>(Input<prm::DestroyQpIn>(Opcode::destroy_qp).set<"qpn">(member)));
    const auto qpn = b.make_qp(o);
    for (const auto opcode :
         {Opcode::rst2init_qp, Opcode::init2init_qp, Opcode::init2rtr_qp, Opcode::rtr2rts_qp, Opcode::rts2rts_qp})
        ok(b.transit(opcode, qpn));
    for (const auto& [state, opcode] :
         {std::pair{prm::QpState::sqer, Opcode::sqerr2rts_qp}, {prm::QpState::sqd, Opcode::sqd2rts_qp}}) {
        b.hca.queue_pairs().find(qpn)->state = state; // an RC queue pair comes here by events only
        ok(b.transit(opcode, qpn));
    }
    ok(b.run<prm::QueryEqOut>(Input<prm::QueryEqIn>(Opcode::query_eq).set<"eq_number">(o.eqn)));
    ok(b.run<prm::QueryCqOut>(Input<prm::QueryCqIn>(Opcode::query_cq).set<"cqn">(o.cqn)));
    ok(b.run<prm::ModifyCqOut>(Input<prm::ModifyCqIn>(Opcode::modify_cq).set<"cqn">(o.cqn)));
    ok(b.run<prm::QueryMkeyOut>(
        Input<prm::QueryMkeyIn>(Opcode::query_mkey).set<"mkey_index">(key.get<"mkey_index">())));
    ok(b.run<prm::QueryQpOut>(Input<prm::QueryQpIn>(Opcode::query_qp).set<"qpn">(qpn)));
    ok(b.run<prm::QueryQCounterOut>(
        Input<prm::QueryQCounterIn>(Opcode::query_q_counter).set<"counter_set_id">(counters.get<"counter_set_id">())));

    ok(b.leave(Opcode::qp_2err, qpn));
    ok(b.leave(Opcode::qp_2rst, qpn));
    ok(b.run<prm::DestroyQpOut>(Input<prm::DestroyQpIn>(Opcode::destroy_qp).set<"qpn">(qpn)));
    ok(b.run<prm::DestroyMkeyOut>(
        Input<prm::DestroyMkeyIn>(Opcode::destroy_mkey).set<"mkey_index">(key.get<"mkey_index">())));
    ok(b.run<prm::DestroyCqOut>(Input<prm::DestroyCqIn>(Opcode::destroy_cq).set<"cqn">(o.cqn)));
    ok(b.run<prm::DestroyEqOut>(Input<prm::DestroyEqIn>(Opcode::destroy_eq).set<"eq_number">(o.eqn)));
    ok(b.run<prm::DeallocQCounterOut>(Input<prm::DeallocQCounterIn>(Opcode::dealloc_q_counter)
                                          .set<"counter_set_id">(counters.get<"counter_set_id">())));
    ok(b.run<prm::DeallocTransportDomainOut>(Input<prm::DeallocTransportDomainIn>(Opcode::dealloc_transport_domain)
                                                 .set<"transport_domain">(domain.get<"transport_domain">())));
    ok(b.run<prm::DeallocPdOut>(Input<prm::DeallocPdIn>(Opcode::dealloc_pd).set<"pd">(o.pd)));
    ok(b.run<prm::DeallocUarOut>(Input<prm::DeallocUarIn>(Opcode::dealloc_uar).set<"uar">(o.uar)));
    CHECK(b.device.state().pages.objects() == 0);
    ok(b.run<prm::TeardownHcaOut>(Input<prm::TeardownHcaIn>(Opcode::teardown_hca)));
    ok(b.run<prm::DisableHcaOut>(Input<prm::DisableHcaIn>(Opcode::disable_hca), 12));
}

} // namespace

TEST_CASE("every advertised capability names what builds it", "[conformance][coverage]") {
    std::set<std::string> named;
    for (const auto& row : conformance::built)
        named.emplace(row.field);

    CHECK(advertised() == named);
}

TEST_CASE("what builds a capability is still there", "[conformance][coverage]") {
    for (const auto& row : conformance::built) {
        INFO(row.field << " is built by " << row.by);
        CHECK(std::filesystem::exists(std::filesystem::path(testbench::source_tree()) / row.by));
    }
}

TEST_CASE("every command that the capabilities promise is executed", "[conformance][coverage]") {
    for (const bool is_ethernet : {true, false}) {
        CommandBench bench(port(is_ethernet));
        tour(bench, is_ethernet);

        std::set<std::string> done, promised;
        for (const auto& executed : bench.log.all<traces::CommandExecuted>())
            if (executed.status == 0)
                done.emplace(executed.command);
        for (const auto& command : firmware::commands())
            if (!command.advertised.is_on ||
                command.advertised.is_on(bench.device.state().capabilities.general_maximum()))
                promised.emplace(command.name());
        CHECK(done == promised);
    }
}

TEST_CASE("commands that are not built, or whose capability is off, are unknown", "[conformance][coverage]") {
    for (const bool is_ethernet : {true, false}) {
        CommandBench bench(port(is_ethernet));
        REQUIRE(bench.initialize());
        for (const auto& opcode : prm::named(std::type_identity<Opcode>{})) {
            const auto* command = firmware::find_command(opcode.value);
            if (command != nullptr && (!command->advertised.is_on ||
                                       command->advertised.is_on(bench.device.state().capabilities.general_maximum())))
                continue;
            INFO(opcode.text);
            CHECK(bench.run<prm::CommandOut>(Input<prm::SetHcaCapIn>(opcode.value), 0x1010).status() ==
                  Status::bad_operation);
        }
    }
}

TEST_CASE("every deviation that is refused is refused by a rule that exists", "[conformance][coverage]") {
    for (const auto& deviation : conformance::deviations) {
        INFO(deviation.what);
        CHECK((deviation.refusal.empty() || std::ranges::find(firmware::refusals(), deviation.refusal,
                                                              &firmware::Refusal::name) != firmware::refusals().end()));
        CHECK(!deviation.reason.empty());
    }
}
