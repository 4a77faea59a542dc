#include "testbench/study/spool.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <utility>

namespace study {
namespace {

using Json = nlohmann::json;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t sum_bytes = 16; ///< hexadecimal digits of XXH64, before the rest

std::string sum_of(std::span<const std::uint8_t> bytes) {
    return fmt::format("{:016x}", XXH64(bytes.data(), bytes.size(), 0));
}

std::runtime_error trouble(const std::string& path) {
    return std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
}

/// A descriptor that is closed. Whether all of it has been written is known by then only, on a remote disk.
class File {
public:
    File(const std::string& path, int flags) : path_(path), file_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (file_ >= 0)
            ::close(file_);
    }
    bool is_open() const { return file_ >= 0; }
    void write(std::span<const std::uint8_t> bytes) const {
        while (!bytes.empty()) {
            const auto count = ::write(file_, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count < 0)
                throw trouble(path_);
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
    }
    void keep() {
        if (::fsync(file_) != 0 || ::close(std::exchange(file_, -1)) != 0)
            throw trouble(path_);
    }
    std::optional<Bytes> read() const {
        Bytes all;
        std::array<std::uint8_t, 65536> part;
        while (true) {
            const auto count = ::read(file_, part.data(), part.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count < 0)
                return {};
            if (count == 0)
                return all;
            all.insert(all.end(), part.begin(), part.begin() + count);
        }
    }

private:
    const std::string& path_;
    int file_;
};

// CBOR and not text: paths and outputs are bytes of any kind.
void write_whole(const std::string& path, const Json& value) {
    const auto bytes = Json::to_cbor(value);
    const auto sum = sum_of(bytes);
    // Two tasks may come to the same point, one that was given up and one in its place.
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const auto written = fmt::format("{}.{}.{}", path, host.data(), ::getpid());
    try {
        File file(written, O_WRONLY | O_CREAT | O_TRUNC);
        if (!file.is_open())
            throw trouble(written);
        file.write({reinterpret_cast<const std::uint8_t*>(sum.data()), sum.size()});
        file.write(bytes);
        file.keep(); // content before name: the file is whole as soon as it can be found
        if (::rename(written.c_str(), path.c_str()) != 0)
            throw trouble(path);
    } catch (const std::runtime_error&) {
        ::unlink(written.c_str());
        throw;
    }
}

std::expected<Json, std::string> read_whole(const std::string& path) {
    const File file(path, O_RDONLY);
    const auto bytes = file.is_open() ? file.read() : std::nullopt;
    if (!bytes)
        return std::unexpected(fmt::format("{}: {}", path, std::strerror(errno)));
    const auto all = std::span(*bytes);
    if (all.size() < sum_bytes ||
        sum_of(all.subspan(sum_bytes)) != std::string_view(reinterpret_cast<const char*>(all.data()), sum_bytes))
        return std::unexpected(fmt::format("{}: is not whole", path));
    auto value = Json::from_cbor(all.subspan(sum_bytes), true, false);
    if (value.is_discarded() || !value.is_object())
        return std::unexpected(fmt::format("{}: is damaged", path));
    return value;
}

std::string result_file(const std::string& directory, std::size_t number) {
    return fmt::format("{}/result-{}", directory, number);
}
std::string array_file(const std::string& directory) { return directory + "/points"; }

} // namespace

void write_array(const std::string& directory, const SpooledArray& array) {
    auto points = Json::array();
    for (const auto& point : array.points)
        points.push_back({{"number", point.number},
                          {"settings", point.settings},
                          {"words", point.words},
                          {"losses", point.losses},
                          {"preemptions", point.preemptions}});
    write_whole(array_file(directory), {{"version", array.version},
                                        {"revision", array.revision},
                                        {"directory", array.directory},
                                        {"inputs", array.inputs},
                                        {"timeout_s", array.timeout_s},
                                        {"chunk", array.chunk},
                                        {"points", std::move(points)}});
}

std::expected<SpooledArray, std::string> read_array(const std::string& directory) {
    const auto json = read_whole(array_file(directory));
    if (!json)
        return std::unexpected(json.error());
    try {
        SpooledArray array{.version = json->at("version"),
                           .revision = json->at("revision"),
                           .directory = json->at("directory"),
                           .inputs = json->at("inputs"),
                           .timeout_s = json->at("timeout_s"),
                           .chunk = json->at("chunk")};
        for (const auto& point : json->at("points"))
            array.points.push_back({.number = point.at("number"),
                                    .settings = point.at("settings"),
                                    .words = point.at("words"),
                                    .losses = point.at("losses"),
                                    .preemptions = point.at("preemptions")});
        if (array.chunk == 0)
            return std::unexpected(fmt::format("{}: has tasks without points", directory));
        return array;
    } catch (const Json::exception& wrong) {
        return std::unexpected(fmt::format("{}: {}", directory, wrong.what()));
    }
}

void write_result(const std::string& directory, std::size_t number, const SpooledResult& result) {
    write_whole(result_file(directory, number), {{"version", result.version},
                                                 {"revision", result.revision},
                                                 {"settings", result.settings},
                                                 {"way", static_cast<int>(result.ended.way)},
                                                 {"status", result.ended.number},
                                                 {"output", result.ended.output},
                                                 {"errors", result.ended.errors},
                                                 {"seconds", result.ended.seconds}});
}

std::optional<SpooledResult> read_result(const std::string& directory, std::size_t number) {
    const auto json = read_whole(result_file(directory, number));
    if (!json)
        return {};
    try {
        return SpooledResult{.version = json->at("version"),
                             .revision = json->at("revision"),
                             .settings = json->at("settings"),
                             .ended = {.way = static_cast<Ended::Way>(json->at("way").get<int>()),
                                       .number = json->at("status"),
                                       .output = json->at("output"),
                                       .errors = json->at("errors"),
                                       .seconds = json->at("seconds")}};
    } catch (const Json::exception&) {
        return {};
    }
}

std::vector<std::size_t> results_in(const std::string& directory) {
    constexpr std::string_view prefix = "result-";
    std::vector<std::size_t> numbers;
    std::error_code ignored; // nothing is there: nobody has made it yet, or it is gone
    for (std::filesystem::directory_iterator at(directory, ignored), end; at != end; at.increment(ignored)) {
        const auto name = at->path().filename().string();
        std::size_t number = 0;
        if (!name.starts_with(prefix))
            continue;
        const auto [last, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
        if (error == std::errc() && last == name.data() + name.size())
            numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    return numbers;
}

std::string stop_file(const std::string& directory) { return directory + "/stop"; }
std::string output_file(const std::string& directory, std::size_t task) {
    return fmt::format("{}/task-{}.out", directory, task);
}
bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

} // namespace study
