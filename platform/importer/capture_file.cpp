#include "platform/importer/capture_file.h"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace platform::importer {

using namespace traces::codec;

namespace {

std::uint64_t offset_of(std::FILE* file) { return static_cast<std::uint64_t>(std::max(0l, std::ftell(file))); }

} // namespace

void CaptureFile::Close::operator()(pcap* capture) const { pcap_close(capture); }

Read<CaptureFile> CaptureFile::open(const std::string& path) {
    auto* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr)
        return std::unexpected(Fault{.kind = FaultKind::unreadable, .reason = std::strerror(errno)});
    return open(file);
}

Read<CaptureFile> CaptureFile::open(std::FILE* file) {
    std::array<char, PCAP_ERRBUF_SIZE> error{};
    auto* capture = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error.data());
    if (capture == nullptr) {
        const auto offset = offset_of(file);
        const bool is_short = std::feof(file) != 0;
        std::fclose(file);
        return std::unexpected(Fault{
            .kind = is_short ? FaultKind::truncated : FaultKind::foreign,
            .file_offset = offset,
            .offset = offset,
            .reason = fmt::format("no pcap or pcapng that can be read: {}; a compressed one is to be decompressed "
                                  "first",
                                  error.data())});
    }
    CaptureFile opened(capture);
    if (const auto type = pcap_datalink(capture); type != DLT_EN10MB) {
        const auto* name = pcap_datalink_val_to_name(type);
        return std::unexpected(Fault{
            .kind = FaultKind::foreign,
            .file_offset = offset_of(file),
            .offset = offset_of(file),
            .reason = fmt::format("its link type is {} ({}), not Ethernet: capture at one interface, not at \"any\"",
                                  type, name == nullptr ? "unknown" : name)});
    }
    return opened;
}

std::unexpected<Fault> CaptureFile::refuse(const std::string& reason) const {
    auto* file = pcap_file(capture_.get());
    const auto offset = offset_of(file);
    return std::unexpected(Fault{.kind = std::feof(file) != 0 ? FaultKind::truncated : FaultKind::corrupt,
                                 .file_offset = offset,
                                 .offset = offset,
                                 .reason = fmt::format("behind frame {}: {}", frame_.number, reason)});
}

Read<const CapturedFrame*> CaptureFile::next() {
    constexpr std::int64_t second_ns = 1'000'000'000;
    pcap_pkthdr* header = nullptr;
    const unsigned char* data = nullptr;
    switch (pcap_next_ex(capture_.get(), &header, &data)) {
    case 1: break;
    case PCAP_ERROR_BREAK: return nullptr;
    default: return refuse(pcap_geterr(capture_.get()));
    }
    if (header->ts.tv_sec < 0 || header->ts.tv_sec > INT64_MAX / second_ns - 1)
        return refuse("a time beyond all times");
    ++frame_.number;
    frame_.time_ns = header->ts.tv_sec * second_ns + header->ts.tv_usec; // nanoseconds, as asked for
    frame_.bytes = std::as_bytes(std::span(data, header->caplen));
    frame_.original_bytes = std::max<std::size_t>(header->len, header->caplen);
    return &frame_;
}

} // namespace platform::importer
