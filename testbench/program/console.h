// What a person reads of a run: text as it comes, and how far it has got. Knows whether it is a terminal: lines that
// are rewritten, colours and a width are for those only. Notices when nobody can read it any more.
#pragma once

#include "platform/observe/files/output.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace hcasim {

class Console {
public:
    enum class Speech : std::uint8_t { all, nothing };
    /// On `file`: standard output, or standard error where that has the result itself.
    Console(std::FILE* file, Speech speech);

    void say(std::string_view text);
    /// A phase has one line: rewritten on a terminal, otherwise written when it is over, and now and then when that
    /// takes long.
    void progress(std::string_view what, std::uint64_t done, std::uint64_t total);
    /// The same of a line of one's own, where the work is not counted in bytes.
    void progress(std::string_view line, bool is_over);
    /// Called once, when something cannot be written.
    void on_failure(std::function<void(const std::string& why)> heard) { output_.on_failure(std::move(heard)); }
    bool is_good() const { return output_.is_good(); }

    /// Columns of the terminal; 0: it is none, lines may have any length.
    std::size_t width() const { return width_; }
    /// Not where NO_COLOR is set.
    bool has_colour() const { return has_colour_; }

private:
    static constexpr std::chrono::seconds patience{5};
    bool is_too_soon(bool is_over);
    void rewrite(std::string line, bool is_over);

    platform::observe::files::Output output_;
    bool is_terminal_, is_quiet_, has_colour_;
    std::size_t width_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::string what_;
    std::uint64_t percent_ = 101;
};

/// Where it is in the environment, standard output is no terminal: whoever started this process says so. mpirun gives
/// its processes one of its own, whatever becomes of what they say.
inline constexpr const char* no_terminal = "HCASIM_NO_TERMINAL";

/// Columns of the terminal that `file` is, by the kernel or else by COLUMNS; 0: it is none.
std::size_t width_of(std::FILE* file);

/// As it may be shown: a name that holds control characters must not steer a terminal. They become "\x1b".
std::string printable(std::string_view text);

/// Breaks lines at spaces so that none is longer than `width`; what hangs over stands under the second column where a
/// line has two. 0: any length.
std::string wrap(std::string_view text, std::size_t width);

/// Says it on standard error. Where that is closed nobody can be told, and the status has to do.
void complain(std::string_view text);

/// Says on standard error why nothing was done, a line for each line, and returns the status for it.
int refuse(std::string_view why);

} // namespace hcasim
