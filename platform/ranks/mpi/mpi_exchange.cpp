#include "platform/ranks/mpi/mpi_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#ifdef HCA_MPI
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace platform::ranks::mpi {

namespace {

/// A number that the launcher has put into the environment.
unsigned number_of(const char* name, unsigned otherwise) {
    const auto* text = std::getenv(name);
    const std::string_view digits(text != nullptr ? text : "");
    unsigned number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc{} && end == digits.data() + digits.size() ? number : otherwise;
}

} // namespace

// Of Open MPI alone: what other launchers set, they set for any program, as Slurm does for one that knows nothing of
// MPI.
unsigned launched_ranks() { return number_of("OMPI_COMM_WORLD_SIZE", 1); }
unsigned launched_rank() { return number_of("OMPI_COMM_WORLD_RANK", 0); }

#ifdef HCA_MPI

namespace {

/// What each process tells all others in a round, before the bytes: when it has something to do, and how many bytes it
/// has for whom.
class MpiExchange final : public Exchange {
public:
    MpiExchange() {
        int rank = 0, ranks = 1;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        rank_ = static_cast<unsigned>(rank);
        ranks_ = static_cast<unsigned>(ranks);
        own_.resize(1 + std::size_t{ranks_});
        all_.resize(own_.size() * ranks_);
        requests_.reserve(2 * std::size_t{ranks_});
    }
    ~MpiExchange() override { MPI_Finalize(); }
    MpiExchange(const MpiExchange&) = delete;
    MpiExchange& operator=(const MpiExchange&) = delete;

    unsigned rank() const override { return rank_; }
    unsigned ranks() const override { return ranks_; }

    Round exchange(model::port::Time next, std::vector<Bytes> to) override {
        own_[0] = next.count();
        for (unsigned other = 0; other < ranks_; ++other) {
            if (to[other].size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
                throw std::length_error("what one round has for a process is more than 2 GiB");
            own_[1 + other] = static_cast<std::int64_t>(to[other].size());
        }
        const auto count = static_cast<int>(own_.size());
        requests_.assign(1, MPI_REQUEST_NULL);
        MPI_Iallgather(own_.data(), count, MPI_INT64_T, all_.data(), count, MPI_INT64_T, MPI_COMM_WORLD,
                       requests_.data());
        await();
        Round round{.next = model::port::never, .from = std::vector<Bytes>(ranks_)};
        requests_.clear();
        for (unsigned other = 0; other < ranks_; ++other) {
            const auto* told = all_.data() + other * own_.size();
            round.next = std::min(round.next, model::port::Time{told[0]});
            if (other == rank_) {
                round.from[other] = std::move(to[other]);
                continue;
            }
            constexpr int tag = 0; // messages between two processes keep their order
            if (const auto bytes = told[1 + rank_]; bytes > 0) {
                round.from[other].resize(static_cast<std::size_t>(bytes));
                MPI_Irecv(round.from[other].data(), static_cast<int>(bytes), MPI_BYTE, static_cast<int>(other), tag,
                          MPI_COMM_WORLD, &requests_.emplace_back());
            }
            if (!to[other].empty())
                MPI_Isend(to[other].data(), static_cast<int>(to[other].size()), MPI_BYTE, static_cast<int>(other), tag,
                          MPI_COMM_WORLD, &requests_.emplace_back());
        }
        await();
        return round;
    }

    [[noreturn]] void abandon(std::string_view why) override {
        std::fputs(fmt::format("hcasim: process {} of {}: {}\n", rank_, ranks_, why).c_str(), stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
        std::abort(); // MPI_Abort does not return
    }

private:
    /// Waits for requests_. MPI's own wait keeps the processor, which another process of the run may need.
    void await() {
        for (unsigned looks = 0;; ++looks) {
            int are_done = 0;
            MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &are_done, MPI_STATUSES_IGNORE);
            if (are_done != 0)
                return;
            if (looks >= looks_)
                std::this_thread::sleep_for(std::chrono::microseconds{10});
        }
    }

    unsigned rank_ = 0, ranks_ = 1;
    /// So often it looks before it sleeps in between.
    unsigned looks_ = number_of("OMPI_COMM_WORLD_LOCAL_SIZE", 1) <= std::thread::hardware_concurrency() ? 20'000 : 100;
    std::vector<std::int64_t> own_, all_;
    std::vector<MPI_Request> requests_;
};

} // namespace

bool is_built_in() { return true; }

std::expected<std::unique_ptr<Exchange>, std::string> join() {
    // Whoever waits sleeps (MpiExchange::await). To yield at each look instead, as Open MPI does where processors are
    // few, costs a time slice of every other program on the machine each time.
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
    if (const auto done = MPI_Init(nullptr, nullptr); done != MPI_SUCCESS)
        return std::unexpected(fmt::format("MPI_Init has failed with {}", done));
    return std::make_unique<MpiExchange>();
}

#else

bool is_built_in() { return false; }

std::expected<std::unique_ptr<Exchange>, std::string> join() {
    return std::unexpected(
        std::string("this program was built without MPI: install libopenmpi-dev and openmpi-bin, and "
                    "configure and build it again"));
}

#endif

} // namespace platform::ranks::mpi
