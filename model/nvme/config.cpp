#include "model/nvme/config.h"

#include "abi/nvme/registers.h"
#include "model/nvme/media/fault_script.h"

#include <tuple>

namespace model::nvme {

namespace {
constexpr std::uint64_t highest_latency = 1'000'000'000'000; // 1 s

auto tie(const NvmeConfig& c) {
    return std::tie(c.timed, c.vendor_id, c.device_id, c.serial, c.model, c.firmware, c.nqn, c.queue_pairs,
                    c.queue_entries, c.vectors, c.doorbell_stride, c.ready_timeout, c.event_requests, c.error_entries,
                    c.outstanding, c.memory_buffer, c.memory_buffer_uses, c.has_shadow_doorbells,
                    c.has_weighted_round_robin, c.has_sgl, c.temperature, c.fetch_latency, c.processors,
                    c.command_latency, c.ready_latency, c.self_test_time, c.sanitize_time);
}
auto tie(const IoConfig& c) {
    return std::tie(c.max_transfer_bytes, c.has_compare, c.has_write_uncorrectable, c.has_dataset_management,
                    c.has_write_zeroes, c.has_verify, c.has_copy, c.has_fused, c.has_cache);
}
auto tie(const SpaceConfig& c) { return std::tie(c.max_namespaces, c.capacity, c.identity); }
bool is_same(const NamespaceConfig& a, const NamespaceConfig& b) {
    return std::tie(a.bytes, a.format, a.is_extended, a.protection, a.is_protection_first, a.file, a.faults,
                    a.is_attached) == std::tie(b.bytes, b.format, b.is_extended, b.protection, b.is_protection_first,
                                               b.file, b.faults, b.is_attached);
}
} // namespace

bool NvmeConfig::operator==(const NvmeConfig& other) const {
    return tie(*this) == tie(other) && flash == other.flash && tie(io) == tie(other.io) &&
           tie(space) == tie(other.space) &&
           std::equal(space.namespaces.begin(), space.namespaces.end(), other.space.namespaces.begin(),
                      other.space.namespaces.end(), is_same);
}

std::vector<pcie::Setting> NvmeConfig::settings() {
    std::vector<pcie::Setting> all{
        {.name = "queue_pairs", .help = "I/O queue pairs", .value = &queue_pairs, .minimum = 1, .maximum = 511},
        {.name = "queue_entries",
         .help = "entries of an I/O queue, at most",
         .value = &queue_entries,
         .minimum = 2,
         .maximum = 65536},
        {.name = "vectors", .help = "interrupt vectors", .value = &vectors, .minimum = 1, .maximum = 2048},
        {.name = "doorbell_stride",
         .help = "doorbells stand 4 << n bytes apart",
         .value = &doorbell_stride,
         .maximum = 4},
        {.name = "outstanding",
         .help = "I/O commands that are fetched and not completed",
         .value = &outstanding,
         .minimum = 1,
         .maximum = 65536},
        {.name = "max_transfer",
         .help = "bytes of one command, no limit below 8192; 0: any number",
         .value = &io.max_transfer_bytes,
         .maximum = 1 << 30},
        {.name = "capacity", .help = "bytes of all namespaces", .value = &space.capacity, .maximum = 1ull << 50},
        {.name = "max_namespaces",
         .help = "namespaces there may be",
         .value = &space.max_namespaces,
         .minimum = 1,
         .maximum = 1024},
        {.name = "write_cache", .help = "what is written may be lost before a flush", .value = &io.has_cache},
        {.name = "shadow_doorbells", .help = "doorbells may be in memory", .value = &has_shadow_doorbells},
        {.name = "sgl", .help = "commands may have SGLs", .value = &has_sgl},
        {.name = "memory_buffer",
         .help = "bytes of controller memory for queues and data; 0: none",
         .value = &memory_buffer,
         .maximum = 1 << 30},
        {.name = "memory_buffer_uses",
         .help = "sum of 1 submission queues, 2 completion queues, 4 lists, 8 data of reads, 16 data of writes",
         .value = &memory_buffer_uses,
         .maximum = abi::nvme::all_memory_uses},
        {.name = "fetch_latency_ns",
         .help = "from a doorbell to the read of the entry",
         .value = &fetch_latency,
         .maximum = highest_latency},
        {.name = "processors",
         .help = "of the controller, each of which begins one command at a time",
         .value = &processors,
         .minimum = 1,
         .maximum = 64},
        {.name = "command_latency_ns",
         .help = "of a processor, from the entry to the begin of its work",
         .value = &command_latency,
         .maximum = highest_latency},
        {.name = "ready_latency_ns",
         .help = "from the enabling of the controller until it is ready",
         .value = &ready_latency,
         .maximum = highest_latency},
        {.name = "serial", .help = "20 characters at most, another one for each drive of a host", .value = &serial},
        {.name = "identity",
         .help = "a number of each drive, of which the identifiers of its namespaces are made",
         .value = &space.identity,
         .maximum = 1ull << 50}};
    flash.add_settings(all);
    if (!space.namespaces.empty()) {
        auto& first = space.namespaces.front();
        all.push_back({.name = "size",
                       .help = "bytes of the first namespace",
                       .value = &first.bytes,
                       .minimum = 1 << 20,
                       .maximum = 1ull << 50});
        all.push_back({.name = "file",
                       .help = "what holds the first namespace, and is made where there is none; empty: memory",
                       .value = &first.file});
        all.push_back({.name = "faults",
                       .help = "of the first namespace, as \"read 5, write 8..9, full 16, silent 20, flush, power 1\"",
                       .value = &first.faults,
                       .fault = fault_of_script});
    }
    return all;
}

} // namespace model::nvme
