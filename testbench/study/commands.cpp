#include "testbench/study/commands.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace study {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void become(const std::vector<std::string>& words, int output, int errors, unsigned seconds,
                         pid_t parent) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) // it has ended before it could be asked for
        ::_exit(127);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    // An alarm survives what follows, and so does what the caller of this program has made of its signal.
    sigset_t alarm_only;
    ::sigemptyset(&alarm_only);
    ::sigaddset(&alarm_only, SIGALRM);
    ::signal(SIGALRM, SIG_DFL);
    ::sigprocmask(SIG_UNBLOCK, &alarm_only, nullptr);
    ::alarm(seconds);
    std::vector<char*> arguments;
    for (const auto& word : words)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments.front(), arguments.data());
    const auto* const why = std::strerror(errno);
    (void)!::write(STDERR_FILENO, why, std::strlen(why));
    ::_exit(127);
}

/// Whoever has started this program may ignore SIGCHLD, which programs inherit: the kernel then forgets how children
/// end, and waitpid() has nothing to say.
class KeptEnds {
public:
    KeptEnds() {
        struct sigaction kept{};
        kept.sa_handler = SIG_DFL;
        ::sigaction(SIGCHLD, &kept, &before_);
    }
    KeptEnds(const KeptEnds&) = delete;
    KeptEnds& operator=(const KeptEnds&) = delete;
    ~KeptEnds() { ::sigaction(SIGCHLD, &before_, nullptr); }

private:
    struct sigaction before_{};
};

} // namespace

void Commands::run(std::size_t count, const Words& words, const Done& done, const std::function<bool()>& goes_on) {
    const KeptEnds kept;
    std::size_t next = 0;
    while (true) {
        while (next != count && children_.size() < jobs_ && goes_on()) {
            start(next, words(next));
            ++next;
        }
        if (children_.empty())
            return;
        listen(done);
    }
}

void Commands::start(std::size_t number, const std::vector<std::string>& words) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::runtime_error(fmt::format("pipe: {}", std::strerror(errno)));
    const auto errors = ::memfd_create("errors", MFD_CLOEXEC);
    if (errors < 0)
        throw std::runtime_error(fmt::format("memfd_create: {}", std::strerror(errno)));
    std::fflush(nullptr);
    const auto parent = ::getpid();
    const auto process = ::fork();
    if (process < 0)
        throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
    if (process == 0)
        become(words, ends[1], errors, seconds_, parent);
    ::close(ends[1]);
    children_.push_back({process, ends[0], errors, number, now()});
}

void Commands::listen(const Done& done) {
    std::vector<pollfd> waiting;
    for (const auto& child : children_)
        waiting.push_back({child.output, POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) <= 0)
        return;
    for (std::size_t i = waiting.size(); i-- != 0;) {
        if (waiting[i].revents == 0)
            continue;
        std::array<char, 65536> buffer;
        const auto count = ::read(children_[i].output, buffer.data(), buffer.size());
        if (count > 0) {
            children_[i].said.append(buffer.data(), static_cast<std::size_t>(count));
            continue;
        }
        const auto child = std::move(children_[i]);
        children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
        done(child.number, end(child));
    }
}

Ended Commands::end(const Child& child) {
    Ended ended{.output = child.said, .errors = {}, .seconds = 0};
    int status = 0;
    pid_t waited = -1;
    do
        waited = ::waitpid(child.process, &status, 0);
    while (waited < 0 && errno == EINTR);
    const int error = errno;
    ended.seconds = now() - child.began;
    std::array<char, 4096> buffer;
    for (off_t at = 0;;) {
        const auto count = ::pread(child.errors, buffer.data(), buffer.size(), at);
        if (count <= 0)
            break;
        ended.errors.append(buffer.data(), static_cast<std::size_t>(count));
        at += count;
    }
    ::close(child.output);
    ::close(child.errors);
    if (waited < 0) { // no end is not a good one
        ended.way = Ended::Way::lost;
        ended.errors = fmt::format("nobody knows how it has ended: {}", std::strerror(error));
    } else if (WIFSIGNALED(status)) {
        ended.number = WTERMSIG(status);
        ended.way = ended.number == SIGALRM ? Ended::Way::late : Ended::Way::signal;
    } else {
        ended.number = WEXITSTATUS(status);
    }
    return ended;
}

} // namespace study
