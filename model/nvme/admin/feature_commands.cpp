// Set Features and Get Features. NVMe base 2.0 "Features".
#include "model/nvme/admin/admin.h"

#include <algorithm>

namespace model::nvme {

using abi::nvme::Feature;
using port::Time;
using L = abi::nvme::Features;

Outcome Admin::set_features(Command command, Time at) {
    const abi::ConstView<L> fields(std::span<const std::byte>(command.bytes()));
    const auto id = static_cast<Feature>(fields.get<"fid">());
    const auto value = fields.get<"cdw11">();
    auto* feature = features_.find(id);
    if (feature == nullptr)
        return end(refuse(Status::invalid_field, parameter_of<L, "fid">()), at);
    if (fields.get<"sv">() && !feature->is_saveable)
        return end(refuse(Status::feature_not_saveable, parameter_of<L, "sv">()), at);
    const auto bad_value = refuse(Status::invalid_field, parameter_of<L, "cdw11">());
    std::uint32_t result = 0;
    switch (id) {
    case Feature::number_of_queues: {
        const auto submission = value & 0xffff, completion = value >> 16;
        if (submission == 0xffff || completion == 0xffff)
            return end(bad_value, at);
        if (queues_.has_io_queues())
            return end(refuse(Status::command_sequence_error), at);
        const auto given = [&](std::uint32_t asked) { return std::min(asked + 1, config_.queue_pairs); };
        queues_.allocate(given(submission), given(completion));
        result = (given(completion) - 1) << 16 | (given(submission) - 1);
        break;
    }
    case Feature::power_management:
        if ((value & 0x1f) != 0)
            return end(bad_value, at); // there is one power state
        break;
    case Feature::volatile_write_cache:
        if (const auto refusal = io_.set_cache((value & 1) != 0, at); !refusal.is_ok())
            return end(refusal, at);
        break;
    case Feature::arbitration: queues_.set_arbitration(value); break;
    case Feature::timestamp: return set_timestamp(command, at);
    case Feature::interrupt_coalescing: queues_.set_coalescing(value); break;
    case Feature::interrupt_vector:
        if ((value & 0xffff) >= config_.vectors)
            return end(bad_value, at);
        queues_.set_vector(static_cast<std::uint16_t>(value), (value >> 16 & 1) != 0);
        break;
    case Feature::write_protection: return end(spaces_.protect(command.get<"nsid">(), value & 7), at);
    case Feature::error_recovery:
        if (command.get<"nsid">() != abi::nvme::all_namespaces) {
            const auto found = spaces_.active(command.get<"nsid">());
            if (found.space == nullptr)
                return end(found.refusal, at);
            found.space->set_reports_deallocated((value >> 16 & 1) != 0);
        }
        break;
    default: break;
    }
    feature->current = value & feature->mask;
    if (fields.get<"sv">())
        feature->saved = feature->current;
    return end({}, at, result);
}

Outcome Admin::set_timestamp(Command command, Time at) {
    page_.assign(abi::nvme::Timestamp::size, std::byte{});
    if (const auto refusal = io_.data().receive(DataPointer::of(command), page_, at); !refusal.is_ok())
        return end(refusal, at);
    time_.set(abi::ConstView<abi::nvme::Timestamp>(std::span<const std::byte>(page_)), at);
    return end({}, at);
}

Outcome Admin::get_features(Command command, Time at) {
    const abi::ConstView<L> fields(std::span<const std::byte>(command.bytes()));
    const auto id = static_cast<Feature>(fields.get<"fid">());
    const auto* feature = features_.find(id);
    if (feature == nullptr)
        return end(refuse(Status::invalid_field, parameter_of<L, "fid">()), at);
    const auto select = static_cast<abi::nvme::Select>(fields.get<"sel">());
    if (id == Feature::timestamp && select != abi::nvme::Select::capabilities) {
        if (select > abi::nvme::Select::capabilities)
            return end(refuse(Status::invalid_field, parameter_of<L, "sel">()), at);
        page_.assign(abi::nvme::Timestamp::size, std::byte{});
        // What was at first, and is saved, is a clock that nobody has set.
        if (select == abi::nvme::Select::current)
            time_.fill(abi::View<abi::nvme::Timestamp>(std::span(page_)), at);
        return send(command, page_, at);
    }
    const auto queues = (queues_.completion_limit() - 1) << 16 | (queues_.submission_limit() - 1);
    switch (select) {
    case abi::nvme::Select::current:
        if (id == Feature::number_of_queues)
            return end({}, at, queues);
        if (id == Feature::interrupt_vector) {
            const auto vector = fields.get<"cdw11">() & 0xffff;
            return end(vector < config_.vectors ? Refusal{} : refuse(Status::invalid_field, parameter_of<L, "cdw11">()),
                       at, vector | (vector < config_.vectors && queues_.is_immediate(vector) ? 1u << 16 : 0u));
        }
        if (id == Feature::write_protection) {
            const auto found = spaces_.active(command.get<"nsid">());
            return end(found.refusal, at,
                       found.space != nullptr ? static_cast<std::uint32_t>(found.space->write_protection()) : 0);
        }
        return end({}, at, feature->current);
    case abi::nvme::Select::standard: return end({}, at, feature->standard);
    case abi::nvme::Select::saved: return end({}, at, feature->saved);
    case abi::nvme::Select::capabilities: { // bit 0 saveable, 1 of a namespace, 2 changeable
        const bool is_of_namespace = id == Feature::write_protection || id == Feature::error_recovery;
        return end({}, at, (feature->is_saveable ? 1u : 0u) | (is_of_namespace ? 2u : 0u) | 4u);
    }
    default: return end(refuse(Status::invalid_field, parameter_of<L, "sel">()), at);
    }
}

} // namespace model::nvme
