"""Who may include whom (CONVENTIONS "Where things go"). Includes are spelled from the root, so the first word is the
layer."""

import re

import tree

SYSTEMC = re.compile(r"^(systemc(\.h)?|tlm(\.h)?|sysc/.*|tlm_core/.*|tlm_utils/.*)$")
STANDARD = re.compile(r"^[a-z0-9_]+$|^[a-z]mmintrin\.h$")  # and the compiler's own: instructions of the processor
SHELL_NAME = r".*_module\.(h|cpp)"
SHELL = r"model/(.*_module\.(h|cpp)|tlm/.*)"
EVENTS = r"traces/(events|reason)\.h"
CORE = rf"(?!{SHELL}$)model/.*"
# Wires, buses and what stands at them besides the HCA know no HCA: it is one of many that will stand there.
NO_HCA = r"(?!model/hca/)"

# layer, its files, the project's headers it may include, SystemC?, third-party headers?  The first matching row counts.
LAYERS = [
    ("abi",         r"abi/.*",      [r"abi/.*"],                                             False, False),
    # What a driver's commands are, for all who look into recordings: what stands in the PRM, and no more.
    ("commands",    r"traces/commands/.*", [r"abi/.*", r"traces/commands/.*"],               False, False),
    # What judges a recording knows what passes a boundary, and no model: the rules are the specification's.
    ("monitor",     r"traces/monitor/.*", [r"abi/.*", r"traces/(codec|commands|monitor)/.*"],         False, True),
    # Who looks into traces stands on the codec; neither it nor the events know who looks.
    ("trace tool",  r"traces/tool/.*", [r"abi/.*", r"traces/(?!monitor/).*"],                 False, True),
    ("traces",      r"traces/.*",   [r"abi/.*", r"traces/(?!monitor/|tool/).*"],                      False, True),
    ("HCA model shell", rf"(?=model/hca/){SHELL}", [r"abi/.*", EVENTS, r"model/.*"],         True,  True),
    ("HCA model core", rf"(?=model/hca/){CORE}", [r"abi/.*", EVENTS, CORE],                  False, True),
    # What a drive keeps knows how blocks look, and not who has them.
    ("kept state",  r"model/nvme/(blocks|keep)/.*", [r"abi/.*", r"model/(memory|port)/.*",
     r"model/nvme/(blocks|data|keep|media)/.*"],                                         False, True),
    ("model shell", SHELL,          [r"abi/.*", EVENTS, rf"{NO_HCA}model/.*"],               True,  True),
    ("model core",  r"model/.*",    [r"abi/.*", EVENTS, rf"{NO_HCA}{CORE}"],                 False, True),
    ("firmware",    r"firmware/.*", [r"abi/.*", EVENTS, rf"(?=model/(hca|management|port|pcie)/){CORE}",
     r"firmware/.*"],                                                                    False, True),
    # A device on a platform is silicon with its image, behind ports: what makes it a card is the shell's.
    ("device",      rf"(?!{SHELL_NAME}$)platform/card/.*", [r"abi/.*", EVENTS, CORE, r"firmware/.*",
     rf"(?!{SHELL_NAME}$)platform/card/.*"],                                                        False, True),
    # A recorder stands at a device's ports, whatever holds them.
    ("recording",   r"platform/record/.*", [r"abi/.*", r"traces/.*", rf"{NO_HCA}{CORE}", r"platform/record/.*"],
     False, True),
    # So does what reads the recordings of others.
    ("importer",    r"platform/importer/.*", [r"abi/.*", r"traces/(?!monitor/|tool/).*", rf"{NO_HCA}{CORE}",
     r"platform/(record|importer)/.*"],                                                  False, True),
    # The in-process transport is a bridge's far end: it implements the interface that drivers see.
    ("in-process transport", r"platform/bridge/in_process\.(h|cpp)", [r"abi/.*", r"model/.*", r"platform/.*",
     r"sw/(transport/(transport|ownership_listener)|base/result)\.h"],                    True,  True),
    ("platform",    r"platform/.*", [r"abi/.*", r"traces/.*", r"model/.*", r"firmware/.*", r"platform/.*"], True, True),
    ("sw",          r"sw/.*",       [r"abi/.*", r"sw/.*"],                                   False, True),
    # Results and words that the parts of the program have in common, below all of them; studies, below the commands.
    ("results",     r"testbench/(program|result)/.*", [r"platform/.*", r"testbench/(program|result)/.*"], False, True),
    ("studies",     r"testbench/study/.*", [r"(?!testbench/hcasim/).*"],                     True,  True),
    ("testbench",   r"testbench/.*", [r".*"],                                                True,  True),
]
WORDS = {"abi", "traces", "model", "firmware", "platform", "sw", "testbench"}
# Names under which C++ would escape this and the other checks.
OTHER_NAMES = {".hpp", ".hh", ".hxx", ".cc", ".cxx", ".inc", ".ipp", ".tpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def check(root):
    findings = [f"{name}: C++ is in files named .h and .cpp" for name in tree.files(root, OTHER_NAMES)]
    for name in tree.files(root, {".h", ".cpp"}):
        row = next((row for row in LAYERS if re.fullmatch(row[1], name.as_posix())), None)
        if row is None:
            findings.append(f"{name}: belongs to no layer; the layers are {', '.join(sorted(WORDS))}")
            continue
        for number, line in tree.lines(root, name):
            found = INCLUDE.match(line)
            if found:
                fault = judge(row, found[1] == '"' or found[2].split("/")[0] in WORDS and "/" in found[2], found[2])
                if fault:
                    findings.append(f"{name}:{number}: {row[0]}: {fault}")
    return findings


def judge(row, is_ours, header):
    layer, _, allowed, systemc, third_party = row
    if is_ours:
        if header.split("/")[0] not in WORDS:
            return f'"{header}" is not spelled from the root'
        if not any(re.fullmatch(pattern, header) for pattern in allowed):
            return f'may not include "{header}"'
    elif SYSTEMC.match(header):
        if not systemc:
            return f"may not include SystemC's <{header}>"
    elif not third_party and not STANDARD.match(header):
        return f"may include the standard library only, not <{header}>"
    return None


def plant(name, header):
    return {name: f"#pragma once\n#include {header}\n"}


if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            (plant("abi/a.h", '"traces/events.h"'), "abi/a.h:2: abi: may not include"),
            (plant("abi/a.h", "<fmt/format.h>"), "standard library only"),
            (plant("traces/a.h", '"model/port/dma.h"'), "traces: may not include"),
            (plant("traces/monitor/a.h", '"model/port/dma.h"'), "monitor: may not include"),
            (plant("traces/monitor/a.h", '"traces/events.h"'), "monitor: may not include"),
            (plant("traces/commands/a.h", '"traces/monitor/monitor.h"'), "commands: may not include"),
            (plant("model/nvme/keep/a.h", '"model/nvme/space/namespace.h"'), "kept state: may not include"),
            (plant("testbench/result/a.h", '"testbench/hcasim/run.h"'), "results: may not include"),
            (plant("testbench/program/a.cpp", '"testbench/study/plan.h"'), "results: may not include"),
            (plant("testbench/study/a.cpp", '"testbench/hcasim/sweep.h"'), "studies: may not include"),
            (plant("traces/codec/a.h", '"traces/monitor/monitor.h"'), "traces: may not include"),
            (plant("traces/codec/a.h", '"traces/tool/walk.h"'), "traces: may not include"),
            (plant("traces/tool/a.h", '"platform/record/journal.h"'), "trace tool: may not include"),
            (plant("model/hca/a.h", "<systemc>"), "model core: may not include SystemC"),
            (plant("model/hca/a.h", "<tlm_utils/simple_target_socket.h>"), "SystemC"),
            (plant("model/hca/a.cpp", '"model/hca/a_module.h"'), "model core: may not include"),
            (plant("model/hca/a.cpp", '"model/tlm/sockets.h"'), "model core: may not include"),
            (plant("model/hca/a.cpp", '"traces/codec/pcapng.h"'), "model core: may not include"),
            (plant("model/hca/a.cpp", '"firmware/device.h"'), "model core: may not include"),
            (plant("model/hca/a.cpp", '"sw/base/result.h"'), "model core: may not include"),
            (plant("model/hca/a_module.cpp", '"firmware/device.h"'), "model shell: may not include"),
            (plant("model/wire/a.h", '"model/hca/config.h"'), "model core: may not include"),
            (plant("model/net/a.cpp", '"model/hca/address/identity.h"'), "model core: may not include"),
            (plant("model/net/a.cpp", "<systemc>"), "model core: may not include SystemC"),
            (plant("model/net/a_module.h", '"model/hca/hca.h"'), "model shell: may not include"),
            (plant("model/tlm/a.h", '"platform/host/memory.h"'), "model shell: may not include"),
            (plant("firmware/a.cpp", "<tlm.h>"), "firmware: may not include SystemC"),
            (plant("firmware/a.cpp", '"model/pcie/endpoint_module.h"'), "firmware: may not include"),
            (plant("firmware/a.cpp", '"model/gpu/vram.h"'), "firmware: may not include"),
            (plant("firmware/a.cpp", '"platform/card/card_module.h"'), "firmware: may not include"),
            (plant("platform/card/mlx5_device.h", "<systemc>"), "device: may not include SystemC"),
            (plant("platform/card/mlx5_device.cpp", '"model/net/link_module.h"'), "device: may not include"),
            (plant("platform/card/mlx5_device.cpp", '"platform/card/card_module.h"'), "device: may not include"),
            (plant("platform/record/a.cpp", "<systemc>"), "recording: may not include SystemC"),
            (plant("platform/record/a.cpp", '"platform/card/mlx5_device.h"'), "recording: may not include"),
            (plant("platform/importer/a.cpp", '"platform/card/mlx5_device.h"'), "importer: may not include"),
            (plant("platform/importer/a.cpp", '"traces/tool/show.h"'), "importer: may not include"),
            (plant("platform/a.cpp", '"sw/mlx/device/device.h"'), "platform: may not include"),
            (plant("platform/a.cpp", '"testbench/harness/cluster.h"'), "platform: may not include"),
            (plant("sw/mlx/a.cpp", '"model/hca/config.h"'), "sw: may not include"),
            (plant("sw/mlx/a.cpp", '"firmware/device.h"'), "sw: may not include"),
            (plant("sw/mlx/a.cpp", '"platform/host/memory.h"'), "sw: may not include"),
            (plant("sw/mlx/a.cpp", '"traces/events.h"'), "sw: may not include"),
            (plant("sw/mlx/a.cpp", "<systemc>"), "sw: may not include SystemC"),
            (plant("sw/mlx/a.cpp", "<model/hca/config.h>"), "sw: may not include"),
            (plant("sw/mlx/a.cpp", '"device.h"'), "not spelled from the root"),
            (plant("utils/a.h", "<vector>"), "belongs to no layer"),
            (plant("model/hca/a.hpp", '"firmware/device.h"'), "files named .h and .cpp"),
        ],
        clean={
            "abi/a.h": '#include "abi/layout.h"\n#include <cstdint>\n',
            "model/hca/a.cpp": '#include "model/hca/a.h"\n#include "model/pcie/function.h"\n'
                               '#include "traces/events.h"\n',
            "model/hca/a_module.h": '#include "model/hca/a.h"\n#include "model/tlm/sockets.h"\n#include <systemc>\n'
                                    '#include <tlm>\n',
            "model/net/a.cpp": '#include "model/net/a.h"\n#include "model/wire/builder.h"\n',
            "model/net/a_module.h": '#include "model/net/a.h"\n#include "model/tlm/kernel_clock.h"\n'
                                    '#include <systemc>\n',
            "model/pcie/tlm_header.h": '#include "abi/pcie/tlp.h"\n',
            "firmware/a.cpp": '#include "model/hca/tpt/translate.h"\n#include "model/management/route.h"\n'
                              '#include <fmt/format.h>\n',
            "platform/card/mlx5_device.cpp": '#include "firmware/device.h"\n#include "model/net/link.h"\n',
            "platform/record/a.cpp": '#include "model/wire/builder.h"\n#include "traces/codec/writer.h"\n',
            "platform/a.cpp": '#include "firmware/device.h"\n#include "model/pcie/link_module.h"\n'
                              '#include <boost/asio.hpp>\n',
            "sw/mlx/a.cpp": '#include "abi/prm/cqe.h"\n#include "sw/base/result.h"\n#include <linux/vfio.h>\n',
            "testbench/unit/a_test.cpp": '#include "sw/mlx/completion/cq.h"\n#include "model/hca/config.h"\n'
                                         '#include <systemc>\n',
        },
    )
