#include "model/tlm/pcie_protocol.h"

#include <catch2/catch_test_macros.hpp>

namespace {
template <class Initiator, class Target>
concept CanBind = requires(Initiator& initiator, Target& target) { initiator.bind(target); };
using BaseInitiator = tlm::tlm_initiator_socket<model::tlm::pcie_bus_width>;
using BaseTarget = tlm::tlm_target_socket<model::tlm::pcie_bus_width>;
} // namespace

TEST_CASE("a socket of the base protocol and one of PCIe do not bind", "[module][tlm]") {
    STATIC_REQUIRE(CanBind<BaseInitiator, BaseTarget>);
    STATIC_REQUIRE(CanBind<model::tlm::PcieInitiatorSocket, model::tlm::PcieTargetSocket>);

    STATIC_REQUIRE_FALSE(CanBind<BaseInitiator, model::tlm::PcieTargetSocket>);
    STATIC_REQUIRE_FALSE(CanBind<model::tlm::PcieInitiatorSocket, BaseTarget>);
}
