// Writes each event as one line of text or of JSON to a file. Names of sources are looked up in `sources` at that
// moment. Buffers; the rest is written by flush() or the destructor.
#pragma once

#include "platform/observe/event.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <expected>
#include <memory>
#include <string>

namespace platform::observe {

class Log final : public traces::Sink {
public:
    enum class Format : std::uint8_t {
        text, ///< "       12.345 ns  A.hca      WqeFetched         qpn=0x48 ..."
        json, ///< {"time_ps":12345,"source":"A.hca","event":"WqeFetched","qpn":72,...}
    };

    /// Creates `path`; JSON lines when its name ends in .json or .jsonl, text otherwise. The error names path and
    /// reason.
    static std::expected<std::unique_ptr<Log>, std::string> create(const std::string& path, const Sources& sources);
    /// Writes to `file`, which stays the caller's.
    Log(std::FILE* file, Format format, const Sources& sources) : file_(file), format_(format), sources_(sources) {}
    ~Log() override;
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void on(const traces::Stamp& stamp, const traces::Event& event) override;
    /// Whether everything so far could be written; a full disk is told here and does not stop the run.
    bool flush();

private:
    std::FILE* file_;
    Format format_;
    const Sources& sources_;
    fmt::memory_buffer pending_;
    bool owns_file_ = false, is_good_ = true;
};

} // namespace platform::observe
