#include "model/gpu/memory/config.h"

#include <random>

namespace model::gpu::memory {

using namespace std::chrono_literals;

MemoryConfig MemoryConfig::of(Profile profile, Mechanism mechanism) {
    MemoryConfig config;
    config.profile = profile;
    config.mechanism = mechanism;
    switch (profile) {
    case Profile::rdna3_text:
        config.hdp_hold = 1us;
        // The import path of the driver does not carry the wish for UC; mechanism 2 takes it at its word.
        config.import_mtype = mechanism == Mechanism::m2 ? Mtype::nc : Mtype::uc;
        break;
    case Profile::coherent:
        config.mechanism = Mechanism::m2; // loads from UC pages go to memory
        config.probes_gl2 = true;
        break;
    case Profile::adversarial:
        config.mechanism = Mechanism::m2;
        config.is_adversarial = true;
        config.rinses_on_heavy = false; // the documents promise new translations, no more
        config.import_mtype = Mtype::nc;
        config.draws_import = true;
        config.evict_hold = 1ms; // as long as the shortest hold_max that can be set
        config.hdp_hold = 100us;
        config.store_hold = 50us;
        config.rinse_hold = 100us;
        break;
    }
    return config;
}

Mtype MemoryConfig::mtype_of_import(std::uint64_t number) const {
    if (!draws_import)
        return import_mtype;
    std::seed_seq both{seed, number}; // by itself: what else was drawn before it does not matter
    return std::mt19937(both)() % 2 == 0 ? Mtype::nc : Mtype::uc;
}

const char* find_fault(const MemoryConfig& config) {
    if (config.arrays == 0 || config.units_per_array == 0 || config.units_per_array % 2 != 0)
        return "a GPU has at least one shader array, and an array an even number of CUs";
    if (config.hold_max <= port::Time{} || config.hdp_hold > config.hold_max || config.store_hold > config.hold_max ||
        config.rinse_hold > config.hold_max || config.evict_hold > config.hold_max)
        return "hold_max is more than zero, and nothing is held for longer";
    if (config.gl2_channels == 0 || config.gl2_misses == 0)
        return "GL2 has a channel, and at least one miss may be outstanding";
    for (const auto* geometry : {&config.gl0, &config.scalar, &config.gl1, &config.gl2, &config.mall})
        if (const auto* fault = cache::find_fault(*geometry); fault != nullptr)
            return fault;
    if (config.gl0.line > config.gl1.line || config.scalar.line > config.gl1.line || config.gl1.line > config.gl2.line)
        return "a line of a cache is no longer than one of the cache below it";
    return nullptr;
}

} // namespace model::gpu::memory
