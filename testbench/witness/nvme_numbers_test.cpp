// Numbers of abi/nvme (statuses, opcodes, identifiers of features and log pages) against nvme/types.h of libnvme, which
// we did not write.
#include "abi/nvme/fabrics.h"
#include "abi/nvme/feature.h"
#include "abi/nvme/identify.h"
#include "abi/nvme/log.h"
#include "abi/nvme/opcode.h"
#include "abi/nvme/status.h"

#include <catch2/catch_test_macros.hpp>

#include <nvme/types.h>

using namespace abi::nvme;

TEST_CASE("NVMe statuses have the numbers of libnvme", "[witness][nvme]") {
    const auto is = [](Status status, unsigned type, unsigned code) {
        return static_cast<unsigned>(status) == (type << NVME_SCT_SHIFT | code);
    };
    CHECK(is(Status::invalid_opcode, NVME_SCT_GENERIC, NVME_SC_INVALID_OPCODE));
    CHECK(is(Status::invalid_field, NVME_SCT_GENERIC, NVME_SC_INVALID_FIELD));
    CHECK(is(Status::command_id_conflict, NVME_SCT_GENERIC, NVME_SC_CMDID_CONFLICT));
    CHECK(is(Status::data_transfer_error, NVME_SCT_GENERIC, NVME_SC_DATA_XFER_ERROR));
    CHECK(is(Status::aborted_power_loss, NVME_SCT_GENERIC, NVME_SC_POWER_LOSS));
    CHECK(is(Status::internal_error, NVME_SCT_GENERIC, NVME_SC_INTERNAL));
    CHECK(is(Status::abort_requested, NVME_SCT_GENERIC, NVME_SC_ABORT_REQ));
    CHECK(is(Status::aborted_sq_deletion, NVME_SCT_GENERIC, NVME_SC_ABORT_QUEUE));
    CHECK(is(Status::aborted_failed_fused, NVME_SCT_GENERIC, NVME_SC_FUSED_FAIL));
    CHECK(is(Status::aborted_missing_fused, NVME_SCT_GENERIC, NVME_SC_FUSED_MISSING));
    CHECK(is(Status::invalid_namespace, NVME_SCT_GENERIC, NVME_SC_INVALID_NS));
    CHECK(is(Status::command_sequence_error, NVME_SCT_GENERIC, NVME_SC_CMD_SEQ_ERROR));
    CHECK(is(Status::invalid_sgl_segment, NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_LAST));
    CHECK(is(Status::invalid_sgl_count, NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_COUNT));
    CHECK(is(Status::invalid_data_sgl_length, NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_DATA));
    CHECK(is(Status::invalid_metadata_sgl_length, NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_METADATA));
    CHECK(is(Status::invalid_sgl_type, NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_TYPE));
    CHECK(is(Status::invalid_cmb_use, NVME_SCT_GENERIC, NVME_SC_CMB_INVALID_USE));
    CHECK(is(Status::invalid_prp_offset, NVME_SCT_GENERIC, NVME_SC_PRP_INVALID_OFFSET));
    CHECK(is(Status::atomic_write_unit_exceeded, NVME_SCT_GENERIC, NVME_SC_AWU_EXCEEDED));
    CHECK(is(Status::operation_denied, NVME_SCT_GENERIC, NVME_SC_OP_DENIED));
    CHECK(is(Status::invalid_sgl_offset, NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_OFFSET));
    CHECK(is(Status::host_id_inconsistent, NVME_SCT_GENERIC, NVME_SC_HOSTID_FORMAT));
    CHECK(is(Status::keep_alive_expired, NVME_SCT_GENERIC, NVME_SC_KAT_EXPIRED));
    CHECK(is(Status::invalid_keep_alive, NVME_SCT_GENERIC, NVME_SC_KAT_INVALID));
    CHECK(is(Status::aborted_preempt, NVME_SCT_GENERIC, NVME_SC_CMD_ABORTED_PREMEPT));
    CHECK(is(Status::sanitize_failed, NVME_SCT_GENERIC, NVME_SC_SANITIZE_FAILED));
    CHECK(is(Status::sanitize_in_progress, NVME_SCT_GENERIC, NVME_SC_SANITIZE_IN_PROGRESS));
    CHECK(is(Status::invalid_sgl_granularity, NVME_SCT_GENERIC, NVME_SC_SGL_INVALID_GRANULARITY));
    CHECK(is(Status::namespace_write_protected, NVME_SCT_GENERIC, NVME_SC_NS_WRITE_PROTECTED));
    CHECK(is(Status::command_interrupted, NVME_SCT_GENERIC, NVME_SC_CMD_INTERRUPTED));
    CHECK(is(Status::transient_transport_error, NVME_SCT_GENERIC, NVME_SC_TRAN_TPORT_ERROR));
    CHECK(is(Status::admin_media_not_ready, NVME_SCT_GENERIC, NVME_SC_ADMIN_CMD_MEDIA_NOT_READY));
    CHECK(is(Status::lba_out_of_range, NVME_SCT_GENERIC, NVME_SC_LBA_RANGE));
    CHECK(is(Status::capacity_exceeded, NVME_SCT_GENERIC, NVME_SC_CAP_EXCEEDED));
    CHECK(is(Status::namespace_not_ready, NVME_SCT_GENERIC, NVME_SC_NS_NOT_READY));
    CHECK(is(Status::reservation_conflict, NVME_SCT_GENERIC, NVME_SC_RESERVATION_CONFLICT));
    CHECK(is(Status::format_in_progress, NVME_SCT_GENERIC, NVME_SC_FORMAT_IN_PROGRESS));
    CHECK(is(Status::invalid_completion_queue, NVME_SCT_CMD_SPECIFIC, NVME_SC_CQ_INVALID));
    CHECK(is(Status::invalid_queue_id, NVME_SCT_CMD_SPECIFIC, NVME_SC_QID_INVALID));
    CHECK(is(Status::invalid_queue_size, NVME_SCT_CMD_SPECIFIC, NVME_SC_QUEUE_SIZE));
    CHECK(is(Status::abort_limit_exceeded, NVME_SCT_CMD_SPECIFIC, NVME_SC_ABORT_LIMIT));
    CHECK(is(Status::event_limit_exceeded, NVME_SCT_CMD_SPECIFIC, NVME_SC_ASYNC_LIMIT));
    CHECK(is(Status::invalid_firmware_slot, NVME_SCT_CMD_SPECIFIC, NVME_SC_FIRMWARE_SLOT));
    CHECK(is(Status::invalid_firmware_image, NVME_SCT_CMD_SPECIFIC, NVME_SC_FIRMWARE_IMAGE));
    CHECK(is(Status::invalid_interrupt_vector, NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_VECTOR));
    CHECK(is(Status::invalid_log_page, NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_LOG_PAGE));
    CHECK(is(Status::invalid_format, NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_FORMAT));
    CHECK(is(Status::firmware_needs_reset, NVME_SCT_CMD_SPECIFIC, NVME_SC_FW_NEEDS_CONV_RESET));
    CHECK(is(Status::invalid_queue_deletion, NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_QUEUE));
    CHECK(is(Status::feature_not_saveable, NVME_SCT_CMD_SPECIFIC, NVME_SC_FEATURE_NOT_SAVEABLE));
    CHECK(is(Status::feature_not_changeable, NVME_SCT_CMD_SPECIFIC, NVME_SC_FEATURE_NOT_CHANGEABLE));
    CHECK(is(Status::feature_not_per_namespace, NVME_SCT_CMD_SPECIFIC, NVME_SC_FEATURE_NOT_PER_NS));
    CHECK(is(Status::firmware_needs_subsystem_reset, NVME_SCT_CMD_SPECIFIC, NVME_SC_FW_NEEDS_SUBSYS_RESET));
    CHECK(is(Status::firmware_needs_controller_reset, NVME_SCT_CMD_SPECIFIC, NVME_SC_FW_NEEDS_RESET));
    CHECK(is(Status::firmware_overlap, NVME_SCT_CMD_SPECIFIC, NVME_SC_OVERLAPPING_RANGE));
    CHECK(is(Status::insufficient_capacity, NVME_SCT_CMD_SPECIFIC, NVME_SC_NS_INSUFFICIENT_CAP));
    CHECK(is(Status::namespace_id_unavailable, NVME_SCT_CMD_SPECIFIC, NVME_SC_NS_ID_UNAVAILABLE));
    CHECK(is(Status::namespace_already_attached, NVME_SCT_CMD_SPECIFIC, NVME_SC_NS_ALREADY_ATTACHED));
    CHECK(is(Status::namespace_is_private, NVME_SCT_CMD_SPECIFIC, NVME_SC_NS_IS_PRIVATE));
    CHECK(is(Status::namespace_not_attached, NVME_SCT_CMD_SPECIFIC, NVME_SC_NS_NOT_ATTACHED));
    CHECK(is(Status::thin_not_supported, NVME_SCT_CMD_SPECIFIC, NVME_SC_THIN_PROV_NOT_SUPP));
    CHECK(is(Status::invalid_controller_list, NVME_SCT_CMD_SPECIFIC, NVME_SC_CTRL_LIST_INVALID));
    CHECK(is(Status::self_test_in_progress, NVME_SCT_CMD_SPECIFIC, NVME_SC_SELF_TEST_IN_PROGRESS));
    CHECK(is(Status::invalid_controller_id, NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_CTRL_ID));
    CHECK(is(Status::command_set_not_supported, NVME_SCT_CMD_SPECIFIC, NVME_SC_IOCS_NOT_SUPPORTED));
    CHECK(is(Status::command_set_not_enabled, NVME_SCT_CMD_SPECIFIC, NVME_SC_IOCS_NOT_ENABLED));
    CHECK(is(Status::command_set_combination, NVME_SCT_CMD_SPECIFIC, NVME_SC_IOCS_COMBINATION_REJECTED));
    CHECK(is(Status::invalid_command_set, NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_IOCS));
    CHECK(is(Status::conflicting_attributes, NVME_SCT_CMD_SPECIFIC, NVME_SC_BAD_ATTRIBUTES));
    CHECK(is(Status::invalid_protection, NVME_SCT_CMD_SPECIFIC, NVME_SC_INVALID_PI));
    CHECK(is(Status::write_to_read_only_range, NVME_SCT_CMD_SPECIFIC, NVME_SC_READ_ONLY));
    CHECK(is(Status::size_limit_exceeded, NVME_SCT_CMD_SPECIFIC, NVME_SC_CMD_SIZE_LIMIT_EXCEEDED));
    CHECK(is(Status::write_fault, NVME_SCT_MEDIA, NVME_SC_WRITE_FAULT));
    CHECK(is(Status::unrecovered_read_error, NVME_SCT_MEDIA, NVME_SC_READ_ERROR));
    CHECK(is(Status::guard_check_error, NVME_SCT_MEDIA, NVME_SC_GUARD_CHECK));
    CHECK(is(Status::application_tag_check_error, NVME_SCT_MEDIA, NVME_SC_APPTAG_CHECK));
    CHECK(is(Status::reference_tag_check_error, NVME_SCT_MEDIA, NVME_SC_REFTAG_CHECK));
    CHECK(is(Status::compare_failure, NVME_SCT_MEDIA, NVME_SC_COMPARE_FAILED));
    CHECK(is(Status::access_denied, NVME_SCT_MEDIA, NVME_SC_ACCESS_DENIED));
    CHECK(is(Status::deallocated_block, NVME_SCT_MEDIA, NVME_SC_UNWRITTEN_BLOCK));
    CHECK(is(Status::host_path_error, NVME_SCT_PATH, NVME_SC_HOST_PATH_ERROR));
    CHECK(is(Status::host_aborted, NVME_SCT_PATH, NVME_SC_CMD_ABORTED_BY_HOST));
}

TEST_CASE("statuses of NVMe over Fabrics have the numbers of libnvme", "[witness][nvme]") {
    const auto is = [](FabricsStatus status, unsigned code) {
        return static_cast<unsigned>(status) == (unsigned{NVME_SCT_CMD_SPECIFIC} << NVME_SCT_SHIFT | code);
    };
    CHECK(is(FabricsStatus::incompatible_format, NVME_SC_CONNECT_FORMAT));
    CHECK(is(FabricsStatus::controller_busy, NVME_SC_CONNECT_CTRL_BUSY));
    CHECK(is(FabricsStatus::invalid_parameters, NVME_SC_CONNECT_INVALID_PARAM));
    CHECK(is(FabricsStatus::restart_discovery, NVME_SC_CONNECT_RESTART_DISC));
    CHECK(is(FabricsStatus::invalid_host, NVME_SC_CONNECT_INVALID_HOST));
    CHECK(is(FabricsStatus::invalid_queue_type, NVME_SC_DISCONNECT_INVALID_QTYPE));
    CHECK(is(FabricsStatus::discover_restart, NVME_SC_DISCOVERY_RESTART));
}

TEST_CASE("NVMe admin opcodes have the numbers of libnvme", "[witness][nvme]") {
    STATIC_CHECK(static_cast<int>(AdminOpcode::delete_sq) == nvme_admin_delete_sq);
    STATIC_CHECK(static_cast<int>(AdminOpcode::create_sq) == nvme_admin_create_sq);
    STATIC_CHECK(static_cast<int>(AdminOpcode::get_log_page) == nvme_admin_get_log_page);
    STATIC_CHECK(static_cast<int>(AdminOpcode::delete_cq) == nvme_admin_delete_cq);
    STATIC_CHECK(static_cast<int>(AdminOpcode::create_cq) == nvme_admin_create_cq);
    STATIC_CHECK(static_cast<int>(AdminOpcode::identify) == nvme_admin_identify);
    STATIC_CHECK(static_cast<int>(AdminOpcode::abort) == nvme_admin_abort_cmd);
    STATIC_CHECK(static_cast<int>(AdminOpcode::set_features) == nvme_admin_set_features);
    STATIC_CHECK(static_cast<int>(AdminOpcode::get_features) == nvme_admin_get_features);
    STATIC_CHECK(static_cast<int>(AdminOpcode::async_event_request) == nvme_admin_async_event);
    STATIC_CHECK(static_cast<int>(AdminOpcode::namespace_management) == nvme_admin_ns_mgmt);
    STATIC_CHECK(static_cast<int>(AdminOpcode::firmware_commit) == nvme_admin_fw_commit);
    STATIC_CHECK(static_cast<int>(AdminOpcode::firmware_download) == nvme_admin_fw_download);
    STATIC_CHECK(static_cast<int>(AdminOpcode::device_self_test) == nvme_admin_dev_self_test);
    STATIC_CHECK(static_cast<int>(AdminOpcode::namespace_attachment) == nvme_admin_ns_attach);
    STATIC_CHECK(static_cast<int>(AdminOpcode::keep_alive) == nvme_admin_keep_alive);
    STATIC_CHECK(static_cast<int>(AdminOpcode::directive_send) == nvme_admin_directive_send);
    STATIC_CHECK(static_cast<int>(AdminOpcode::directive_receive) == nvme_admin_directive_recv);
    STATIC_CHECK(static_cast<int>(AdminOpcode::virtualization) == nvme_admin_virtual_mgmt);
    STATIC_CHECK(static_cast<int>(AdminOpcode::mi_send) == nvme_admin_nvme_mi_send);
    STATIC_CHECK(static_cast<int>(AdminOpcode::mi_receive) == nvme_admin_nvme_mi_recv);
    STATIC_CHECK(static_cast<int>(AdminOpcode::doorbell_buffer_config) == nvme_admin_dbbuf);
    STATIC_CHECK(static_cast<int>(AdminOpcode::fabrics) == nvme_admin_fabrics);
    STATIC_CHECK(static_cast<int>(AdminOpcode::format_nvm) == nvme_admin_format_nvm);
    STATIC_CHECK(static_cast<int>(AdminOpcode::security_send) == nvme_admin_security_send);
    STATIC_CHECK(static_cast<int>(AdminOpcode::security_receive) == nvme_admin_security_recv);
    STATIC_CHECK(static_cast<int>(AdminOpcode::sanitize) == nvme_admin_sanitize_nvm);
    STATIC_CHECK(static_cast<int>(AdminOpcode::get_lba_status) == nvme_admin_get_lba_status);
}

TEST_CASE("opcodes of the NVM command set have the numbers of libnvme", "[witness][nvme]") {
    STATIC_CHECK(static_cast<int>(IoOpcode::flush) == nvme_cmd_flush);
    STATIC_CHECK(static_cast<int>(IoOpcode::write) == nvme_cmd_write);
    STATIC_CHECK(static_cast<int>(IoOpcode::read) == nvme_cmd_read);
    STATIC_CHECK(static_cast<int>(IoOpcode::write_uncorrectable) == nvme_cmd_write_uncor);
    STATIC_CHECK(static_cast<int>(IoOpcode::compare) == nvme_cmd_compare);
    STATIC_CHECK(static_cast<int>(IoOpcode::write_zeroes) == nvme_cmd_write_zeroes);
    STATIC_CHECK(static_cast<int>(IoOpcode::dataset_management) == nvme_cmd_dsm);
    STATIC_CHECK(static_cast<int>(IoOpcode::verify) == nvme_cmd_verify);
    STATIC_CHECK(static_cast<int>(IoOpcode::reservation_register) == nvme_cmd_resv_register);
    STATIC_CHECK(static_cast<int>(IoOpcode::reservation_report) == nvme_cmd_resv_report);
    STATIC_CHECK(static_cast<int>(IoOpcode::reservation_acquire) == nvme_cmd_resv_acquire);
    STATIC_CHECK(static_cast<int>(IoOpcode::reservation_release) == nvme_cmd_resv_release);
    STATIC_CHECK(static_cast<int>(IoOpcode::copy) == nvme_cmd_copy);
}

TEST_CASE("the values of CNS are those of libnvme", "[witness][nvme]") {
    STATIC_CHECK(static_cast<int>(Cns::namespace_data) == NVME_IDENTIFY_CNS_NS);
    STATIC_CHECK(static_cast<int>(Cns::controller) == NVME_IDENTIFY_CNS_CTRL);
    STATIC_CHECK(static_cast<int>(Cns::active_namespaces) == NVME_IDENTIFY_CNS_NS_ACTIVE_LIST);
    STATIC_CHECK(static_cast<int>(Cns::descriptors) == NVME_IDENTIFY_CNS_NS_DESC_LIST);
    STATIC_CHECK(static_cast<int>(Cns::namespace_of_set) == NVME_IDENTIFY_CNS_CSI_NS);
    STATIC_CHECK(static_cast<int>(Cns::controller_of_set) == NVME_IDENTIFY_CNS_CSI_CTRL);
    STATIC_CHECK(static_cast<int>(Cns::active_namespaces_of_set) == NVME_IDENTIFY_CNS_CSI_NS_ACTIVE_LIST);
    STATIC_CHECK(static_cast<int>(Cns::independent_namespace) == NVME_IDENTIFY_CNS_CSI_INDEPENDENT_ID_NS);
    STATIC_CHECK(static_cast<int>(Cns::allocated_namespaces) == NVME_IDENTIFY_CNS_ALLOCATED_NS_LIST);
    STATIC_CHECK(static_cast<int>(Cns::allocated_namespace) == NVME_IDENTIFY_CNS_ALLOCATED_NS);
    STATIC_CHECK(static_cast<int>(Cns::controllers_of_namespace) == NVME_IDENTIFY_CNS_NS_CTRL_LIST);
    STATIC_CHECK(static_cast<int>(Cns::controllers) == NVME_IDENTIFY_CNS_CTRL_LIST);
    STATIC_CHECK(static_cast<int>(Cns::primary_capabilities) == NVME_IDENTIFY_CNS_PRIMARY_CTRL_CAP);
    STATIC_CHECK(static_cast<int>(Cns::secondary_controllers) == NVME_IDENTIFY_CNS_SECONDARY_CTRL_LIST);
    STATIC_CHECK(static_cast<int>(Cns::granularity) == NVME_IDENTIFY_CNS_NS_GRANULARITY);
    STATIC_CHECK(static_cast<int>(Cns::allocated_namespaces_of_set) == NVME_IDENTIFY_CNS_CSI_ALLOCATED_NS_LIST);
    STATIC_CHECK(static_cast<int>(Cns::allocated_namespace_of_set) == NVME_IDENTIFY_CNS_CSI_ID_NS_DATA_STRUCTURE);
    STATIC_CHECK(static_cast<int>(Cns::command_sets) == NVME_IDENTIFY_CNS_COMMAND_SET_STRUCTURE);
}

TEST_CASE("NVMe log pages have the numbers of libnvme", "[witness][nvme]") {
    STATIC_CHECK(static_cast<int>(LogPage::supported) == NVME_LOG_LID_SUPPORTED_LOG_PAGES);
    STATIC_CHECK(static_cast<int>(LogPage::error) == NVME_LOG_LID_ERROR);
    STATIC_CHECK(static_cast<int>(LogPage::smart) == NVME_LOG_LID_SMART);
    STATIC_CHECK(static_cast<int>(LogPage::firmware_slot) == NVME_LOG_LID_FW_SLOT);
    STATIC_CHECK(static_cast<int>(LogPage::changed_namespaces) == NVME_LOG_LID_CHANGED_NS);
    STATIC_CHECK(static_cast<int>(LogPage::command_effects) == NVME_LOG_LID_CMD_EFFECTS);
    STATIC_CHECK(static_cast<int>(LogPage::self_test) == NVME_LOG_LID_DEVICE_SELF_TEST);
    STATIC_CHECK(static_cast<int>(LogPage::telemetry_host) == NVME_LOG_LID_TELEMETRY_HOST);
    STATIC_CHECK(static_cast<int>(LogPage::telemetry_controller) == NVME_LOG_LID_TELEMETRY_CTRL);
    STATIC_CHECK(static_cast<int>(LogPage::endurance_group) == NVME_LOG_LID_ENDURANCE_GROUP);
    STATIC_CHECK(static_cast<int>(LogPage::persistent_event) == NVME_LOG_LID_PERSISTENT_EVENT);
    STATIC_CHECK(static_cast<int>(LogPage::feature_effects) == NVME_LOG_LID_FID_SUPPORTED_EFFECTS);
    STATIC_CHECK(static_cast<int>(LogPage::reservation) == NVME_LOG_LID_RESERVATION);
    STATIC_CHECK(static_cast<int>(LogPage::sanitize) == NVME_LOG_LID_SANITIZE);
}

TEST_CASE("NVMe features have the numbers of libnvme", "[witness][nvme]") {
    STATIC_CHECK(static_cast<int>(Feature::arbitration) == NVME_FEAT_FID_ARBITRATION);
    STATIC_CHECK(static_cast<int>(Feature::power_management) == NVME_FEAT_FID_POWER_MGMT);
    STATIC_CHECK(static_cast<int>(Feature::temperature_threshold) == NVME_FEAT_FID_TEMP_THRESH);
    STATIC_CHECK(static_cast<int>(Feature::error_recovery) == NVME_FEAT_FID_ERR_RECOVERY);
    STATIC_CHECK(static_cast<int>(Feature::volatile_write_cache) == NVME_FEAT_FID_VOLATILE_WC);
    STATIC_CHECK(static_cast<int>(Feature::number_of_queues) == NVME_FEAT_FID_NUM_QUEUES);
    STATIC_CHECK(static_cast<int>(Feature::interrupt_coalescing) == NVME_FEAT_FID_IRQ_COALESCE);
    STATIC_CHECK(static_cast<int>(Feature::interrupt_vector) == NVME_FEAT_FID_IRQ_CONFIG);
    STATIC_CHECK(static_cast<int>(Feature::write_atomicity) == NVME_FEAT_FID_WRITE_ATOMIC);
    STATIC_CHECK(static_cast<int>(Feature::async_event) == NVME_FEAT_FID_ASYNC_EVENT);
    STATIC_CHECK(static_cast<int>(Feature::autonomous_power) == NVME_FEAT_FID_AUTO_PST);
    STATIC_CHECK(static_cast<int>(Feature::host_memory_buffer) == NVME_FEAT_FID_HOST_MEM_BUF);
    STATIC_CHECK(static_cast<int>(Feature::timestamp) == NVME_FEAT_FID_TIMESTAMP);
    STATIC_CHECK(static_cast<int>(Feature::keep_alive) == NVME_FEAT_FID_KATO);
    STATIC_CHECK(static_cast<int>(Feature::host_behavior) == NVME_FEAT_FID_HOST_BEHAVIOR);
    STATIC_CHECK(static_cast<int>(Feature::host_identifier) == NVME_FEAT_FID_HOST_ID);
    STATIC_CHECK(static_cast<int>(Feature::write_protection) == NVME_FEAT_FID_WRITE_PROTECT);
}
