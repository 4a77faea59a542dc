#include "testbench/hcasim/explore_processes.h"

#include <fmt/format.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace hcasim {

namespace {
constexpr unsigned patience_seconds = 120; ///< of wall time, for one job
}

void Processes::run(std::size_t count, const Job& job, const Done& done) {
    std::size_t next = 0;
    while (next != count || !children_.empty()) {
        while (next != count && children_.size() < jobs_)
            start(next++, job);
        listen(done);
    }
}

void Processes::start(std::size_t number, const Job& job) {
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
        ::signal(SIGALRM, SIG_DFL); // which whoever has started this program may ignore
        ::alarm(patience_seconds);
        const auto text = job(number);
        for (std::size_t at = 0; at < text.size();) {
            const auto count = ::write(ends[1], text.data() + at, text.size() - at);
            if (count <= 0)
                break;
            at += static_cast<std::size_t>(count);
        }
        ::_exit(0); // what is left belongs to the parent
    }
    ::close(ends[1]);
    children_.push_back({process, ends[0], number});
}

void Processes::listen(const Done& done) {
    std::vector<pollfd> waiting;
    for (const auto& child : children_)
        waiting.push_back({child.pipe, POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) <= 0)
        return;
    for (std::size_t i = waiting.size(); i-- != 0;) {
        if (waiting[i].revents == 0)
            continue;
        std::array<char, 4096> buffer;
        const auto count = ::read(children_[i].pipe, buffer.data(), buffer.size());
        if (count > 0) {
            children_[i].said.append(buffer.data(), static_cast<std::size_t>(count));
            continue;
        }
        const auto child = std::move(children_[i]);
        children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
        const auto how = end(child);
        done(child.number, child.said, how);
    }
}

std::string Processes::end(const Child& child) {
    ::close(child.pipe);
    int status = 0;
    ::waitpid(child.process, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return fmt::format("no end within {} s", patience_seconds);
    return fmt::format("the process ended by {} {}", WIFSIGNALED(status) ? "signal" : "status",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

} // namespace hcasim
