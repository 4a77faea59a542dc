// Writes each event with its number and its cause as one line of text or of JSON to a file. Names of sources are looked
// up in `sources` at that moment. Buffers; the rest is written by flush(), finish() or the destructor.
#pragma once

#include "platform/observe/event.h"
#include "platform/observe/files/output.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace platform::observe::files {

class Log final : public traces::Sink {
public:
    enum class Format : std::uint8_t {
        text, ///< "       12.345 ns  A.hca      WqeFetched         qpn=0x48 ...  #412 <- #398"
        json, ///< {"time_ps":12345,"source":"A.hca","event":"WqeFetched","qpn":72,...,"id":412,"cause":398}
    };

    /// JSON lines when the name ends in .json or .jsonl, text otherwise; standard output has JSON.
    static Format format_of(const std::string& path);
    Log(Output output, Format format, const Sources& sources)
        : output_(std::move(output)), format_(format), sources_(sources) {}
    /// Writes to `file`, which stays the caller's.
    Log(std::FILE* file, Format format, const Sources& sources) : Log(Output::borrow(file), format, sources) {}
    ~Log() override;
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void on(const traces::Stamp& stamp, const traces::Event& event) override;
    /// Whether everything so far could be written.
    bool flush();
    /// After the last event.
    Output::Outcome finish();

private:
    Output output_;
    Format format_;
    const Sources& sources_;
    fmt::memory_buffer pending_;
};

} // namespace platform::observe::files
