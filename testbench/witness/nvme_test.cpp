// abi/nvme against nvme/types.h of libnvme and linux/nvme_ioctl.h, which we did not write. Offsets of commands are
// those of the kernel's passthrough structure, which mirrors the entry but for bytes 16..39 (there: buffers of the
// program).
#include "abi/nvme/command.h"
#include "abi/nvme/completion.h"
#include "abi/nvme/feature.h"
#include "abi/nvme/identify.h"
#include "abi/nvme/log.h"
#include "abi/nvme/registers.h"

#include <catch2/catch_test_macros.hpp>

#include <linux/nvme_ioctl.h>
#include <nvme/types.h>

#include <cstddef>

using namespace abi::nvme;

namespace {
template <class L, abi::Name Row> constexpr std::size_t offset_of() { return L::template field<Row>::offset; }
template <class L, abi::Name Row> constexpr std::size_t bytes_of() { return L::template field<Row>::bytes; }
template <class L, abi::Name Row> constexpr std::size_t byte_of() {
    return L::template field<Row>::offset + L::template field<Row>::low / 8;
}
/// Lowest bit and mask of a row of a register of 32 or 64 bits that begins at byte `base`.
template <class L, abi::Name Row> constexpr bool stands(std::size_t base, unsigned shift, std::uint64_t mask) {
    using F = typename L::template field<Row>;
    return 8 * (F::offset - base) + F::low == shift && F::mask == mask;
}
} // namespace

#define SAME(L, K, field) STATIC_CHECK((offset_of<L, #field>() == offsetof(K, field)))
#define SAME_SIZE(L, K, field)                                                                                         \
    STATIC_CHECK((offset_of<L, #field>() == offsetof(K, field) && bytes_of<L, #field>() == sizeof(K::field)))

TEST_CASE("NVMe registers stand where libnvme has them", "[witness][nvme]") {
    using L = Registers;
    STATIC_CHECK(static_cast<int>(Register::cap) == NVME_REG_CAP);
    STATIC_CHECK(static_cast<int>(Register::vs) == NVME_REG_VS);
    STATIC_CHECK(static_cast<int>(Register::intms) == NVME_REG_INTMS);
    STATIC_CHECK(static_cast<int>(Register::intmc) == NVME_REG_INTMC);
    STATIC_CHECK(static_cast<int>(Register::cc) == NVME_REG_CC);
    STATIC_CHECK(static_cast<int>(Register::csts) == NVME_REG_CSTS);
    STATIC_CHECK(static_cast<int>(Register::nssr) == NVME_REG_NSSR);
    STATIC_CHECK(static_cast<int>(Register::aqa) == NVME_REG_AQA);
    STATIC_CHECK(static_cast<int>(Register::asq) == NVME_REG_ASQ);
    STATIC_CHECK(static_cast<int>(Register::acq) == NVME_REG_ACQ);
    STATIC_CHECK(static_cast<int>(Register::cmbloc) == NVME_REG_CMBLOC);
    STATIC_CHECK(static_cast<int>(Register::cmbsz) == NVME_REG_CMBSZ);
    STATIC_CHECK(static_cast<int>(Register::bpinfo) == NVME_REG_BPINFO);
    STATIC_CHECK(static_cast<int>(Register::bprsel) == NVME_REG_BPRSEL);
    STATIC_CHECK(static_cast<int>(Register::bpmbl) == NVME_REG_BPMBL);
    STATIC_CHECK(static_cast<int>(Register::cmbmsc) == NVME_REG_CMBMSC);
    STATIC_CHECK(static_cast<int>(Register::cmbsts) == NVME_REG_CMBSTS);
    STATIC_CHECK(static_cast<int>(Register::crto) == NVME_REG_CRTO);
    STATIC_CHECK(static_cast<int>(Register::pmrcap) == NVME_REG_PMRCAP);
    STATIC_CHECK(offset_of<L, "vs">() == NVME_REG_VS);
    STATIC_CHECK(offset_of<L, "cc">() == NVME_REG_CC);
    STATIC_CHECK(offset_of<L, "rdy">() == NVME_REG_CSTS);
    STATIC_CHECK(offset_of<L, "asqs">() == NVME_REG_AQA);
    STATIC_CHECK(offset_of<L, "asq">() == NVME_REG_ASQ);
    STATIC_CHECK(offset_of<L, "acq">() == NVME_REG_ACQ);
    STATIC_CHECK(offset_of<L, "crwmt">() == NVME_REG_CRTO);
    STATIC_CHECK(offset_of<L, "cba_high">() == NVME_REG_CMBMSC + 4);
}

TEST_CASE("fields of NVMe registers stand where libnvme has them", "[witness][nvme]") {
    using L = Registers;
    STATIC_CHECK(stands<L, "mqes">(NVME_REG_CAP, NVME_CAP_MQES_SHIFT, NVME_CAP_MQES_MASK));
    STATIC_CHECK(stands<L, "cqr">(NVME_REG_CAP, NVME_CAP_CQR_SHIFT, NVME_CAP_CQR_MASK));
    STATIC_CHECK(stands<L, "ams">(NVME_REG_CAP, NVME_CAP_AMS_SHIFT, NVME_CAP_AMS_MASK));
    STATIC_CHECK(stands<L, "to">(NVME_REG_CAP, NVME_CAP_TO_SHIFT, NVME_CAP_TO_MASK));
    STATIC_CHECK(stands<L, "dstrd">(NVME_REG_CAP, NVME_CAP_DSTRD_SHIFT, NVME_CAP_DSTRD_MASK));
    STATIC_CHECK(stands<L, "nssrs">(NVME_REG_CAP, NVME_CAP_NSSRC_SHIFT, NVME_CAP_NSSRC_MASK));
    STATIC_CHECK(stands<L, "css">(NVME_REG_CAP, NVME_CAP_CSS_SHIFT, NVME_CAP_CSS_MASK));
    STATIC_CHECK(stands<L, "bps">(NVME_REG_CAP, NVME_CAP_BPS_SHIFT, NVME_CAP_BPS_MASK));
    STATIC_CHECK(stands<L, "mpsmin">(NVME_REG_CAP, NVME_CAP_MPSMIN_SHIFT, NVME_CAP_MPSMIN_MASK));
    STATIC_CHECK(stands<L, "mpsmax">(NVME_REG_CAP, NVME_CAP_MPSMAX_SHIFT, NVME_CAP_MPSMAX_MASK));
    STATIC_CHECK(stands<L, "pmrs">(NVME_REG_CAP, NVME_CAP_PMRS_SHIFT, NVME_CAP_PMRS_MASK));
    STATIC_CHECK(stands<L, "cmbs">(NVME_REG_CAP, NVME_CAP_CMBS_SHIFT, NVME_CAP_CMBS_MASK));
    STATIC_CHECK(stands<L, "crwms">(NVME_REG_CAP, NVME_CAP_CRMS_SHIFT, 1));
    STATIC_CHECK(stands<L, "rdy">(NVME_REG_CSTS, NVME_CSTS_RDY_SHIFT, NVME_CSTS_RDY_MASK));
    STATIC_CHECK(stands<L, "cfs">(NVME_REG_CSTS, NVME_CSTS_CFS_SHIFT, NVME_CSTS_CFS_MASK));
    STATIC_CHECK(stands<L, "shst">(NVME_REG_CSTS, NVME_CSTS_SHST_SHIFT, NVME_CSTS_SHST_MASK));
    STATIC_CHECK(stands<L, "nssro">(NVME_REG_CSTS, NVME_CSTS_NSSRO_SHIFT, NVME_CSTS_NSSRO_MASK));
    STATIC_CHECK(stands<L, "pp">(NVME_REG_CSTS, NVME_CSTS_PP_SHIFT, NVME_CSTS_PP_MASK));
    STATIC_CHECK(stands<L, "asqs">(NVME_REG_AQA, NVME_AQA_ASQS_SHIFT, NVME_AQA_ASQS_MASK));
    STATIC_CHECK(stands<L, "acqs">(NVME_REG_AQA, NVME_AQA_ACQS_SHIFT, NVME_AQA_ACQS_MASK));
    STATIC_CHECK(stands<L, "bir">(NVME_REG_CMBLOC, NVME_CMBLOC_BIR_SHIFT, NVME_CMBLOC_BIR_MASK));
    STATIC_CHECK(stands<L, "ofst">(NVME_REG_CMBLOC, NVME_CMBLOC_OFST_SHIFT, NVME_CMBLOC_OFST_MASK));
    STATIC_CHECK(stands<L, "sqs">(NVME_REG_CMBSZ, NVME_CMBSZ_SQS_SHIFT, NVME_CMBSZ_SQS_MASK));
    STATIC_CHECK(stands<L, "cqs">(NVME_REG_CMBSZ, NVME_CMBSZ_CQS_SHIFT, NVME_CMBSZ_CQS_MASK));
    STATIC_CHECK(stands<L, "lists">(NVME_REG_CMBSZ, NVME_CMBSZ_LISTS_SHIFT, NVME_CMBSZ_LISTS_MASK));
    STATIC_CHECK(stands<L, "rds">(NVME_REG_CMBSZ, NVME_CMBSZ_RDS_SHIFT, NVME_CMBSZ_RDS_MASK));
    STATIC_CHECK(stands<L, "wds">(NVME_REG_CMBSZ, NVME_CMBSZ_WDS_SHIFT, NVME_CMBSZ_WDS_MASK));
    STATIC_CHECK(stands<L, "szu">(NVME_REG_CMBSZ, NVME_CMBSZ_SZU_SHIFT, NVME_CMBSZ_SZU_MASK));
    STATIC_CHECK(stands<L, "sz">(NVME_REG_CMBSZ, NVME_CMBSZ_SZ_SHIFT, NVME_CMBSZ_SZ_MASK));
    STATIC_CHECK(stands<L, "cre">(NVME_REG_CMBMSC, NVME_CMBMSC_CRE_SHIFT, NVME_CMBMSC_CRE_MASK));
    STATIC_CHECK(stands<L, "cmse">(NVME_REG_CMBMSC, NVME_CMBMSC_CMSE_SHIFT, NVME_CMBMSC_CMSE_MASK));
    using C = ControllerConfiguration;
    STATIC_CHECK(stands<C, "en">(0, NVME_CC_EN_SHIFT, NVME_CC_EN_MASK));
    STATIC_CHECK(stands<C, "css">(0, NVME_CC_CSS_SHIFT, NVME_CC_CSS_MASK));
    STATIC_CHECK(stands<C, "mps">(0, NVME_CC_MPS_SHIFT, NVME_CC_MPS_MASK));
    STATIC_CHECK(stands<C, "ams">(0, NVME_CC_AMS_SHIFT, NVME_CC_AMS_MASK));
    STATIC_CHECK(stands<C, "shn">(0, NVME_CC_SHN_SHIFT, NVME_CC_SHN_MASK));
    STATIC_CHECK(stands<C, "iosqes">(0, NVME_CC_IOSQES_SHIFT, NVME_CC_IOSQES_MASK));
    STATIC_CHECK(stands<C, "iocqes">(0, NVME_CC_IOCQES_SHIFT, NVME_CC_IOCQES_MASK));
    STATIC_CHECK(stands<C, "crime">(0, NVME_CC_CRIME_SHIFT, NVME_CC_CRIME_MASK));
    STATIC_CHECK(static_cast<int>(ShutdownStatus::complete) == NVME_CSTS_SHST_CMPLT);
    STATIC_CHECK(static_cast<int>(Arbitration::weighted_round_robin) == NVME_CC_AMS_WRRU);
}

TEST_CASE("NVMe commands stand where the kernel has them", "[witness][nvme]") {
    using L = Command;
    using K = nvme_passthru_cmd;
    STATIC_CHECK(byte_of<L, "opcode">() == offsetof(K, opcode));
    STATIC_CHECK(byte_of<L, "fuse">() == offsetof(K, flags));
    STATIC_CHECK(byte_of<L, "cid">() == offsetof(K, rsvd1));
    SAME(L, K, nsid);
    SAME(L, K, cdw2);
    SAME(L, K, cdw3);
    SAME(L, K, cdw10);
    SAME(L, K, cdw11);
    SAME(L, K, cdw12);
    SAME(L, K, cdw13);
    SAME(L, K, cdw14);
    SAME(L, K, cdw15);
    STATIC_CHECK(offset_of<L, "mptr">() == offsetof(K, metadata));
    STATIC_CHECK(offset_of<ReadWrite, "slba">() == offsetof(K, cdw10));
    STATIC_CHECK(offset_of<ReadWrite, "nlb">() == offsetof(K, cdw12));
    STATIC_CHECK(ReadWrite::field<"fua">::low == 16 + 14);
    STATIC_CHECK(NVME_IO_FUA == 1 << 14);
    STATIC_CHECK(ReadWrite::field<"lr">::low == 16 + 15);
    STATIC_CHECK(NVME_IO_LR == 1 << 15);
    STATIC_CHECK(ReadWrite::field<"pract">::low == 16 + 13);
    STATIC_CHECK(NVME_IO_PRINFO_PRACT == 1 << 13);
    STATIC_CHECK(1 << (ReadWrite::field<"prchk_guard">::low - 16) == NVME_IO_PRINFO_PRCHK_GUARD);
    STATIC_CHECK(1 << (ReadWrite::field<"prchk_application">::low - 16) == NVME_IO_PRINFO_PRCHK_APP);
    STATIC_CHECK(1 << (ReadWrite::field<"prchk_reference">::low - 16) == NVME_IO_PRINFO_PRCHK_REF);
    STATIC_CHECK(1 << (ReadWrite::field<"deac">::low - 16) == NVME_IO_DEAC);
    STATIC_CHECK(1 << DatasetManagement::field<"ad">::low == NVME_DSMGMT_AD);
    SAME(DsmRange, nvme_dsm_range, cattr);
    SAME(DsmRange, nvme_dsm_range, nlb);
    SAME(DsmRange, nvme_dsm_range, slba);
    SAME(CopyRange, nvme_copy_range, slba);
    SAME(CopyRange, nvme_copy_range, nlb);
    SAME(CopyRange, nvme_copy_range, eilbrt);
    STATIC_CHECK(CopyRange::size == sizeof(nvme_copy_range));
    SAME(CopyRangeWide, nvme_copy_range_f1, slba);
    SAME(CopyRangeWide, nvme_copy_range_f1, nlb);
    SAME(CopyRangeWide, nvme_copy_range_f1, elbt);
    STATIC_CHECK(CopyRangeWide::size == sizeof(nvme_copy_range_f1));
}

TEST_CASE("a completion's status has the bits that libnvme says", "[witness][nvme]") {
    // libnvme numbers the bits of the status behind the phase bit.
    STATIC_CHECK(Completion::field<"dnr">::low - 17 == 14);
    STATIC_CHECK(NVME_SC_DNR == 1 << 14);
    STATIC_CHECK(NVME_SC_MORE == 1 << (Completion::field<"m">::low - 17));
    STATIC_CHECK(NVME_SC_CRD == 3 << (Completion::field<"crd">::low - 17));
    STATIC_CHECK(Completion::field<"status">::mask == (NVME_SCT_MASK << NVME_SCT_SHIFT | NVME_SC_MASK));
}

TEST_CASE("what Identify says of a controller stands where libnvme has it", "[witness][nvme]") {
    SAME_SIZE(IdentifyController, nvme_id_ctrl, vid);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, ssvid);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, sn);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, mn);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, fr);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, rab);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, ieee);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, cmic);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, mdts);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, cntlid);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, ver);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, rtd3r);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, rtd3e);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, oaes);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, ctratt);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, rrls);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, cntrltype);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, fguid);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, crdt1);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, crdt2);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, crdt3);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, nvmsr);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, vwci);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, mec);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, oacs);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, acl);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, aerl);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, frmw);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, lpa);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, elpe);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, npss);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, avscc);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, apsta);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, wctemp);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, cctemp);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, mtfa);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, hmpre);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, hmmin);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, rpmbs);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, edstt);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, dsto);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, fwug);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, kas);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, hctma);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, mntmt);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, mxtmt);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, sanicap);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, hmminds);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, hmmaxd);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, nsetidmax);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, endgidmax);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, anatt);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, anacap);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, anagrpmax);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, nanagrpid);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, pels);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, domainid);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, sqes);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, cqes);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, maxcmd);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, nn);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, oncs);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, fuses);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, fna);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, vwc);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, awun);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, awupf);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, icsvscc);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, nwpc);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, acwu);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, ocfs);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, sgls);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, mnan);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, subnqn);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, ioccsz);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, iorcsz);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, icdoff);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, fcatt);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, msdbd);
    SAME_SIZE(IdentifyController, nvme_id_ctrl, ofcs);
    SAME(IdentifyController, nvme_id_ctrl, tnvmcap);
    SAME(IdentifyController, nvme_id_ctrl, unvmcap);
    STATIC_CHECK((offset_of<IdentifyController, "psd0">() == offsetof(nvme_id_ctrl, psd)));
    STATIC_CHECK(IdentifyController::size == sizeof(nvme_id_ctrl));
}

TEST_CASE("what Identify says of a namespace stands where libnvme has it", "[witness][nvme]") {
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nsze);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, ncap);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nuse);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nsfeat);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nlbaf);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, flbas);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, mc);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, dpc);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, dps);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nmic);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, rescap);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, fpi);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, dlfeat);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nawun);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nawupf);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nacwu);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nabsn);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nabo);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nabspf);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, noiob);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, npwg);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, npwa);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, npdg);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, npda);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nows);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, mssrl);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, mcl);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, msrc);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nulbaf);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, anagrpid);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nsattr);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nvmsetid);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, endgid);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, nguid);
    SAME_SIZE(IdentifyNamespace, nvme_id_ns, eui64);
    SAME(IdentifyNamespace, nvme_id_ns, nvmcap);
    SAME_SIZE(IdentifyIndependentNamespace, nvme_id_independent_id_ns, nsfeat);
    SAME_SIZE(IdentifyIndependentNamespace, nvme_id_independent_id_ns, nmic);
    SAME_SIZE(IdentifyIndependentNamespace, nvme_id_independent_id_ns, rescap);
    SAME_SIZE(IdentifyIndependentNamespace, nvme_id_independent_id_ns, fpi);
    SAME_SIZE(IdentifyIndependentNamespace, nvme_id_independent_id_ns, anagrpid);
    SAME_SIZE(IdentifyIndependentNamespace, nvme_id_independent_id_ns, nsattr);
    SAME_SIZE(IdentifyIndependentNamespace, nvme_id_independent_id_ns, nvmsetid);
    SAME_SIZE(IdentifyIndependentNamespace, nvme_id_independent_id_ns, endgid);
    SAME_SIZE(IdentifyIndependentNamespace, nvme_id_independent_id_ns, nstat);
    SAME_SIZE(IdentifyNvmController, nvme_id_ctrl_nvm, vsl);
    SAME_SIZE(IdentifyNvmController, nvme_id_ctrl_nvm, wzsl);
    SAME_SIZE(IdentifyNvmController, nvme_id_ctrl_nvm, wusl);
    SAME_SIZE(IdentifyNvmController, nvme_id_ctrl_nvm, dmrl);
    SAME_SIZE(IdentifyNvmController, nvme_id_ctrl_nvm, dmrsl);
    SAME_SIZE(IdentifyNvmController, nvme_id_ctrl_nvm, dmsl);
    SAME_SIZE(IdentifyNvmNamespace, nvme_nvm_id_ns, lbstm);
    SAME_SIZE(IdentifyNvmNamespace, nvme_nvm_id_ns, pic);
    SAME_SIZE(NamespaceDescriptor, nvme_ns_id_desc, nidt);
    SAME_SIZE(NamespaceDescriptor, nvme_ns_id_desc, nidl);
    SAME_SIZE(ControllerList, nvme_ctrl_list, num);
    SAME_SIZE(CreateNamespace, nvme_id_ns, nsze);
    SAME_SIZE(CreateNamespace, nvme_id_ns, ncap);
    SAME_SIZE(CreateNamespace, nvme_id_ns, flbas);
    SAME_SIZE(CreateNamespace, nvme_id_ns, dps);
    SAME_SIZE(CreateNamespace, nvme_id_ns, nmic);
    SAME_SIZE(CreateNamespace, nvme_id_ns, anagrpid);
    SAME_SIZE(CreateNamespace, nvme_id_ns, nvmsetid);
    SAME_SIZE(CreateNamespace, nvme_id_ns, endgid);
    SAME_SIZE(CreateNamespace, nvme_id_ns, lbstm);
    SAME_SIZE(PowerState, nvme_id_psd, enlat);
    SAME_SIZE(PowerState, nvme_id_psd, exlat);
    SAME_SIZE(PowerState, nvme_id_psd, rrt);
    SAME_SIZE(PowerState, nvme_id_psd, rrl);
    SAME_SIZE(PowerState, nvme_id_psd, rwt);
    SAME_SIZE(PowerState, nvme_id_psd, rwl);
    SAME_SIZE(PowerState, nvme_id_psd, idlp);
    SAME_SIZE(PowerState, nvme_id_psd, actp);
    STATIC_CHECK((offset_of<IdentifyNvmNamespace, "elbaf0">() == offsetof(nvme_nvm_id_ns, elbaf)));
    STATIC_CHECK(lba_formats_offset == offsetof(nvme_id_ns, lbaf));
    STATIC_CHECK((byte_of<LbaFormat, "ms">() == offsetof(nvme_lbaf, ms)));
    STATIC_CHECK((byte_of<LbaFormat, "lbads">() == offsetof(nvme_lbaf, ds)));
    STATIC_CHECK((byte_of<LbaFormat, "rp">() == offsetof(nvme_lbaf, rp)));
    STATIC_CHECK((byte_of<PowerState, "mxps">() == offsetof(nvme_id_psd, flags)));
    STATIC_CHECK((byte_of<PowerState, "ips">() == offsetof(nvme_id_psd, ips)));
    STATIC_CHECK((byte_of<PowerState, "apw">() == offsetof(nvme_id_psd, apws)));
}

TEST_CASE("NVMe log pages stand where libnvme has them", "[witness][nvme]") {
    SAME_SIZE(SmartLog, nvme_smart_log, critical_warning);
    SAME_SIZE(SmartLog, nvme_smart_log, temperature);
    SAME_SIZE(SmartLog, nvme_smart_log, avail_spare);
    SAME_SIZE(SmartLog, nvme_smart_log, spare_thresh);
    SAME_SIZE(SmartLog, nvme_smart_log, percent_used);
    SAME_SIZE(SmartLog, nvme_smart_log, endu_grp_crit_warn_sumry);
    SAME_SIZE(SmartLog, nvme_smart_log, warning_temp_time);
    SAME_SIZE(SmartLog, nvme_smart_log, critical_comp_time);
    SAME(SmartLog, nvme_smart_log, data_units_read);
    SAME(SmartLog, nvme_smart_log, data_units_written);
    SAME(SmartLog, nvme_smart_log, host_reads);
    SAME(SmartLog, nvme_smart_log, host_writes);
    SAME(SmartLog, nvme_smart_log, ctrl_busy_time);
    SAME(SmartLog, nvme_smart_log, power_cycles);
    SAME(SmartLog, nvme_smart_log, power_on_hours);
    SAME(SmartLog, nvme_smart_log, unsafe_shutdowns);
    SAME(SmartLog, nvme_smart_log, media_errors);
    SAME(SmartLog, nvme_smart_log, num_err_log_entries);
    SAME_SIZE(SelfTestResult, nvme_st_result, seg);
    SAME_SIZE(SelfTestResult, nvme_st_result, vdi);
    SAME_SIZE(SelfTestResult, nvme_st_result, poh);
    SAME_SIZE(SelfTestResult, nvme_st_result, nsid);
    SAME_SIZE(SelfTestResult, nvme_st_result, flba);
    SAME_SIZE(SelfTestResult, nvme_st_result, sct);
    SAME_SIZE(SelfTestResult, nvme_st_result, sc);
    SAME_SIZE(SelfTestResult, nvme_st_result, vs);
    SAME_SIZE(TelemetryLog, nvme_telemetry_log, lpi);
    SAME_SIZE(TelemetryLog, nvme_telemetry_log, ieee);
    SAME_SIZE(TelemetryLog, nvme_telemetry_log, dalb1);
    SAME_SIZE(TelemetryLog, nvme_telemetry_log, dalb2);
    SAME_SIZE(TelemetryLog, nvme_telemetry_log, dalb3);
    SAME_SIZE(TelemetryLog, nvme_telemetry_log, dalb4);
    SAME_SIZE(TelemetryLog, nvme_telemetry_log, hostdgn);
    SAME_SIZE(TelemetryLog, nvme_telemetry_log, ctrlavail);
    SAME_SIZE(TelemetryLog, nvme_telemetry_log, ctrldgn);
    SAME_SIZE(TelemetryLog, nvme_telemetry_log, rsnident);
    SAME_SIZE(SanitizeLog, nvme_sanitize_log_page, sprog);
    SAME_SIZE(SanitizeLog, nvme_sanitize_log_page, scdw10);
    SAME_SIZE(SanitizeLog, nvme_sanitize_log_page, eto);
    SAME_SIZE(SanitizeLog, nvme_sanitize_log_page, etbe);
    SAME_SIZE(SanitizeLog, nvme_sanitize_log_page, etce);
    SAME_SIZE(SanitizeLog, nvme_sanitize_log_page, etond);
    SAME_SIZE(SanitizeLog, nvme_sanitize_log_page, etbend);
    SAME_SIZE(SanitizeLog, nvme_sanitize_log_page, etcend);
    SAME_SIZE(ErrorEntry, nvme_error_log_page, sqid);
    SAME_SIZE(ErrorEntry, nvme_error_log_page, lba);
    SAME_SIZE(ErrorEntry, nvme_error_log_page, nsid);
    SAME_SIZE(ErrorEntry, nvme_error_log_page, vs);
    SAME_SIZE(ErrorEntry, nvme_error_log_page, trtype);
    SAME_SIZE(ErrorEntry, nvme_error_log_page, cs);
    STATIC_CHECK((offset_of<SmartLog, "temp_sensor0">() == offsetof(nvme_smart_log, temp_sensor)));
    STATIC_CHECK((offset_of<ErrorEntry, "count">() == offsetof(nvme_error_log_page, error_count)));
    STATIC_CHECK((offset_of<ErrorEntry, "cid">() == offsetof(nvme_error_log_page, cmdid)));
    STATIC_CHECK((offset_of<ErrorEntry, "status">() == offsetof(nvme_error_log_page, status_field)));
    STATIC_CHECK((offset_of<ErrorEntry, "parameter">() == offsetof(nvme_error_log_page, parm_error_location)));
    STATIC_CHECK(ErrorEntry::size == sizeof(nvme_error_log_page));
    STATIC_CHECK((offset_of<SelfTestLog, "result0">() == offsetof(nvme_self_test_log, result)));
    STATIC_CHECK(SelfTestLog::size == sizeof(nvme_self_test_log));
    STATIC_CHECK((byte_of<SelfTestLog, "completion_percent">() == offsetof(nvme_self_test_log, completion)));
    STATIC_CHECK((byte_of<SanitizeLog, "status">() == offsetof(nvme_sanitize_log_page, sstat)));
    STATIC_CHECK((offset_of<FirmwareSlotLog, "frs1">() == offsetof(nvme_firmware_slot, frs)));
    STATIC_CHECK(io_effects_offset == offsetof(nvme_cmd_effects_log, iocs));
    STATIC_CHECK(1u << CommandEffect::field<"csupp">::low == NVME_CMD_EFFECTS_CSUPP);
    STATIC_CHECK(1u << CommandEffect::field<"lbcc">::low == NVME_CMD_EFFECTS_LBCC);
    STATIC_CHECK(1u << CommandEffect::field<"ncc">::low == NVME_CMD_EFFECTS_NCC);
    STATIC_CHECK(1u << CommandEffect::field<"nic">::low == NVME_CMD_EFFECTS_NIC);
    STATIC_CHECK(1u << CommandEffect::field<"ccc">::low == NVME_CMD_EFFECTS_CCC);
    // The field has three bits (NVMe base 2.0 "Commands Supported and Effects"); the mask of libnvme 1.3 has two.
    STATIC_CHECK(3u << CommandEffect::field<"cse">::low == NVME_CMD_EFFECTS_CSE_MASK);
}

TEST_CASE("what features read stands where libnvme has it", "[witness][nvme]") {
    SAME_SIZE(HostMemoryAttributes, nvme_host_mem_buf_attrs, hsize);
    SAME_SIZE(HostMemoryAttributes, nvme_host_mem_buf_attrs, hmdlal);
    SAME_SIZE(HostMemoryAttributes, nvme_host_mem_buf_attrs, hmdlau);
    SAME_SIZE(HostMemoryAttributes, nvme_host_mem_buf_attrs, hmdlec);
    SAME_SIZE(HostBehavior, nvme_feat_host_behavior, acre);
    STATIC_CHECK((byte_of<Timestamp, "synch">() == offsetof(nvme_timestamp, attr)));
    STATIC_CHECK(Timestamp::size == sizeof(nvme_timestamp));
    STATIC_CHECK(static_cast<int>(EventType::notice) == NVME_AER_NOTICE);
    STATIC_CHECK(static_cast<int>(EventType::smart) == NVME_AER_SMART);
    STATIC_CHECK(static_cast<int>(EventType::io_set) == NVME_AER_CSS);
}
