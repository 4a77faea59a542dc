// Captures of others, frame by frame: pcap and pcapng, read by libpcap. One link type a file, which is Ethernet here.
#pragma once

#include "traces/codec/fault.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

struct pcap;

namespace platform::importer {

/// Valid until the next one is read.
struct CapturedFrame {
    std::uint64_t number = 0; ///< from 1
    std::int64_t time_ns = 0; ///< since 1970
    std::span<const std::byte> bytes;
    std::size_t original_bytes = 0; ///< more than there are bytes, where whoever captured cut it
};

class CaptureFile {
public:
    static traces::codec::Read<CaptureFile> open(const std::string& path);
    /// Takes the file over.
    static traces::codec::Read<CaptureFile> open(std::FILE* file);

    /// The next frame; nullptr at the end.
    traces::codec::Read<const CapturedFrame*> next();

private:
    struct Close {
        void operator()(pcap* capture) const;
    };
    explicit CaptureFile(pcap* capture) : capture_(capture) {}
    std::unexpected<traces::codec::Fault> refuse(const std::string& reason) const;

    std::unique_ptr<pcap, Close> capture_;
    CapturedFrame frame_;
};

} // namespace platform::importer
