#include "platform/importer/dump_text.h"

#include "abi/prm/cqe.h"
#include "abi/prm/wqe.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace platform::importer {

using namespace traces::codec;

namespace {

constexpr std::size_t most_line_bytes = 4096; ///< what is longer is no line of a dump
constexpr std::size_t bytes_a_line = 16;
using Row = std::array<std::byte, bytes_a_line>;

template <class Number> std::optional<Number> hexadecimal(std::string_view digits) {
    Number value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

/// The last words of a line, the last one first; fewer where it has fewer.
template <std::size_t most> struct LastWords {
    std::array<std::string_view, most> words;
    std::size_t count = 0;
    explicit LastWords(std::string_view line) {
        constexpr std::string_view space = " \t\r";
        while (count != most) {
            const auto end = line.find_last_not_of(space);
            if (end == line.npos)
                return;
            const auto before = line.find_last_of(space, end);
            const auto begin = before == line.npos ? 0 : before + 1;
            words[count++] = line.substr(begin, end + 1 - begin);
            line = line.substr(0, begin);
        }
    }
};

/// The last `count` words of a line as numbers of so many digits, each big endian behind the other.
template <class Number, std::size_t count> bool read_numbers(std::string_view line, Row& row) {
    const LastWords<count> last(line);
    if (last.count != count)
        return false;
    for (std::size_t i = 0; i < count; ++i) {
        const auto word = last.words[count - 1 - i];
        const auto value = word.size() == 2 * sizeof(Number) ? hexadecimal<Number>(word) : std::nullopt;
        if (!value)
            return false;
        abi::store<Number, abi::Endian::big>(row.data() + i * sizeof(Number), *value);
    }
    return true;
}

std::optional<Row> row_of(std::string_view line) {
    Row row{};
    if (read_numbers<std::uint32_t, 4>(line, row) || read_numbers<std::uint8_t, bytes_a_line>(line, row))
        return row;
    return std::nullopt;
}

/// The dump that begins with this line.
std::optional<Dump> head_of(std::string_view line) {
    const auto behind = [&](std::string_view phrase) -> std::optional<std::string_view> {
        const auto at = line.find(phrase);
        return at != line.npos ? std::optional(line.substr(at + phrase.size())) : std::nullopt;
    };
    const auto number = [](std::string_view rest) {
        const bool has_prefix = rest.size() > 2 && rest[0] == '0' && rest[1] == 'x';
        rest.remove_prefix(has_prefix ? 2 : 0);
        const auto digits = rest.substr(0, rest.find_first_not_of("0123456789abcdefABCDEF"));
        return std::pair{has_prefix, hexadecimal<std::uint64_t>(digits)};
    };
    if (const auto rest = behind("dump wqe at ")) {
        // The kernel's addresses are hashed: they say nothing of where in the ring it lies.
        const auto [has_prefix, address] = number(*rest);
        return Dump{.address = has_prefix ? address : std::nullopt, .bytes = {}};
    }
    if (behind("dump WQE index "))
        return Dump{.bytes = {}};
    if (const auto rest = behind("dump cqe for cqn ")) {
        const auto cqn = number(*rest).second.value_or(0);
        return Dump{.kind = Dump::Kind::cqe, .cqn = static_cast<std::uint32_t>(cqn & 0xffffff), .bytes = {}};
    }
    if (behind("got completion with error") || behind("dump error cqe"))
        return Dump{.kind = Dump::Kind::cqe, .bytes = {}};
    return std::nullopt;
}

class DumpReader {
public:
    Read<void> line(std::string_view text, std::uint64_t offset) {
        ++line_;
        offset_ = offset;
        if (missing_ != 0)
            return row(text);
        const auto head = head_of(text);
        if (!head)
            return {};
        if (dumps_.size() == most_dumps)
            return refuse(FaultKind::excessive, fmt::format("a log of more than {} dumps", most_dumps));
        dumps_.push_back(*head);
        dumps_.back().line = line_;
        missing_ = head->kind == Dump::Kind::cqe ? abi::prm::Cqe64::size : bytes_a_line;
        return {};
    }
    Read<std::vector<Dump>> end() {
        if (missing_ != 0)
            return refuse(FaultKind::truncated,
                          fmt::format("the log ends in the dump that begins in line {}", dumps_.back().line));
        if (dumps_.empty())
            return refuse(FaultKind::foreign, "no line has \"dump wqe at\", \"dump cqe for cqn\" or another of the "
                                              "heads that the drivers of mlx5 print; libmlx5 prints them when it was "
                                              "built with MLX5_DEBUG and MLX5_DEBUG_MASK=0xffff is set");
        return std::move(dumps_);
    }

private:
    Read<void> row(std::string_view text) {
        auto& dump = dumps_.back();
        const auto row = row_of(text);
        if (!row)
            return refuse(FaultKind::corrupt,
                          fmt::format("the dump that begins in line {} goes on with neither four numbers of 8 digits "
                                      "nor sixteen of 2: threads that print at the same time spoil a log",
                                      dump.line));
        if ((bytes_ += row->size()) > most_dump_bytes)
            return refuse(FaultKind::excessive, fmt::format("dumps of more than {} bytes", most_dump_bytes));
        const bool is_first = dump.bytes.empty();
        dump.bytes.insert(dump.bytes.end(), row->begin(), row->end());
        missing_ -= row->size();
        if (dump.kind == Dump::Kind::send_wqe && is_first) {
            const auto units = abi::ConstView<abi::prm::WqeCtrl>(dump.bytes).get<"ds">();
            if (units == 0)
                return refuse(FaultKind::corrupt, "a WQE of no bytes (DS is 0)");
            missing_ = units * abi::prm::wqe_ds_bytes - bytes_a_line;
        }
        return {};
    }
    std::unexpected<Fault> refuse(FaultKind kind, std::string reason) const {
        return std::unexpected(Fault{.kind = kind,
                                     .file_offset = offset_,
                                     .offset = offset_,
                                     .reason = fmt::format("line {}: {}", line_, std::move(reason))});
    }

    std::vector<Dump> dumps_;
    std::uint64_t line_ = 0, offset_ = 0;
    std::size_t missing_ = 0, bytes_ = 0;
};

} // namespace

Read<std::vector<Dump>> read_dumps(Source& text) {
    DumpReader reader;
    std::string line;
    std::uint64_t offset = 0, line_begin = 0; // of the byte that comes next, and of the line
    std::array<std::byte, 65536> chunk;
    for (;;) {
        const auto got = text.read(chunk);
        if (!got)
            return std::unexpected(
                Fault{.kind = FaultKind::unreadable, .file_offset = offset, .offset = offset, .reason = got.error()});
        for (const auto byte : std::span(chunk).first(*got)) {
            ++offset;
            if (byte != std::byte{'\n'}) {
                if (line.size() < most_line_bytes)
                    line += static_cast<char>(byte);
                continue;
            }
            if (const auto read = reader.line(line, line_begin); !read)
                return std::unexpected(read.error());
            line.clear();
            line_begin = offset;
        }
        if (*got == 0)
            break;
    }
    if (!line.empty())
        if (const auto read = reader.line(line, line_begin); !read)
            return std::unexpected(read.error());
    return reader.end();
}

} // namespace platform::importer
