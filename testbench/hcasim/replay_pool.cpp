#include "testbench/hcasim/replay_pool.h"

#include <fmt/format.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace hcasim {
namespace {

/// A line of a status and three lengths in front of the three texts, and this behind them.
constexpr std::string_view last_word = "end\n";

void write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const auto count = ::write(file, text.data(), text.size());
        if (count <= 0)
            ::_exit(1); // nobody listens any more
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

/// The next number of a line, and what is behind it.
std::size_t take_number(std::string_view& line) {
    std::size_t number = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
    line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
    if (line.starts_with(' '))
        line.remove_prefix(1);
    return number;
}

/// What throws has ended, too. Nobody may catch it further up, where the parent's files and outputs are.
PoolResult done_by(const ReplayPool::Work& work, std::size_t number, const ReplayPool::Progress& progress) {
    try {
        return work(number, progress);
    } catch (const std::bad_alloc&) {
        return {.ended = "has found no memory any more"};
    } catch (const std::exception& exception) {
        return {.ended = fmt::format("has failed: {}", exception.what())};
    }
}

/// How a process has ended that has not said all.
std::string how_it_ended(int status) {
    if (!WIFSIGNALED(status))
        return fmt::format("has ended by itself, with status {}", WEXITSTATUS(status));
    const auto signal = WTERMSIG(status);
    const auto* name = ::sigdescr_np(signal);
    return fmt::format("was ended by signal {}, {}{}", signal, name != nullptr ? name : "which has no name",
                       signal == SIGKILL ? "; a system that has no memory left does that" : "");
}

} // namespace

void ReplayPool::run(std::size_t count, const Work& work, const Done& done, const Progressed& progressed) {
    bytes_.assign(count, 0);
    for (std::size_t next = 0; next != count || !children_.empty();) {
        while (next != count && children_.size() < jobs_)
            start(next++, work);
        listen(done);
        progressed(std::reduce(bytes_.begin(), bytes_.end()));
    }
}

void ReplayPool::start(std::size_t number, const Work& work) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
        throw std::runtime_error(fmt::format("pipe: {}", std::strerror(errno)));
    std::fflush(nullptr);
    const auto process = ::fork();
    if (process < 0)
        throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
    if (process == 0) {
        for (const auto& child : children_)
            ::close(child.pipe);
        ::close(ends[0]);
        const auto result =
            done_by(work, number, [&](std::uint64_t bytes) { write_all(ends[1], fmt::format("P {}\n", bytes)); });
        write_all(ends[1], fmt::format("R {} {} {} {}\n", result.status, result.text.size(), result.json.size(),
                                       result.ended.size()));
        for (const auto& part : {result.text, result.json, result.ended, std::string(last_word)})
            write_all(ends[1], part);
        ::_exit(0); // what is left belongs to the parent
    }
    ::close(ends[1]);
    children_.push_back({process, ends[0], number});
}

void ReplayPool::listen(const Done& done) {
    std::vector<pollfd> waiting;
    for (const auto& child : children_)
        waiting.push_back({child.pipe, POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) <= 0)
        return;
    for (std::size_t i = waiting.size(); i-- != 0;) {
        if (waiting[i].revents == 0)
            continue;
        std::array<char, 65536> buffer;
        const auto count = ::read(children_[i].pipe, buffer.data(), buffer.size());
        if (count > 0) {
            children_[i].said.append(buffer.data(), static_cast<std::size_t>(count));
            take_progress(children_[i]);
            continue;
        }
        const auto child = std::move(children_[i]);
        children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
        done(child.number, end(child));
    }
}

void ReplayPool::take_progress(Child& child) {
    while (child.said.starts_with("P ")) {
        const auto line_end = child.said.find('\n');
        if (line_end == std::string::npos)
            return;
        auto line = std::string_view(child.said).substr(2, line_end - 2);
        bytes_[child.number] = take_number(line);
        child.said.erase(0, line_end + 1);
    }
}

PoolResult ReplayPool::end(const Child& child) {
    ::close(child.pipe);
    int status = 0;
    ::waitpid(child.process, &status, 0);
    const auto line_end = child.said.find('\n');
    if (child.said.starts_with("R ") && line_end != std::string::npos && child.said.ends_with(last_word)) {
        auto line = std::string_view(child.said).substr(2, line_end - 2);
        PoolResult result{.status = static_cast<int>(take_number(line)), .text = {}, .json = {}};
        const auto text = take_number(line), json = take_number(line), ended = take_number(line);
        if (line_end + 1 + text + json + ended + last_word.size() == child.said.size()) {
            result.text = child.said.substr(line_end + 1, text);
            result.json = child.said.substr(line_end + 1 + text, json);
            result.ended = child.said.substr(line_end + 1 + text + json, ended);
            return result;
        }
    }
    return {.ended = how_it_ended(status)};
}

} // namespace hcasim
