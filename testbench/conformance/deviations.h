// Where the device departs from the specification, as data: what is asked for, what we do instead, why. A row whose
// `refusal` is not empty is refused with that row of firmware/refusal.h; the others are accepted and have less effect.
#pragma once

#include <array>
#include <string_view>

namespace conformance {

struct Deviation {
    std::string_view chapter, what, instead, reason, refusal;
};

inline constexpr std::array deviations{
    Deviation{"Command interface", "several commands execute at a time", "slots execute one after the other",
              "order of effects is then the order of doorbells, which makes runs comparable", ""},
    Deviation{"Firmware pages", "the firmware keeps its contexts in the pages", "pages are counted, never touched",
              "the model's objects live in the simulator", ""},
    Deviation{"Firmware pages", "a command waits inside the device for pages it asked for",
              "it is refused and the pages are asked for",
              "one command processor: waiting would stop the command that brings the pages", "resources.no_pages"},
    Deviation{"HCA capabilities", "one page per function, also for others", "one function", "no virtual functions yet",
              "query_hca_cap.function"},
    Deviation{"Memory key", "software ICM, device memory and keys of other functions", "PA, MTT, KLM and KSM",
              "their capabilities are not advertised", "create_mkey.access_mode"},
    Deviation{"UMR", "the vendor syndromes say nothing that a document explains", "0x80 and the number of the rule",
              "whoever reads them here can look the rule up in hca/umr", ""},
    Deviation{"Memory key", "entities of less than 4 KiB and more than 2 GiB", "log_page_size 12 to 31",
              "general capabilities 2 advertise the wider range; they are not advertised", "create_mkey.page_size"},
    Deviation{"Special contexts", "a reserved L_Key that queue pairs with rlky may use",
              "resd_lkey reads 0; rlky has no effect", "drivers since Linux 4 use the protection domain's own key", ""},
    Deviation{"PortInfo", "Set(PortPhysicalState) puts a port to sleep", "bad value (MAD status 7)",
              "nobody wakes it: link states below LinkUp take no time here", ""},
    Deviation{"PortInfo", "Set(LinkWidthEnabled, LinkSpeedEnabled) has a link train with less",
              "accepted; the link keeps what its cable has, and says so", "the rate of a cable is configuration", ""},
    Deviation{"SwitchInfo", "a packet is discarded when it was in the switch for LifeTimeValue",
              "the value is kept; HOQLife alone ends a packet's life",
              "what waits is at the head of its queue sooner or later, and too old there", ""},
    Deviation{"Notices and traps",
              "a switch tells its manager of links that change and of wrong M_Keys (traps 128, 256)",
              "PortStateChange and M_KeyViolations say so to who asks", "opensm sweeps", ""},
    Deviation{"Ports and registers", "a link trains for milliseconds", "it is up at once",
              "nothing happens meanwhile that a driver could see", ""},
    Deviation{"Queue pair context", "raw Ethernet, dynamically connected and other services", "refused",
              "not built yet, not advertised", "create_qp.service"},
    Deviation{"Queue pair context", "receive queues with tag matching", "refused", "not built yet, not advertised",
              "create_qp.rq_type"},
    Deviation{"QP state transitions", "alternate paths and automatic migration", "pm_state is kept, nothing migrates",
              "apm is not advertised", "modify_qp.opt_param_mask"},
    Deviation{"QP state transitions", "RoCE queue pairs need roce_en in the NIC vport context",
              "roce_en is kept, nothing depends on it",
              "fl_rc_qp_when_roce_disabled is a matter of the stock driver's order", ""},
    Deviation{"RoCE address table", "RoCE v1 entries", "refused", "the wire builds RoCE v2; roce_version says so",
              "set_roce_address.version"},
    Deviation{"RoCE address table", "entries with a VLAN", "refused", "the wire builds no VLAN tag",
              "set_roce_address.vlan"},
    Deviation{"Vendor-specific capability", "the CR space is all registers of the device, and can be written",
              "the initialization segment and the number of the silicon, read only", "the model has no others", ""},
    Deviation{"PCIe access control", "a completion finds its own way at every switch",
              "at the switch that redirected its request", "a root port has one switch below it", ""},
    Deviation{"PCIe device control", "without Extended Tag Field Enable a function has 32 requests under way at most",
              "pcie.device.tags, whatever the bit says", "no driver clears it to have fewer", ""},
    Deviation{"PCIe error signaling", "who sees an error sends a message up, and SERR# notes that it has",
              "the status registers of who saw it say so, and no message is sent",
              "no root port raises an interrupt for it", ""},
    Deviation{"PCIe address translation", "an access waits for the page that its function asks for",
              "it ends with Unsupported Request; page requests are calls of their own",
              "an access is a call that returns with its result", ""},
    Deviation{"VT-d device-TLB invalidation", "a device that does not answer is given up after a while", "at once",
              "nothing could come later", ""},
};

} // namespace conformance
