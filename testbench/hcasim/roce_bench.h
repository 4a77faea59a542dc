// A responder for captured requests: one HCA of the default platform with its driver, alone at the end of a cable, with
// a queue pair, memory and receives as the requests want them. What plays at the other end is the capture.
#pragma once

#include "platform/importer/requests.h"
#include "platform/record/recording.h"
#include "platform/topology/config.h"

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <vector>

namespace hcasim {

/// Of which platform it is a part, so that a replay can make it again.
struct Responder {
    platform::topology::Config config;
    std::string part; ///< "A.root.switch.hca"
    model::hca::HcaConfig core;
    platform::record::Recording::Options recording; ///< of its boundary
};
Responder responder_for(const platform::importer::Demand& demand);

/// What it did with the requests.
struct Answers {
    platform::importer::Losses losses;
    std::uint64_t sent = 0;                     ///< packets of the capture that it got
    std::uint64_t acks = 0, rnr_naks = 0;       ///< that it sent
    std::map<std::uint8_t, std::uint64_t> naks; ///< by their code (IBA 9.7.5.2)
    std::uint64_t read_bytes = 0, atomics = 0;
    std::uint64_t received = 0, failed_receives = 0;
};

/// Counts what the device writes where requests may write. Outlives the recording that it watches.
class WrittenBytes final : public platform::record::Watcher {
public:
    void on(const traces::codec::Record& record) override;
    std::vector<platform::importer::KeyRange> ranges; ///< of bus addresses
    std::uint64_t bytes = 0;
};

/// Brings the responder up, gives it the requests at the pace of the capture, and takes it down; `recording` is of its
/// boundary. The error is for a person.
std::expected<Answers, std::string> drive_responder(const Responder& responder,
                                                    const platform::importer::OpenCapture& capture,
                                                    const platform::importer::Demand& demand,
                                                    platform::record::Recording& recording, WrittenBytes& written);

} // namespace hcasim
