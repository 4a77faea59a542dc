// Set Features and Get Features. NVMe base 2.0 "Features".
#include "model/nvme/admin/admin.h"

#include <algorithm>
#include <utility>

namespace model::nvme {

using abi::nvme::Feature;
using port::Time;
using FeatureRows = abi::nvme::Features;

namespace {
/// Dword 11 of the host memory buffer: EHM and MR.
constexpr std::uint32_t enable_host_memory = 1, memory_return = 2;
std::array<std::byte, 4> as_bytes(std::uint32_t dword) {
    std::array<std::byte, 4> bytes{};
    abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), dword);
    return bytes;
}
} // namespace

Outcome Admin::set_features(Command command, Time at) {
    const abi::ConstView<FeatureRows> fields(std::span<const std::byte>(command.bytes()));
    const auto id = static_cast<Feature>(fields.get<"fid">());
    const auto value = fields.get<"cdw11">();
    if (!has_feature(id))
        return end(refuse(Status::invalid_field, parameter_of<FeatureRows, "fid">()), at);
    const auto bad_value = refuse(Status::invalid_field, parameter_of<FeatureRows, "cdw11">());
    auto* feature = features_.find(id);
    if (fields.get<"sv">() && !feature->is_saveable)
        return end(refuse(Status::feature_not_saveable, parameter_of<FeatureRows, "sv">()), at);
    const auto nsid = command.get<"nsid">();
    if (!Features::is_of_namespace(id) && nsid != 0 && nsid != abi::nvme::all_namespaces)
        return end(refuse(spaces_.is_valid(nsid) ? Status::feature_not_per_namespace : Status::invalid_namespace,
                          parameter_of<abi::nvme::Command, "nsid">()),
                   at);
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
    case Feature::host_memory_buffer:
        if (const auto refusal = set_host_buffer(command, at); !refusal.is_ok())
            return end(refusal, at);
        break;
    case Feature::interrupt_coalescing: queues_.set_coalescing(value); break;
    case Feature::interrupt_vector:
        if ((value & 0xffff) >= config_.vectors)
            return end(bad_value, at);
        queues_.set_vector(static_cast<std::uint16_t>(value), (value >> 16 & 1) != 0);
        break;
    case Feature::write_protection: {
        const auto refusal = spaces_.protect(nsid, value & 7, at);
        if (refusal.is_ok())
            events_door_.emit(at, traces::NvmeNamespaceChanged{nsid, "write protection changed"});
        return end(refusal, at);
    }
    case Feature::error_recovery: {
        const auto refusal = spaces_.set_error_recovery(nsid, value & feature->mask, fields.get<"sv">());
        if (!refusal.is_ok() || nsid != abi::nvme::all_namespaces)
            return end(refusal, at);
        break;
    }
    case Feature::temperature_threshold: return set_threshold(value, fields.get<"sv">(), at);
    default: break;
    }
    feature->current = value & feature->mask;
    if (id == Feature::async_event)
        check_temperature();
    if (!fields.get<"sv">())
        return end({}, at, result);
    feature->saved = feature->current;
    return end(keep_features(), at, result);
}

/// What is saved outlives the process, where the drive does.
Refusal Admin::keep_features() {
    auto& kept = spaces_.kept().features;
    kept.clear();
    for (const auto& value : features_)
        if (value.saved != value.standard && !Features::is_of_namespace(value.feature))
            kept.push_back({static_cast<std::uint32_t>(value.feature), value.selector, value.saved});
    return spaces_.save();
}

/// One that belongs to a part of the drive is there with it.
bool Admin::has_feature(Feature id) {
    if (id == Feature::volatile_write_cache)
        return config_.io.has_cache;
    if (id == Feature::host_memory_buffer)
        return config_.flash.host_buffer != 0;
    return features_.find(id) != nullptr;
}

/// After a reset, the drive does what is saved, not only says it.
void Admin::apply_features(Time at) {
    queues_.set_arbitration(features_.current(Feature::arbitration));
    queues_.set_coalescing(features_.current(Feature::interrupt_coalescing));
    // A flush that fails leaves the cache off: nothing is promised that is not kept.
    if (config_.io.has_cache)
        static_cast<void>(io_.set_cache((features_.current(Feature::volatile_write_cache) & 1) != 0, at));
    spaces_.reset_error_recovery();
    check_temperature();
}

/// Of the composite temperature, or of the one sensor that there is, or of both.
Outcome Admin::set_threshold(std::uint32_t value, bool is_saved, Time at) {
    const abi::Block<abi::nvme::TemperatureFeature> fields{as_bytes(value)};
    constexpr std::uint32_t all_sensors = 0xf, sensors = 2;
    const auto select = fields.view().get<"tmpsel">();
    if ((select >= sensors && select != all_sensors) || fields.view().get<"thsel">() > 1)
        return end(refuse(Status::invalid_field, parameter_of<FeatureRows, "cdw11">()), at);
    for (std::uint32_t sensor = 0; sensor < sensors; ++sensor) {
        if (select != all_sensors && select != sensor)
            continue;
        auto one = fields;
        one.view().set<"tmpsel">(sensor);
        const auto said = abi::load<std::uint32_t, abi::Endian::little>(one.bytes.data());
        auto& threshold = *features_.find(Feature::temperature_threshold,
                                          Features::selector_of(Feature::temperature_threshold, said));
        threshold.current = said & threshold.mask;
        if (is_saved)
            threshold.saved = threshold.current;
    }
    check_temperature();
    return end(is_saved ? keep_features() : Refusal{}, at);
}

/// The drive's temperature never changes, but what is too much, or too little, does; and whether the host wants to hear
/// of it. It is told when both are so, whichever came last: of a condition that is true when its notice is enabled an
/// event is sent as well (NVMe base 2.0 "Asynchronous Event Configuration").
void Admin::check_temperature() {
    bool is_beyond = false;
    for (const auto& value : features_)
        if (value.feature == Feature::temperature_threshold) {
            const abi::Block<abi::nvme::TemperatureFeature> fields{as_bytes(value.current)};
            const auto limit = fields.view().get<"tmpth">();
            is_beyond |=
                fields.view().get<"thsel">() == 0 ? config_.temperature >= limit : config_.temperature <= limit;
        }
    constexpr std::uint32_t temperature_warning = 1 << 1;
    health_.set_warning(temperature_warning, is_beyond);
    const bool is_wanted = (features_.current(Feature::async_event) & temperature_warning) != 0;
    const bool was_told = std::exchange(is_temperature_told_, is_beyond && is_wanted);
    if (is_temperature_told_ && !was_told)
        events_.note(abi::nvme::EventType::smart, abi::nvme::SmartEvent::temperature, abi::nvme::LogPage::smart);
}

Outcome Admin::set_timestamp(Command command, Time at) {
    page_.assign(abi::nvme::Timestamp::size, std::byte{});
    if (const auto refusal = io_.data().receive(DataPointer::of(command), page_, at); !refusal.is_ok())
        return end(refusal, at);
    time_.set(abi::ConstView<abi::nvme::Timestamp>(std::span<const std::byte>(page_)), at);
    return end({}, at);
}

/// NVMe base 2.0 "Host Memory Buffer". A disable ends when the last access to the buffer has.
Refusal Admin::set_host_buffer(Command command, Time& at) {
    const auto attributes = command.get<"cdw11">();
    if ((attributes & enable_host_memory) == 0) {
        at = host_buffer_.disable(at);
        return {};
    }
    return host_buffer_.enable({.pages = command.get<"cdw12">(),
                                .list = std::uint64_t{command.get<"cdw14">()} << 32 | command.get<"cdw13">(),
                                .descriptors = command.get<"cdw15">()},
                               (attributes & memory_return) != 0, page_bytes_, at);
}

Outcome Admin::get_host_buffer(Command command, Time at) {
    page_.assign(abi::nvme::HostMemoryAttributes::size, std::byte{});
    if (host_buffer_.is_on()) {
        const auto& lent = host_buffer_.attributes();
        abi::View<abi::nvme::HostMemoryAttributes>(page_)
            .set<"hsize">(lent.pages)
            .set<"hmdlal">(static_cast<std::uint32_t>(lent.list))
            .set<"hmdlau">(static_cast<std::uint32_t>(lent.list >> 32))
            .set<"hmdlec">(lent.descriptors);
    }
    auto outcome = send(command, page_, at);
    outcome.dw0 = host_buffer_.is_on() ? enable_host_memory : 0;
    return outcome;
}

Outcome Admin::get_features(Command command, Time at) {
    const abi::ConstView<FeatureRows> fields(std::span<const std::byte>(command.bytes()));
    const auto id = static_cast<Feature>(fields.get<"fid">());
    if (!has_feature(id))
        return end(refuse(Status::invalid_field, parameter_of<FeatureRows, "fid">()), at);
    const auto* feature = features_.find(id, Features::selector_of(id, fields.get<"cdw11">()));
    if (feature == nullptr)
        return end(refuse(Status::invalid_field, parameter_of<FeatureRows, "cdw11">()), at);
    auto value = *feature;
    if (const auto nsid = command.get<"nsid">(); id == Feature::error_recovery && nsid != abi::nvme::all_namespaces) {
        const auto found = spaces_.active(nsid);
        if (found.space == nullptr)
            return end(found.refusal, at);
        value.current = found.space->error_recovery(), value.saved = found.space->saved_error_recovery();
    }
    const auto select = static_cast<abi::nvme::Select>(fields.get<"sel">());
    if (id == Feature::timestamp && select != abi::nvme::Select::capabilities) {
        if (select > abi::nvme::Select::capabilities)
            return end(refuse(Status::invalid_field, parameter_of<FeatureRows, "sel">()), at);
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
            return end(vector < config_.vectors ? Refusal{}
                                                : refuse(Status::invalid_field, parameter_of<FeatureRows, "cdw11">()),
                       at, vector | (vector < config_.vectors && queues_.is_immediate(vector) ? 1u << 16 : 0u));
        }
        if (id == Feature::host_memory_buffer)
            return get_host_buffer(command, at);
        if (id == Feature::write_protection) {
            const auto found = spaces_.active(command.get<"nsid">());
            return end(found.refusal, at,
                       found.space != nullptr ? static_cast<std::uint32_t>(found.space->write_protection()) : 0);
        }
        return end({}, at, value.current);
    case abi::nvme::Select::standard: return end({}, at, value.standard);
    case abi::nvme::Select::saved: return end({}, at, value.saved);
    case abi::nvme::Select::capabilities: { // bit 0 saveable, 1 of a namespace, 2 changeable
        return end({}, at, (value.is_saveable ? 1u : 0u) | (Features::is_of_namespace(id) ? 2u : 0u) | 4u);
    }
    default: return end(refuse(Status::invalid_field, parameter_of<FeatureRows, "sel">()), at);
    }
}

} // namespace model::nvme
