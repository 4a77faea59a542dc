"""Holds abi/iommu against the Intel IOMMU driver of Linux 6.12: registers, capability bits, table entries, descriptors,
fault records and fault reasons.

usage: vtd_layouts.py DUMP_PROGRAM SOURCE_DIR [--damage]

The driver describes most of them by macros and small functions that take a value apart or put one together. Those
expressions are evaluated here for single bits: the bits that have an effect are the field. What the driver does not use
has no witness but the specification and is listed below with that reason. --damage shifts one field and expects
failure.
"""
import json
import os
import re
import subprocess
import sys

ALL = (1 << 64) - 1


# Our fields and the driver's accessor macros of one argument: field -> macro. Same names (cap_NAME, ecap_NAME) need no
# row.
ACCESSORS = {
    "cap": {"nd": "cap_ndoms", "afl": "cap_afl", "rwbf": "cap_rwbf", "plmr": "cap_plmr", "phmr": "cap_phmr",
            "cm": "cap_caching_mode", "sagaw": "cap_sagaw", "mgaw": "cap_mgaw", "zlr": "cap_zlr",
            "fro": "cap_fault_reg_offset", "sslps": "cap_super_page_val", "psi": "cap_pgsel_inv",
            "nfr": "cap_num_fault_regs", "mamv": "cap_max_amask_val", "dwd": "cap_write_drain", "drd": "cap_read_drain",
            "fs1gp": "cap_fl1gp_support", "pi": "cap_pi_support", "fs5lp": "cap_fl5lp_support", "ecmds": "cap_ecmds",
            "esirtps": "cap_esirtps", "esrtps": "cap_esrtps"},
    "ecap": {"c": "ecap_coherent", "qi": "ecap_qis", "dt": "ecap_dev_iotlb_support", "ir": "ecap_ir_support",
             "eim": "ecap_eim_support", "pt": "ecap_pass_through", "sc": "ecap_sc_support", "iro": "ecap_iotlb_offset",
             "mhmv": "ecap_max_handle_mask", "mts": "ecap_mts", "nest": "ecap_nest", "prs": "ecap_prs",
             "ers": "ecap_ers",
             "srs": "ecap_srs", "nwfs": "ecap_nwfs", "eafs": "ecap_eafs", "pss": "ecap_pss", "pasid": "ecap_pasid",
             "dit": "ecap_dit", "pds": "ecap_pds", "smts": "ecap_smts", "vcs": None, "ssads": "ecap_slads",
             "ssts": "ecap_slts", "fsts": "ecap_flts", "smpwcs": "ecap_smpwc", "rps": "ecap_rps", "pms": "ecap_pms",
             "adms": None, "rprivs": None},
    "ver": {"min": "DMAR_VER_MINOR", "max": "DMAR_VER_MAJOR"},
    "iqercd": {"iqei": "DMAR_IQER_REG_IQEI", "itesid": "DMAR_IQER_REG_ITESID", "icesid": "DMAR_IQER_REG_ICESID"},
    "fsts": {"fri": "dma_fsts_fault_record_index"},
    # The driver reads the record by dwords: those at 8 and 12 begin at bits 64 and 96 (dmar_fault()).
    "frcd": {"sid": ("dma_frcd_source_id", 64), "pp": ("dma_frcd_pasid_present", 64),
             "fr": ("dma_frcd_fault_reason", 96),
             "pv": ("dma_frcd_pasid_value", 96), "t1": ("dma_frcd_type", 96), "fi": ("dma_frcd_page_addr", 0)},
}

# Constants that are the mask of a field, by field; a number is the shift of a dword within the structure.
MASKS = {
    "gcmd": {"te": "DMA_GCMD_TE", "srtp": "DMA_GCMD_SRTP", "sfl": "DMA_GCMD_SFL", "eafl": "DMA_GCMD_EAFL",
             "wbf": "DMA_GCMD_WBF", "qie": "DMA_GCMD_QIE", "sirtp": "DMA_GCMD_SIRTP", "ire": "DMA_GCMD_IRE",
             "cfi": "DMA_GCMD_CFI"},
    "gsts": {"tes": "DMA_GSTS_TES", "rtps": "DMA_GSTS_RTPS", "fls": "DMA_GSTS_FLS", "afls": "DMA_GSTS_AFLS",
             "wbfs": "DMA_GSTS_WBFS", "qies": "DMA_GSTS_QIES", "irtps": "DMA_GSTS_IRTPS", "ires": "DMA_GSTS_IRES",
             "cfis": "DMA_GSTS_CFIS"},
    "ccmd": {"icc": "DMA_CCMD_ICC", "cirg": "DMA_CCMD_DEVICE_INVL"},
    "iotlb": {"ivt": "DMA_TLB_IVT", "iirg": "DMA_TLB_PSI_FLUSH", "dw": "DMA_TLB_WRITE_DRAIN",
              "dr": "DMA_TLB_READ_DRAIN"},
    "iva": {"ih": "DMA_TLB_IH_NONLEAF"},
    "fsts": {"pfo": "DMA_FSTS_PFO", "ppf": "DMA_FSTS_PPF", "iqe": "DMA_FSTS_IQE", "ice": "DMA_FSTS_ICE",
             "ite": "DMA_FSTS_ITE", "pro": "DMA_FSTS_PRO"},
    "fectl": {"im": "DMA_FECTL_IM"},
    "frcd": {"f": ("DMA_FRCD_F", 96)},
    "prs": {"ppr": "DMA_PRS_PPR", "pro": "DMA_PRS_PRO"},
    "ss_entry": {"r": "DMA_PTE_READ", "w": "DMA_PTE_WRITE", "ps": "DMA_PTE_LARGE_PAGE", "snp": "DMA_PTE_SNP",
                 "d": "DMA_SL_PTE_DIRTY"},
    "fs_entry": {"p": "DMA_FL_PTE_PRESENT", "us": "DMA_FL_PTE_US", "a": "DMA_FL_PTE_ACCESS", "d": "DMA_FL_PTE_DIRTY"},
    "pasid_entry": {"p": "PASID_PTE_PRESENT", "fpd": "PASID_PTE_FPD"},
    "pasid_dir_entry": {"p": "PASID_PTE_PRESENT", "smptblptr": "PDE_PFN_MASK"},
    "inv_wait_dsc": {"sw": "QI_IWD_STATUS_WRITE", "fn": "QI_IWD_FENCE", "pd": "QI_IWD_PRQ_DRAIN"},
    "p_dev_tlb_inv_dsc": {"s": ("QI_DEV_EIOTLB_SIZE", 64)},
    "dev_tlb_inv_dsc": {"s": ("QI_DEV_IOTLB_SIZE", 64)},
    # A granularity with both bits set.
    "cc_inv_dsc": {"g": ("QI_CC_GRAN(DMA_CCMD_DEVICE_INVL)", 0)},
    "iotlb_inv_dsc": {"g": ("QI_IOTLB_GRAN(DMA_TLB_PSI_FLUSH)", 0)},
    "p_iotlb_inv_dsc": {"g": ("QI_EIOTLB_GRAN(QI_GRAN_PSI_PASID)", 0)},
    "pc_inv_dsc": {"g": ("QI_PC_GRAN(QI_PC_GLOBAL)", 0)},
}

# Macros that put a value where the field stands: field -> (macro, first bit of the 64-bit word it is written to).
BUILDERS = {
    "ccmd": {"did": ("DMA_CCMD_DID", 0), "sid": ("DMA_CCMD_SID", 0), "fm": ("DMA_CCMD_FM", 0)},
    "iotlb": {"did": ("DMA_TLB_DID", 0)},
    "cc_inv_dsc": {"did": ("QI_CC_DID", 0), "sid": ("QI_CC_SID", 0), "fm": ("QI_CC_FM", 0)},
    "iotlb_inv_dsc": {"did": ("QI_IOTLB_DID", 0), "dw": ("QI_IOTLB_DW", 0), "dr": ("QI_IOTLB_DR", 0),
                      "am": ("QI_IOTLB_AM", 64), "ih": ("QI_IOTLB_IH", 64), "addr": ("QI_IOTLB_ADDR", 64)},
    "dev_tlb_inv_dsc": {"sid": ("QI_DEV_IOTLB_SID", 0), "mip": ("QI_DEV_IOTLB_QDEP", 0),
                        "pfsid_low": ("QI_DEV_IOTLB_PFSID", 0), "addr": ("QI_DEV_IOTLB_ADDR", 64)},
    "inv_wait_dsc": {"stdata": ("QI_IWD_STATUS_DATA", 0)},
    "p_iotlb_inv_dsc": {"did": ("QI_EIOTLB_DID", 0), "pasid": ("QI_EIOTLB_PASID", 0), "am": ("QI_EIOTLB_AM", 64),
                        "ih": ("QI_EIOTLB_IH", 64), "addr": ("QI_EIOTLB_ADDR", 64)},
    "pc_inv_dsc": {"did": ("QI_PC_DID", 0), "pasid": ("QI_PC_PASID", 0)},
    "p_dev_tlb_inv_dsc": {"sid": ("QI_DEV_EIOTLB_SID", 0), "pasid": ("QI_DEV_EIOTLB_PASID", 0),
                          "mip": ("QI_DEV_EIOTLB_QDEP", 0), "pfsid_low": ("QI_DEV_EIOTLB_PFSID", 0),
                          "addr": ("QI_DEV_EIOTLB_ADDR", 64)},
    "page_grp_resp_dsc": {"pp": ("QI_PGRP_PASID_P", 0), "code": ("QI_PGRP_RESP_CODE", 0), "rid": ("QI_PGRP_DID", 0),
                          "pasid": ("QI_PGRP_PASID", 0), "lpig": ("QI_PGRP_LPIG", 64), "prgi": ("QI_PGRP_IDX", 64)},
    "sm_context_entry": {"pdts": ("context_pdts", 0)},
}

# Functions that set a field of a context (two words, lo and hi) or of a PASID entry (words by number).
SETTERS = {
    "context_entry": {"p": "context_set_present", "tt": "context_set_translation_type",
                      "ssptptr": "context_set_address_root", "aw": "context_set_address_width",
                      "did": "context_set_domain_id"},
    "sm_context_entry": {"p": "context_set_present", "paside": "context_set_pasid", "dte": "context_set_sm_dte",
                         "pre": "context_set_sm_pre", "rid_pasid": "context_set_sm_rid2pasid"},
    "pasid_entry": {"did": "pasid_set_domain_id", "ssptptr": "pasid_set_slptr", "aw": "pasid_set_address_width",
                    "pgtt": "pasid_set_translation_type", "ssade": "pasid_set_ssade", "sre": "pasid_set_sre",
                    "wpe": "pasid_set_wpe", "pwsnp": "pasid_set_page_snoop", "pgsnp": "pasid_set_pgsnp",
                    "fsptptr": "pasid_set_flptr", "fspm": "pasid_set_flpm", "eafe": "pasid_set_eafe"},
}

# Members of struct page_req_dsc, bit fields in the order of their bits.
PAGE_REQUEST = {"type": "type", "pp": "pasid_present", "rid": "rid", "pasid": "pasid", "exe": "exe_req",
                "priv": "pm_req", "rd": "rd_req", "wr": "wr_req", "lpig": "lpig", "prgi": "prg_index", "addr": "addr"}

# Registers that the driver names differently, and those it leaves to the generic event code or never touches.
REGISTER_NAMES = {"iqercd": "IQER"}
REGISTERS_WITHOUT = {
    "iectl": "Linux polls the wait descriptor's status", "iedata": "same", "ieaddr": "same", "ieuaddr": "same",
}

# Fault reasons: a word of the driver's text for our value.
REASONS = {
    "none": "Software", "root_not_present": "Present bit in root", "context_not_present": "Present bit in context",
    "context_invalid": "Invalid context entry", "beyond_width": "beyond MGAW", "no_write": "Write access is not set",
    "no_read": "Read access is not set", "paging_access": "Next page table ptr", "root_access": "Root table address",
    "context_access": "Context table ptr", "root_reserved": "reserved fields in RTP",
    "context_reserved": "reserved fields in CTP", "paging_reserved": "reserved fields in PTE",
    "blocked": "specifies blocking", "interrupt_range": None,  # newer than the driver's table
    "table_mode_invalid": "Invalid Root Table Address", "pasid_in_legacy_mode": "TTM 0 for request with PASID",
    "page_request_in_legacy_mode": "TTM 0 for page group", "sm_root_access": "access Root Entry",
    "sm_root_not_present": "Present bit in Root", "sm_root_reserved": "reserved field set in Root",
    "sm_context_access": "access Context Entry", "sm_context_not_present": "Present bit in Context",
    "sm_context_reserved": "reserved field set in the Context", "sm_context_invalid": "Invalid Context Entry",
    "device_tlb_disabled": "DTE field", "pasid_disabled": "PASID Enable field",
    "pasid_too_large": "larger than the max",
    "page_request_disabled": "PRE field", "rid_pasid_too_large": "RID_PASID field error",
    "pasid_directory_access": "access the PASID Directory", "pasid_directory_not_present": "Present bit in Directory",
    "pasid_directory_reserved": "reserved field set in PASID Directory", "pasid_access": "access PASID Table",
    "pasid_not_present": "Present bit in PASID Table", "pasid_reserved": "reserved field set in PASID Table",
    "pasid_invalid": "Invalid Scalable-Mode PASID Table", "execute_disabled": "ERE field",
    "supervisor_disabled": "SRE field", "first_stage_access": "access first-level paging entry",
    "first_stage_not_present": "Present bit in first-level",
    "first_stage_reserved": "reserved field set in first-level",
    "first_stage_root_access": "access FL-PML4", "second_stage_access": "access second-level",
    "second_stage_no_right": "Read/Write permission error in second-level",
    "second_stage_reserved": "reserved field set in second-level", "not_canonical": "not canonical",
    "no_user": "U/S set 0", "no_execute": "No execute permission", "beyond_host_width": "beyond the DMA hardware max",
    "sm_beyond_width": "Second-level entry address beyond", "sm_no_write": "No write permission",
    "sm_no_read": "No read permission", "sm_interrupt_range": "interrupt address",
}

failures = []


def fail(message):
    failures.append(message)
    print("FAILED:", message)


class Driver:
    """Macros, functions and tables of the driver's files."""

    def __init__(self, folder):
        def text(name):
            return open(os.path.join(folder, name), encoding="utf-8").read()

        self.dmar = text("dmar.c")
        self.text = "\n".join([text("iommu.h"), text("pasid.h")])
        self.all = self.text + "".join(text(n) for n in ("prq.c", "svm.c") if os.path.exists(os.path.join(folder, n)))
        code = re.sub(r"/\*.*?\*/", " ", self.text, flags=re.S).replace("\\\n", " ")
        self.macros = {}
        for m in re.finditer(r"^#define[ \t]+(\w+)(?:\((\w+)\))?[ \t]+(.+)$", code, flags=re.M):
            self.macros.setdefault(m[1], (m[2], m[3].strip()))
        self.functions = {m[1]: (m[2], m[3]) for m in re.finditer(
            r"^(?:static inline )?void\s+(\w+)\(([^)]*)\)\s*\{(.*?)^\}", code, flags=re.M | re.S)}

    def value(self, expression, **names):
        """A C expression of unsigned 64-bit integers."""
        text = re.sub(r"\(\s*\(?(?:unsigned long|u64|u32|u16|u8)\s*\)\s*-1\s*\)", str(ALL), expression)
        text = re.sub(r"\(\s*(?:unsigned long|unsigned int|u64|u32|u16|u8)\s*\)", "", text)
        text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
        text = text.replace("PAGE_MASK", "(~0xfff)") if "VTD_" not in text else text
        scope = {"__builtins__": {}, "BIT_ULL": lambda n: 1 << n, "GENMASK_ULL": lambda h, l: (1 << h + 1) - (1 << l),
                 "FIELD_GET": lambda mask, v: (v & mask) // (mask & -mask), "PAGE_SHIFT": 12, **names}
        for name in set(re.findall(r"\b[A-Za-z_]\w*", text)) - set(scope):
            if name not in self.macros:
                raise KeyError(f"{name} in {expression}")
            scope[name] = self.call(name)
        return eval(text, scope) & ALL

    def call(self, name):
        parameter, body = self.macros[name]
        if parameter is None:
            return self.value(body)
        return lambda argument: self.value(body, **{parameter: argument})

    def accessor(self, name):
        """Bits of the argument that change the result."""
        get, zero = self.call(name), self.call(name)(0)
        return {b for b in range(64) if get(1 << b) != zero}

    def setter(self, name):
        """The bits a function sets: its word, and the bits."""
        parameters, body = self.functions[name]
        value = parameters.split(",")[-1].split()[-1].strip("*")
        names = {value: ALL} if "," in parameters else {}
        m = re.search(r"pasid_set_bits\(&pe->val\[(\d)\],\s*((?:[^(),]|\([^()]*\))*),", body, flags=re.S)
        if m:
            return int(m[1]), self.value(m[2].strip())
        m = re.search(r"context->(lo|hi)\s*\|=\s*([^;]*);", body)
        if m:
            return int(m[1] == "hi"), self.value(m[2], **names)
        m = re.search(r"READ_ONCE\(context->lo\) \| ([^;]*);", body)
        return 0, self.value(m[1])

    def bit_fields(self, name):
        """Member -> bits, of a structure whose members are bit fields of u64."""
        body = re.search(rf"struct {name} \{{(.*?)^\}};", self.all, flags=re.M | re.S)[1]
        out, at = {}, 0
        for member, width in re.findall(r"u64 (\w+):(\d+);", body):
            out[member] = set(range(at, at + int(width)))
            at += int(width)
        return out

    def reasons(self):
        """Value -> text."""
        out = {}
        for array, first in (("dma_remap_fault_reasons", 0), ("dma_remap_sm_fault_reasons", 0x30)):
            body = re.search(array + r"\[\]\s*=\s*\{(.*?)\};", self.dmar, flags=re.S)[1]
            for i, text in enumerate(re.findall(r'"([^"]*)"', body)):
                if text != "Unknown":
                    out[first + i] = text
        return out


def bits(field):
    return set(range(field[1], field[0] + 1))


def spread(mask, shift):
    return {b + shift for b in range(64) if mask >> b & 1}


def compare(what, field, theirs, name):
    if bits(field) != theirs:
        fail(f"{what} is bits {field[0]}:{field[1]}, Linux' {name} is {sorted(theirs)}")


def main():
    dump = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    damage = "--damage" in sys.argv
    if damage:
        dump["structures"]["context_entry"]["fields"]["did"] = [88, 73]
    folder = os.path.join(os.path.abspath(sys.argv[2]), ".deps/linux-iommu")
    if not os.path.exists(os.path.join(folder, "iommu.h")):
        sys.exit(f"FAILED: no {folder}: call `./dev test`, which takes drivers/iommu/intel out of Debian's "
                 "linux-source-6.12")
    driver = Driver(folder)
    seen = set()

    for structure, accessors in ACCESSORS.items():
        for field, name in accessors.items():
            if name is None:
                continue
            name, shift = name if isinstance(name, tuple) else (name, 0)
            compare(f"{structure}.{field}", dump["structures"][structure]["fields"][field],
                    {b + shift for b in driver.accessor(name)}, name)
            seen.add((structure, field))
    for structure, masks in MASKS.items():
        for field, name in masks.items():
            name, shift = name if isinstance(name, tuple) else (name, 0)
            compare(f"{structure}.{field}", dump["structures"][structure]["fields"][field],
                    spread(driver.value(name), shift), name)
            seen.add((structure, field))
    for structure, builders in BUILDERS.items():
        for field, (name, shift) in builders.items():
            ours = dump["structures"][structure]["fields"][field]
            width = ours[0] - ours[1] + 1
            # Addresses stand in place; of the others, the lowest and the highest bit. Many builders mask nothing.
            argument = ALL if field == "addr" else (1 << width - 1) | 1
            theirs = spread(driver.call(name)(argument), shift)
            expected = bits(ours) if field == "addr" else {ours[0], ours[1]}
            if theirs != expected:
                fail(f"{structure}.{field} is bits {ours[0]}:{ours[1]}, Linux' {name} sets {sorted(theirs)}")
            seen.add((structure, field))
    for structure, setters in SETTERS.items():
        for field, name in setters.items():
            word, mask = driver.setter(name)
            compare(f"{structure}.{field}", dump["structures"][structure]["fields"][field], spread(mask, 64 * word),
                    name)
            seen.add((structure, field))

    members = driver.bit_fields("page_req_dsc")
    for field, name in PAGE_REQUEST.items():
        compare(f"page_req_dsc.{field}", dump["structures"]["page_req_dsc"]["fields"][field], members[name], name)
        seen.add(("page_req_dsc", field))

    for name, value in dump["values"]["register"].items():
        theirs = f"DMAR_{REGISTER_NAMES.get(name, name.upper())}_REG"
        if name not in REGISTERS_WITHOUT and driver.value(theirs) != value:
            fail(f"register {name} stands at {value:#x}, Linux has {theirs} at {driver.value(theirs):#x}")
    types = {"context_cache": "CC", "iotlb": "IOTLB", "device_tlb": "DIOTLB", "interrupt_entry": "IEC", "wait": "IWD",
             "pasid_iotlb": "EIOTLB", "pasid_cache": "PC", "pasid_device_tlb": "DEIOTLB", "page_response": "PGRP_RESP"}
    for name, value in dump["values"]["descriptor"].items():
        if driver.value(f"QI_{types[name]}_TYPE") != value:
            fail(f"descriptor {name} is {value}, Linux has {driver.value(f'QI_{types[name]}_TYPE')}")
    reasons = driver.reasons()
    for name, value in dump["values"]["fault_reason"].items():
        word = REASONS[name]
        if word is not None and word not in reasons.get(value, ""):
            fail(f"fault reason {name} is {value:#x}, which Linux calls: {reasons.get(value)}")

    fields = {(s, f) for s, d in dump["structures"].items() for f in d["fields"]}
    print(f"{len(seen)} of {len(fields)} fields, {len(dump['values']['register']) - len(REGISTERS_WITHOUT)} registers, "
          f"{len(REASONS) - 1} fault reasons are where Linux has them; the specification alone says where these are:")
    print("  " + " ".join(sorted(f"{s}.{f}" for s, f in fields - seen)))
    if damage:
        sys.exit(0 if len(failures) == 1 else "FAILED: the planted error was not the one finding")
    sys.exit(1 if failures else 0)


main()
