// Prints paragraphs about mistakes, and counts those that repeat instead of printing them for ever. Knows text only;
// what the events mean is explain.h.
#pragma once

#include "platform/observe/diagnostics/explanations.h"
#include "platform/observe/event.h"
#include "platform/observe/files/output.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace platform::observe::diagnostics {

struct Paragraph {
    std::string object, decoded;
    Explanation text;
};

class Paragraphs {
public:
    static constexpr unsigned repetitions = 3; ///< of the same rule and object that are printed; more are counted

    Paragraphs(files::Output output, const Sources& sources) : output_(std::move(output)), sources_(sources) {}

    void print(const traces::Stamp& stamp, const Paragraph& paragraph);
    /// Work requests of a queue pair in error, which ended unnoticed.
    void print_flushed(std::uint16_t source, std::uint32_t qpn, std::uint64_t count);
    /// How often what repeated was left out; from now on it counts anew.
    void print_counts();
    /// The same of a component and its parts alone (Sources::whole).
    void print_counts_of(std::uint16_t whole);
    /// False when something could not be written.
    bool flush() { return output_.flush() && output_.is_good(); }
    files::Output& output() { return output_; }

private:
    struct Count {
        std::uint64_t seen = 0;
        std::string what;
        std::uint16_t source = 0;
    };
    void print(const Count& count);
    void put(std::string_view text) { output_.write(text); }

    files::Output output_;
    const Sources& sources_;
    std::map<std::string, Count, std::less<>> counts_;
    std::uint64_t beyond_ = 0; ///< paragraphs that were not even counted one by one
};

/// "1 work request behind it was flushed (IBV_WC_WR_FLUSH_ERR)": `kind` stands before the noun, `where` behind it.
std::string flushed(std::uint64_t count, std::string_view kind, std::string_view where);

} // namespace platform::observe::diagnostics
