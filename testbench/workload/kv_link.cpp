#include "testbench/workload/kv_link.h"

#include "testbench/harness/must.h"

#include <fmt/format.h>

namespace workload {

void KvLink::give_receive(std::uint64_t number) {
    const auto place = received->slot(first + given++ % depth);
    const sw::verbs::Sge sge{
        .address = place.address, .length = static_cast<std::uint32_t>(received->stride()), .lkey = place.key};
    harness::must(qp->post_receive({.wr_id = number, .sge = &sge, .sge_count = 1}));
}

void KvShared::look_at(std::span<const std::byte> value, const ValueHead& head, std::uint64_t key, std::uint64_t least,
                       const std::string& client) {
    ++verified;
    if (head.key != key)
        fail(fmt::format("{} has asked for key {} and was given key {}", client, key, head.key));
    else if (head.version < least || head.version > written[key])
        fail(fmt::format("{} was given version {} of key {}: versions {} to {} could be there", client, head.version,
                         key, least, written[key]));
    else if (const auto wrong = find_foreign_value(value, head))
        fail(fmt::format("{}: byte {} of version {} of key {} is wrong", client, *wrong, head.version, key));
}

} // namespace workload
