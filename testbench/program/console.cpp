#include "testbench/program/console.h"

#include "testbench/program/status.h"
#include "testbench/program/units.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace hcasim {
namespace {

constexpr std::size_t least_width = 40; ///< below it nothing is legible, whatever is done

bool is_terminal(std::FILE* file) {
    return isatty(fileno(file)) == 1 && (file != stdout || std::getenv(no_terminal) == nullptr);
}

/// NO_COLOR counts when it is there and not empty (no-color.org); a terminal called "dumb" has none.
bool wants_colour() {
    const auto* no = std::getenv("NO_COLOR");
    const auto* terminal = std::getenv("TERM");
    return (no == nullptr || *no == '\0') && terminal != nullptr && std::string_view(terminal) != "dumb";
}

} // namespace

std::size_t width_of(std::FILE* file) {
    if (!is_terminal(file))
        return 0;
    winsize size{};
    std::size_t columns = 80;
    if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
        columns = size.ws_col;
    else if (const auto* told = std::getenv("COLUMNS"); told != nullptr)
        std::from_chars(told, told + std::string_view(told).size(), columns);
    return std::max(columns, least_width);
}

Console::Console(std::FILE* file, Speech speech)
    : output_(platform::observe::files::Output::borrow(file, file == stderr ? "standard error" : "standard output")),
      is_terminal_(is_terminal(file)), is_quiet_(speech == Speech::nothing),
      has_colour_(is_terminal_ && wants_colour()), width_(width_of(file)) {}

void Console::say(std::string_view text) {
    if (is_quiet_)
        return;
    output_.write(text);
    output_.flush();
}

void Console::progress(std::string_view what, std::uint64_t done, std::uint64_t total) {
    const auto percent = total == 0 ? 100 : done * 100 / total;
    const bool is_over = done >= total;
    if (!is_over && what == what_ && percent == percent_)
        return;
    if (is_too_soon(is_over))
        return;
    rewrite(fmt::format("  {:<30} {:>3} %  {} of {}", what, percent, print_bytes(done), print_bytes(total)), is_over);
    what_ = what;
    percent_ = percent;
}

void Console::progress(std::string_view line, bool is_over) {
    if (!is_too_soon(is_over))
        rewrite(fmt::format("  {}", line), is_over);
}

bool Console::is_too_soon(bool is_over) {
    const auto now = std::chrono::steady_clock::now();
    if (!is_over && !is_terminal_ && now - last_ < patience)
        return true;
    last_ = now;
    return false;
}

void Console::rewrite(std::string line, bool is_over) {
    if (width_ != 0) // a line that breaks is not rewritten
        line = fmt::format("\r{:<{}}", line.substr(0, width_ - 1), std::min<std::size_t>(width_ - 1, 70));
    say(line + (is_over || !is_terminal_ ? "\n" : ""));
}

std::string printable(std::string_view text) {
    std::string shown;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        // Of UTF-8, U+0080 to U+009F are control characters, too.
        const bool is_c1 =
            byte == 0xc2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
        if (byte < 0x20 || byte == 0x7f || is_c1)
            shown += fmt::format("\\x{:02x}", is_c1 ? static_cast<unsigned char>(text[++i]) : byte);
        else
            shown += text[i];
    }
    return shown;
}

std::string wrap(std::string_view text, std::size_t width) {
    std::string wrapped;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        auto line = std::string(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto begin = std::min(line.find_first_not_of(' '), line.size());
        const auto gap = line.find("  ", begin);
        const auto second = gap == line.npos ? line.npos : line.find_first_not_of(' ', gap);
        // A second column that leaves no room to write in is none.
        const auto hang = second != line.npos && second < width / 2 ? second : std::min(begin + 2, width / 2);
        while (width != 0 && line.size() > width) {
            auto at = line.rfind(' ', width);
            if (at == line.npos || line.find_first_not_of(' ') >= at || at <= hang)
                at = line.find(' ', std::max(width, hang + 1)); // a word that is too long stays whole
            if (at == line.npos)
                break;
            wrapped += line.substr(0, line.find_last_not_of(' ', at) + 1) + "\n";
            line = std::string(hang, ' ') + line.substr(line.find_first_not_of(' ', at));
        }
        wrapped += line + "\n";
    }
    return wrapped;
}

void complain(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stderr); }

int refuse(std::string_view why) {
    std::fflush(stdout);
    while (!why.empty()) {
        const auto line = why.substr(0, why.find('\n'));
        why.remove_prefix(std::min(why.size(), line.size() + 1));
        complain(fmt::format("hcasim: {}\n", printable(line)));
    }
    return status::refused;
}

} // namespace hcasim
