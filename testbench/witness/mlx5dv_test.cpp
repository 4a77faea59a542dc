// What user-space drivers were compiled against: each segment and entry of the data path, written through our rows and
// read through the C structures of rdma-core, and the other way round.
#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/mkey.h"
#include "abi/prm/qp.h"
#include "abi/prm/vport.h"
#include "abi/prm/wqe.h"

#include <catch2/catch_test_macros.hpp>
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include <cstring>

using namespace abi;
using namespace abi::prm;

namespace {

template <class T> T swapped(T value) {
    if constexpr (sizeof(T) == 1)
        return value;
    else
        return std::byteswap(value);
}

/// The C structure that our bytes are.
template <class C, class L> C as(const Block<L>& block) {
    static_assert(sizeof(C) >= L::size);
    C c{};
    std::memcpy(&c, block.bytes.data(), L::size);
    return c;
}
/// Our bytes of a C structure.
template <class L, class C> Block<L> block_of(const C& c) {
    static_assert(sizeof(C) >= L::size);
    Block<L> block;
    std::memcpy(block.bytes.data(), &c, L::size);
    return block;
}

/// True when row F of L is exactly the big-endian member, seen from both sides, and touches nothing else.
template <class L, Name F, class C, class M> bool is_member(M C::* member) {
    const auto pattern = static_cast<M>(0x8192a3b4c5d6e7f1ull);
    Block<L> ours;
    ours.view().template set<F>(static_cast<typename L::template field<F>::type>(pattern));
    C theirs{};
    theirs.*member = swapped(pattern);
    return as<C>(ours).*member == swapped(pattern) && ours.bytes == block_of<L>(theirs).bytes &&
           static_cast<M>(block_of<L>(theirs).view().template get<F>()) == pattern;
}

/// True when row F of L, set to `value`, is the bits `expected` of the big-endian member, and reads back from there.
template <class L, Name F, class C, class M> bool is_part(M C::* member, std::uint64_t value, std::uint64_t expected) {
    using Type = typename L::template field<F>::type;
    Block<L> ours;
    ours.view().template set<F>(static_cast<Type>(value));
    C theirs{};
    // Some members of these packed structures lie on odd bytes.
    const auto bits = swapped(static_cast<M>(expected));
    std::memcpy(static_cast<void*>(&(theirs.*member)), &bits, sizeof bits);
    return ours.bytes == block_of<L>(theirs).bytes &&
           block_of<L>(theirs).view().template get<F>() == static_cast<Type>(value);
}

} // namespace

TEST_CASE("the ctrl segment is what mlx5dv_set_ctrl_seg writes", "[witness][wqe]") {
    mlx5_wqe_ctrl_seg seg{};
    mlx5dv_set_ctrl_seg(&seg, 0x1234, MLX5_OPCODE_RDMA_WRITE_IMM, 0x56, 0x789abc,
                        MLX5_WQE_CTRL_CQ_UPDATE | MLX5_WQE_CTRL_SOLICITED | MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE, 0x2d,
                        0xef, htobe32(0xcafe1234));

    const auto block = block_of<WqeCtrl>(seg);
    const auto ctrl = block.view();

    CHECK(ctrl.get<"wqe_index">() == 0x1234u);
    CHECK(ctrl.get<"opcode">() == WqeOpcode::rdma_write_imm);
    CHECK(ctrl.get<"opmod">() == 0x56u);
    CHECK(ctrl.get<"qpn">() == 0x789abcu);
    CHECK(ctrl.get<"ds">() == 0x2du);
    CHECK(ctrl.get<"signature">() == 0xefu);
    CHECK(ctrl.get<"ce">() == CompletionEvent::always);
    CHECK(ctrl.get<"se">() == 1u);
    CHECK(ctrl.get<"fm">() == FenceMode::initiator_small);
    CHECK(ctrl.get<"imm">() == 0xcafe1234u);
    CHECK(is_part<WqeCtrl, "fm">(&mlx5_wqe_ctrl_seg::fm_ce_se, 4, MLX5_WQE_CTRL_FENCE));
    CHECK(is_part<WqeCtrl, "dci_stream_channel_id">(&mlx5_wqe_ctrl_seg::dci_stream_channel_id, 0xabcd, 0xabcd));
}

TEST_CASE("the send doorbell is the start of the ctrl segment", "[witness][doorbell]") {
    mlx5_wqe_ctrl_seg seg{};
    mlx5dv_set_ctrl_seg(&seg, 0x1234, MLX5_OPCODE_SEND, 0x56, 0x789abc, 0xff, 0x2d, 0xff, 0xffffffff);

    const auto block = block_of<SendDoorbell>(seg);
    const auto doorbell = block.view();

    CHECK(doorbell.get<"opmod">() == 0x56u);
    CHECK(doorbell.get<"wqe_index">() == 0x1234u);
    CHECK(doorbell.get<"opcode">() == MLX5_OPCODE_SEND);
    CHECK(doorbell.get<"qpn">() == 0x789abcu);
    CHECK(doorbell.get<"ds">() == 0x2du);
}

TEST_CASE("the doorbell records have the words that rdma-core writes", "[witness][doorbell]") {
    Block<QpDoorbellRecord> qp;
    qp.view().set<"rcv_counter">(0x1122).set<"send_counter">(0x3344);
    Block<CqDoorbellRecord> cq;
    cq.view().set<"arm_ci">(0x123456).set<"cmd_sn">(2).set<"cmd">(ArmCommand::solicited);
    Block<CqDoorbell> doorbell;
    doorbell.view().set<"ci">(0x123456).set<"cmd_sn">(2).set<"cmd">(ArmCommand::solicited).set<"cqn">(0x4c2);
    std::uint32_t qp_words[2], cq_words[2], doorbell_words[2];
    std::memcpy(qp_words, qp.bytes.data(), 8);
    std::memcpy(cq_words, cq.bytes.data(), 8);
    std::memcpy(doorbell_words, doorbell.bytes.data(), 8);

    CHECK(be32toh(qp_words[MLX5_RCV_DBR]) == 0x1122u);
    CHECK(be32toh(qp_words[MLX5_SND_DBR]) == 0x3344u);
    CHECK(be32toh(cq_words[1]) == (2u << 28 | MLX5_CQ_DB_REQ_NOT_SOL | 0x123456u));
    CHECK(be32toh(doorbell_words[0]) == (2u << 28 | MLX5_CQ_DB_REQ_NOT_SOL | 0x123456u));
    CHECK(be32toh(doorbell_words[1]) == 0x4c2u);
}

TEST_CASE("remote address, atomic, data and SRQ segments have rdma-core's members", "[witness][wqe]") {
    CHECK(is_member<WqeRaddr, "raddr">(&mlx5_wqe_raddr_seg::raddr));
    CHECK(is_member<WqeRaddr, "rkey">(&mlx5_wqe_raddr_seg::rkey));
    CHECK(is_member<WqeAtomic, "swap_add">(&mlx5_wqe_atomic_seg::swap_add));
    CHECK(is_member<WqeAtomic, "compare">(&mlx5_wqe_atomic_seg::compare));
    CHECK(is_part<WqeData, "byte_count">(&mlx5_wqe_data_seg::byte_count, 0x7fffffff, 0x7fffffff));
    CHECK(is_part<WqeData, "inline">(&mlx5_wqe_data_seg::byte_count, 1, MLX5_INLINE_SEG));
    CHECK(is_member<WqeData, "lkey">(&mlx5_wqe_data_seg::lkey));
    CHECK(is_member<WqeData, "addr">(&mlx5_wqe_data_seg::addr));
    CHECK(is_part<WqeInline, "inline">(&mlx5_wqe_inl_data_seg::byte_count, 1, MLX5_INLINE_SEG));
    CHECK(is_part<WqeInline, "byte_count">(&mlx5_wqe_inl_data_seg::byte_count, 0x3ff, 0x3ff));
    CHECK(is_member<WqeSrqNext, "next_wqe_index">(&mlx5_wqe_srq_next_seg::next_wqe_index));
    CHECK(is_member<WqeSrqNext, "signature">(&mlx5_wqe_srq_next_seg::signature));
    CHECK(invalid_lkey == MLX5_INVALID_LKEY);
    CHECK(wqe_bb_bytes == MLX5_SEND_WQE_BB);
}

TEST_CASE("the address vector is what mlx5dv_set_dgram_seg writes", "[witness][wqe]") {
    mlx5_wqe_datagram_seg seg{};
    std::uint8_t mac[6] = {1, 2, 3, 4, 5, 6};
    std::uint8_t gid[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2};
    mlx5dv_set_dgram_seg(&seg, std::uint64_t{0x11223344} << 32, 0x123456, 1, 0xa5, 0x80 | 0x31, 0xbeef, mac, 0x77, 0x40,
                         1u << 30 | 0x5au << 20 | 0x12345, gid);

    const auto block = block_of<WqeAv>(seg);
    const auto av = block.view();

    CHECK(av.get<"q_key">() == 0x11223344u);
    CHECK(av.get<"extended">() == 1u);
    CHECK(av.get<"dqp_dct">() == 0x123456u);
    CHECK(av.get<"stat_rate">() == 0xau);
    CHECK(av.get<"sl">() == 0x5u);
    CHECK(av.get<"fl">() == 1u);
    CHECK(av.get<"mlid">() == 0x31u);
    CHECK(av.get<"rlid">() == 0xbeefu);
    CHECK(std::memcmp(av.get<"rmac">().data(), mac, 6) == 0);
    CHECK(av.get<"tclass">() == 0x77);
    CHECK(av.get<"hop_limit">() == 0x40);
    CHECK(av.get<"grh">() == 1u);
    CHECK(av.get<"src_addr_index">() == 0x5au);
    CHECK(av.get<"flow_label">() == 0x12345u);
    CHECK(std::memcmp(av.get<"rgid_rip">().data(), gid, 16) == 0);
}

TEST_CASE("the Ethernet segment has rdma-core's members and checksum flags", "[witness][wqe]") {
    CHECK(is_part<WqeEth, "l3_csum">(&mlx5_wqe_eth_seg::cs_flags, 1, MLX5_ETH_WQE_L3_CSUM));
    CHECK(is_part<WqeEth, "l4_csum">(&mlx5_wqe_eth_seg::cs_flags, 1, MLX5_ETH_WQE_L4_CSUM));
    CHECK(is_part<WqeEth, "mss">(&mlx5_wqe_eth_seg::mss, 0x1234, 0x1234));
    CHECK(is_member<WqeEth, "inline_hdr_sz">(&mlx5_wqe_eth_seg::inline_hdr_sz));
    CHECK(WqeEth::field<"inline_hdr_start">::offset == offsetof(mlx5_wqe_eth_seg, inline_hdr_start));
}

TEST_CASE("the UMR control segment has rdma-core's members and flags", "[witness][wqe]") {
    using C = mlx5_wqe_umr_ctrl_seg;
    CHECK(is_part<WqeUmrCtrl, "inline">(&C::flags, 1, MLX5_WQE_UMR_CTRL_FLAG_INLINE));
    // The library calls "refuse unless free" CHECK_FREE, the kernel calls it CHECK_NOT_FREE.
    CHECK(is_part<WqeUmrCtrl, "check_not_free">(&C::flags, 1, MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE));
    CHECK(is_part<WqeUmrCtrl, "xlt_offset_en">(&C::flags, 1, MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET));
    CHECK(is_part<WqeUmrCtrl, "check_qpn">(&C::flags, 1, MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN));
    CHECK(is_member<WqeUmrCtrl, "xlt_octowords">(&C::klm_octowords));
    CHECK(is_member<WqeUmrCtrl, "xlt_offset">(&C::translation_offset));
    CHECK(is_member<WqeUmrCtrl, "mkey_mask">(&C::mkey_mask));
    CHECK(WqeUmrCtrl::size == sizeof(C));
}

TEST_CASE("the mkey context of a UMR is the mkey context of the commands", "[witness][mkey]") {
    using C = mlx5_wqe_mkey_context_seg;
    CHECK(is_part<Mkc, "free">(&C::free, 1, MLX5_WQE_MKEY_CONTEXT_FREE));
    CHECK(is_part<Mkc, "a">(&C::access_flags, 1, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC));
    CHECK(is_part<Mkc, "rw">(&C::access_flags, 1, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE));
    CHECK(is_part<Mkc, "rr">(&C::access_flags, 1, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ));
    CHECK(is_part<Mkc, "lw">(&C::access_flags, 1, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE));
    CHECK(is_part<Mkc, "lr">(&C::access_flags, 1, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_READ));
    CHECK(is_part<Mkc, "pd">(&C::flags_pd, 0xabcdef, 0xabcdef));
    CHECK(is_member<Mkc, "start_addr">(&C::start_addr));
    CHECK(is_member<Mkc, "len">(&C::len));
    CHECK(is_member<Mkc, "bsf_octword_size">(&C::bsf_octword_size));
    CHECK(is_member<Mkc, "translations_octword_size">(&C::translations_octword_size));
    CHECK(is_part<Mkc, "log_page_size">(&C::log_page_size, 0x1f, 0x1f));
    CHECK(Mkc::size == sizeof(C));
}

TEST_CASE("the CQE has rdma-core's members", "[witness][cqe]") {
    using C = mlx5_cqe64;
    CHECK(is_member<Cqe64, "wqe_id">(&C::wqe_id));
    CHECK(is_member<Cqe64, "ml_path">(&C::ml_path));
    CHECK(is_member<Cqe64, "slid">(&C::slid));
    CHECK(is_part<Cqe64, "rqpn">(&C::flags_rqpn, 0xabcdef, 0xabcdef));
    CHECK(is_member<Cqe64, "hds_ip_ext">(&C::hds_ip_ext));
    CHECK(is_member<Cqe64, "l4_l3_hdr_type">(&C::l4_hdr_type_etc));
    CHECK(is_member<Cqe64, "vlan_info">(&C::vlan_info));
    CHECK(is_part<Cqe64, "srqn_uidx">(&C::srqn_uidx, 0xabcdef, 0xabcdef));
    CHECK(is_member<Cqe64, "imm_inval_pkey">(&C::imm_inval_pkey));
    CHECK(is_member<Cqe64, "byte_cnt">(&C::byte_cnt));
    CHECK(is_member<Cqe64, "timestamp">(&C::timestamp));
    CHECK(is_part<Cqe64, "qpn">(&C::sop_drop_qpn, 0xabcdef, 0xabcdef));
    CHECK(is_member<Cqe64, "wqe_counter">(&C::wqe_counter));
    CHECK(is_member<Cqe64, "signature">(&C::signature));
    CHECK(cqe_op_own_offset == offsetof(C, op_own));
    CHECK(cqe_signature_offset == offsetof(C, signature));
    CHECK(Cqe64::size == sizeof(C));
}

TEST_CASE("rdma-core reads opcode, format, solicited and owner of a CQE as we write them", "[witness][cqe]") {
    for (unsigned value = 0; value < 256; ++value) {
        Block<Cqe64> block;
        block.view()
            .set<"opcode">(static_cast<CqeOpcode>(value >> 4))
            .set<"cqe_format">(static_cast<CqeFormat>(value >> 2 & 3));
        block.view().set<"se">(value >> 1 & 1).set<"owner">(value & 1);
        auto cqe = as<mlx5_cqe64>(block);

        REQUIRE(mlx5dv_get_cqe_opcode(&cqe) == value >> 4);
        REQUIRE(mlx5dv_get_cqe_format(&cqe) == (value >> 2 & 3));
        REQUIRE(mlx5dv_get_cqe_se(&cqe) == (value >> 1 & 1));
        REQUIRE(mlx5dv_get_cqe_owner(&cqe) == (value & 1));
    }
}

TEST_CASE("rdma-core knows the completions that carry data by the same bits", "[witness][cqe]") {
    const auto op_own = [](CqeFormat format) {
        abi::Block<Cqe64> block;
        block.view().set<"cqe_format">(format);
        return as<mlx5_cqe64>(block).op_own;
    };
    CHECK(op_own(CqeFormat::no_data) == 0);
    CHECK(op_own(CqeFormat::inline_32) == MLX5_INLINE_SCATTER_32);
    CHECK(op_own(CqeFormat::inline_64) == MLX5_INLINE_SCATTER_64);
    // What 32 bytes of data overwrite ends before the first member that such a completion still needs.
    CHECK(offsetof(mlx5_cqe64, srqn_uidx) == cqe_inline_32);
    CHECK(sizeof(mlx5_cqe64) == cqe_inline_64); // the data of a 128-byte entry is one CQE64 in front
}

TEST_CASE("the error CQE has rdma-core's members", "[witness][cqe]") {
    using C = mlx5_err_cqe;
    CHECK(is_part<ErrCqe, "srqn_uidx">(&C::srqn, 0xabcdef, 0xabcdef));
    CHECK(is_member<ErrCqe, "vendor_err_synd">(&C::vendor_err_synd));
    CHECK(is_member<ErrCqe, "syndrome">(&C::syndrome));
    CHECK(is_part<ErrCqe, "qpn">(&C::s_wqe_opcode_qpn, 0xabcdef, 0xabcdef));
    CHECK(is_part<ErrCqe, "sop">(&C::s_wqe_opcode_qpn, MLX5_OPCODE_SEND, std::uint32_t{MLX5_OPCODE_SEND} << 24));
    CHECK(is_member<ErrCqe, "wqe_counter">(&C::wqe_counter));
    CHECK(is_member<ErrCqe, "signature">(&C::signature));
    CHECK(ErrCqe::field<"opcode">::offset == Cqe64::field<"opcode">::offset);
    CHECK(ErrCqe::size == sizeof(C));
}

// Enumerations: each enumerator that rdma-core names too.
#define SAME(ours, theirs) static_assert(static_cast<unsigned>(ours) == static_cast<unsigned>(theirs))
SAME(MkeyMask::len, MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN);
SAME(MkeyMask::start_addr, MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR);
SAME(MkeyMask::en_sigerr, MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR);
SAME(MkeyMask::bsf_en, MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE);
SAME(MkeyMask::key, MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY);
SAME(MkeyMask::qpn, MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN);
SAME(MkeyMask::lw, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE);
SAME(MkeyMask::rr, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ);
SAME(MkeyMask::rw, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE);
SAME(MkeyMask::a, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC);
SAME(MkeyMask::free, MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE);
SAME(WqeOpcode::nop, MLX5_OPCODE_NOP);
SAME(WqeOpcode::send_inval, MLX5_OPCODE_SEND_INVAL);
SAME(WqeOpcode::rdma_write, MLX5_OPCODE_RDMA_WRITE);
SAME(WqeOpcode::rdma_write_imm, MLX5_OPCODE_RDMA_WRITE_IMM);
SAME(WqeOpcode::send, MLX5_OPCODE_SEND);
SAME(WqeOpcode::send_imm, MLX5_OPCODE_SEND_IMM);
SAME(WqeOpcode::lso, MLX5_OPCODE_TSO);
SAME(WqeOpcode::rdma_read, MLX5_OPCODE_RDMA_READ);
SAME(WqeOpcode::atomic_cs, MLX5_OPCODE_ATOMIC_CS);
SAME(WqeOpcode::atomic_fa, MLX5_OPCODE_ATOMIC_FA);
SAME(WqeOpcode::atomic_masked_cs, MLX5_OPCODE_ATOMIC_MASKED_CS);
SAME(WqeOpcode::atomic_masked_fa, MLX5_OPCODE_ATOMIC_MASKED_FA);
SAME(WqeOpcode::config_cmd, MLX5_OPCODE_CONFIG_CMD);
SAME(WqeOpcode::set_psv, MLX5_OPCODE_SET_PSV);
SAME(WqeOpcode::umr, MLX5_OPCODE_UMR);
SAME(WqeOpcode::flow_tbl_access, MLX5_OPCODE_FLOW_TBL_ACCESS);
SAME(CqeOpcode::req, MLX5_CQE_REQ);
SAME(CqeOpcode::resp_wr_imm, MLX5_CQE_RESP_WR_IMM);
SAME(CqeOpcode::resp_send, MLX5_CQE_RESP_SEND);
SAME(CqeOpcode::resp_send_imm, MLX5_CQE_RESP_SEND_IMM);
SAME(CqeOpcode::resp_send_inv, MLX5_CQE_RESP_SEND_INV);
SAME(CqeOpcode::resize_cq, MLX5_CQE_RESIZE_CQ);
SAME(CqeOpcode::sig_err, MLX5_CQE_SIG_ERR);
SAME(CqeOpcode::req_err, MLX5_CQE_REQ_ERR);
SAME(CqeOpcode::resp_err, MLX5_CQE_RESP_ERR);
SAME(CqeOpcode::invalid, MLX5_CQE_INVALID);
SAME(CqeSyndrome::local_length_err, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
SAME(CqeSyndrome::local_qp_op_err, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
SAME(CqeSyndrome::local_prot_err, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
SAME(CqeSyndrome::wr_flush_err, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
SAME(CqeSyndrome::mw_bind_err, MLX5_CQE_SYNDROME_MW_BIND_ERR);
SAME(CqeSyndrome::bad_resp_err, MLX5_CQE_SYNDROME_BAD_RESP_ERR);
SAME(CqeSyndrome::local_access_err, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR);
SAME(CqeSyndrome::remote_inval_req_err, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
SAME(CqeSyndrome::remote_access_err, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
SAME(CqeSyndrome::remote_op_err, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
SAME(CqeSyndrome::transport_retry_exc_err, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
SAME(CqeSyndrome::rnr_retry_exc_err, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
SAME(CqeSyndrome::remote_aborted_err, MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR);
SAME(Mtu::bytes_256, IBV_MTU_256);
SAME(Mtu::bytes_512, IBV_MTU_512);
SAME(Mtu::bytes_1024, IBV_MTU_1024);
SAME(Mtu::bytes_2048, IBV_MTU_2048);
SAME(Mtu::bytes_4096, IBV_MTU_4096);
SAME(PortState::down, IBV_PORT_DOWN);
SAME(PortState::init, IBV_PORT_INIT);
SAME(PortState::armed, IBV_PORT_ARMED);
SAME(PortState::active, IBV_PORT_ACTIVE);
#undef SAME
